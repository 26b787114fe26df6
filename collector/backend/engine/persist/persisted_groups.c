/* SPDX-License-Identifier: MIT */
/* A group is a piece of a file, and any byte of it may be wrong. persisted_add() lays pointers over
 * its parts (find_parts()) and checks that numbers, offsets and order hold (group_makes_sense()).
 * Then it compares the application bytes in the group with those at their place (same_source()):
 * only pages count that cannot change without their mapping.
 *
 * choose_fragments() takes the fragments that the cache does not have yet. Memory for all of them
 * is reserved, so that nothing fails half-way. The code is copied to its place; then addresses,
 * displacements and numbers of segments in it are set (place_code()). A jump to a fragment that was
 * not taken leads to its own int3. At last the fragments are let in, when all of them are whole.
 *
 * persisted_stamp() names the btrec and the processor that a group is good for. */
#include "collector/backend/engine/persist/persisted_groups.h"

#include <string.h>
#include <sys/stat.h>

#include "collector/backend/engine/cache/layout.h"
#include "collector/backend/engine/persist/persisted_form.h"
#include "lib/build_id.h"
#include "lib/content_hash.h"
#include "lib/page.h"

enum {
	RANGES_AHEAD = 256, /* whose pages are read together */
	SEGMENTS_MOST = PERSISTED_BYTES / sizeof(struct segment),
};

/* The beginning of our own image, by the linker. */
extern const char __ehdr_start[];

/* Where the parts of a group are. */
struct parts {
	struct persisted_head head;
	const struct persisted_fragment *fragments;
	const struct persisted_range *ranges;
	const struct segment *segments;
	const struct persisted_exit *exits;
	const uint16_t *refs, *numbers[NUMBER_KINDS], *which; /* which: segments of numbers */
	const uint8_t *state_map, *code, *source;
	size_t source_len;
};

/* A group on its way into a cache. */
struct adding {
	struct code_cache *cache;
	const struct parts *parts;
	uint64_t base;   /* of its addresses */
	uint32_t offset; /* of its code */
	bool taken[PERSISTED_FRAGMENTS];
	uint32_t fragments[PERSISTED_FRAGMENTS]; /* the numbers of those that are taken */
};

bool persisted_is_whole(struct slice bytes)
{
	struct persisted_head head;

	if (bytes.len < sizeof head)
		return false;
	memcpy(&head, bytes.at, sizeof head);
	return head.size == bytes.len && head.check == content_hash(bytes.at + sizeof head.check,
								    bytes.len - sizeof head.check)
							       .first;
}

static const uint16_t *take_shorts(struct slice *s, size_t n)
{
	return (const void *)slice_take(s, n * sizeof(uint16_t)).at;
}

/* Where the parts lie. */
static bool find_parts(struct slice s, struct parts *p)
{
	if (!persisted_is_whole(s) || (uintptr_t)s.at % 8)
		return false;
	memcpy(&p->head, slice_take(&s, sizeof p->head).at, sizeof p->head);
	p->fragments = (const void *)slice_take(&s, p->head.fragments * sizeof *p->fragments).at;
	p->ranges = (const void *)slice_take(&s, p->head.ranges * sizeof *p->ranges).at;
	p->segments = (const void *)slice_take(&s, p->head.segments * sizeof *p->segments).at;
	p->exits = (const void *)slice_take(&s, p->head.exits * sizeof *p->exits).at;
	p->refs = take_shorts(&s, p->head.refs);
	for (size_t i = 0; i < NUMBER_KINDS; i++)
		p->numbers[i] = take_shorts(&s, p->head.numbers[i]);
	p->which = take_shorts(&s, p->head.numbers[NUMBER_SEGMENT]);
	p->state_map = slice_take(&s, p->head.state_map).at;
	p->code = slice_take(&s, p->head.code).at;
	p->source = s.at;
	p->source_len = s.len;
	return !s.bad && p->head.fragments && p->head.fragments <= PERSISTED_FRAGMENTS;
}

static bool all_below(const uint16_t *numbers, size_t n, uint16_t limit)
{
	for (size_t i = 0; i < n; i++)
		if (numbers[i] >= limit)
			return false;
	return true;
}

static bool segments_make_sense(const struct parts *p)
{
	for (size_t i = 0; i < p->head.segments; i++) {
		const struct segment *s = &p->segments[i];

		if (s->end - s->pc > SPAN_LEN_MAX ||
		    (!p->head.kind.ticks &&
		     s->from - s->pc >= s->end - s->pc)) /* of spans only the last one's is known */
			return false;
	}
	return p->head.segments <= SEGMENTS_MOST;
}

/* The int3s of a fragment's exits ascend and lie in its code. */
static bool exits_make_sense(const struct parts *p, const struct persisted_fragment *t,
			     const struct persisted_exit *exits)
{
	uint32_t after = t->start;

	for (size_t i = 0; i < t->exits; i++) {
		const struct persisted_exit *x = &exits[i];
		bool links = x->kind == EXIT_LINK && x->site;

		if (x->trap < after || x->trap >= t->end ||
		    (links && (x->site < t->start || x->site + 4u > t->end || x->site % 8 > 4)) ||
		    (x->linked != PERSISTED_NONE && (!links || x->linked >= p->head.fragments ||
						     x->target != p->fragments[x->linked].pc)))
			return false;
		after = x->trap + 1u;
	}
	return true;
}

static bool is_in(const struct persisted_fragment *t, uint16_t at)
{
	return at >= t->start && at < t->end;
}

static bool fragment_makes_sense(const struct parts *p, const struct persisted_fragment *t,
				 uint32_t after)
{
	return t->start >= after && t->end > t->start && t->end <= p->head.code &&
	       !(t->start % CODE_ALIGN) && is_in(t, t->body) &&
	       (!t->has_fresh || is_in(t, t->fresh)) &&
	       (!t->has_indirect || is_in(t, t->indirect)) && t->segments &&
	       t->segments <= PERSISTED_SEGMENTS;
}

/* No number in the group leads out of it, and the parts are in the order that a cache keeps. */
static bool group_makes_sense(const struct parts *p)
{
	size_t exits = 0, state_map = 0, refs = 0;

	if (!p->head.ranges || !segments_make_sense(p) ||
	    !all_below(p->refs, p->head.refs, p->head.segments) ||
	    !all_below(p->which, p->head.numbers[NUMBER_SEGMENT], p->head.segments))
		return false;
	for (size_t i = 0; i < p->head.fragments; i++) {
		const struct persisted_fragment *t = &p->fragments[i];

		if (!fragment_makes_sense(p, t, i ? p->fragments[i - 1].end : 0) ||
		    exits + t->exits > p->head.exits || !exits_make_sense(p, t, p->exits + exits))
			return false;
		exits += t->exits;
		state_map += t->state_map;
		refs += t->segments;
	}
	return exits == p->head.exits && state_map == p->head.state_map && refs == p->head.refs;
}

static bool same_bytes(const struct code_source *source, uint64_t addr, const uint8_t *bytes,
		       size_t n)
{
	while (n) {
		const uint8_t *page = source->fixed_page(source->arg, addr);
		size_t here = BT_PAGE - addr % BT_PAGE;

		here = here < n ? here : n;
		if (!page || memcmp(page + addr % BT_PAGE, bytes, here))
			return false;
		addr += here;
		bytes += here;
		n -= here;
	}
	return true;
}

static void read_parts_ahead(const struct parts *p, const struct code_source *source, uint64_t base)
{
	uint64_t addrs[2 * RANGES_AHEAD];
	size_t n = p->head.ranges < RANGES_AHEAD ? p->head.ranges : RANGES_AHEAD;

	for (size_t i = 0; i < n; i++) {
		addrs[2 * i] = base + p->ranges[i].start;
		addrs[2 * i + 1] = addrs[2 * i] + p->ranges[i].len - 1;
	}
	if (source->ahead)
		source->ahead(source->arg, addrs, 2 * n);
}

static bool same_source(const struct parts *p, const struct code_source *source, uint64_t base)
{
	const uint8_t *bytes = p->source;
	size_t left = p->source_len;

	read_parts_ahead(p, source, base);
	for (size_t i = 0; i < p->head.ranges; i++) {
		size_t n = p->ranges[i].len;

		if (n > left || !same_bytes(source, base + p->ranges[i].start, bytes, n))
			return false;
		bytes += n;
		left -= n;
	}
	return true;
}

static uint64_t number_address(const struct parts *p, enum number_kind kind, size_t i,
			       uint64_t base)
{
	uint64_t v = persisted_get64(p->code + p->numbers[kind][i]);

	return kind == NUMBER_ADDRESS ? v + base : base - v;
}

/* Addresses do not become low ones at this base, and all numbers lie in the code. */
static bool numbers_fit(const struct parts *p, uint64_t base)
{
	for (unsigned kind = 0; kind < NUMBER_KINDS; kind++)
		for (size_t i = 0; i < p->head.numbers[kind]; i++)
			if (p->numbers[kind][i] + (kind <= NUMBER_NEGATIVE ? 8 : 4) >
				    p->head.code ||
			    (kind <= NUMBER_NEGATIVE &&
			     persisted_is_low(number_address(p, kind, i, base))))
				return false;
	return true;
}

/* A fragment whose last branch has a prediction is made anew: groups have none. */
static bool has_prediction(const struct adding *a, const struct persisted_fragment *t,
			   const uint16_t *refs)
{
	return a->cache->predictions.count &&
	       predictions_find(&a->cache->predictions,
				a->base + a->parts->segments[refs[t->segments - 1]].from);
}

/* Tasks are stopped in the midst of such a fragment's code. */
static bool has_stop(const struct adding *a, const struct code_source *source,
		     const struct persisted_fragment *t, const uint16_t *refs)
{
	for (size_t i = 0; source->stops_in && i < t->segments; i++) {
		const struct segment *seg = &a->parts->segments[refs[i]];

		if (source->stops_in(source->arg, a->base + seg->pc, a->base + seg->end))
			return true;
	}
	return false;
}

/* Chooses the fragments to take. Returns the one at pc; PERSISTED_NONE: it cannot be taken. */
static uint8_t choose_fragments(struct adding *a, const struct code_source *source, uint64_t pc)
{
	const struct parts *p = a->parts;
	const uint16_t *refs = p->refs;
	uint8_t wanted = PERSISTED_NONE;

	for (uint8_t i = 0; i < p->head.fragments; refs += p->fragments[i++].segments) {
		uint64_t at = a->base + p->fragments[i].pc;

		a->taken[i] = code_cache_find(a->cache, at) == FRAGMENT_NONE &&
			      !has_prediction(a, &p->fragments[i], refs) &&
			      !has_stop(a, source, &p->fragments[i], refs);
		if (at == pc && a->taken[i])
			wanted = i;
	}
	return wanted;
}

static void put_addresses(const struct adding *a, uint8_t *code)
{
	const struct parts *p = a->parts;
	uint64_t v;

	for (size_t i = 0; i < p->head.numbers[NUMBER_ADDRESS]; i++) {
		v = number_address(p, NUMBER_ADDRESS, i, a->base);
		memcpy(code + p->numbers[NUMBER_ADDRESS][i], &v, sizeof v);
	}
	for (size_t i = 0; i < p->head.numbers[NUMBER_NEGATIVE]; i++) {
		v = -number_address(p, NUMBER_NEGATIVE, i, a->base);
		memcpy(code + p->numbers[NUMBER_NEGATIVE][i], &v, sizeof v);
	}
}

static void add_to_each(const struct parts *p, enum number_kind kind, uint8_t *code, uint32_t what)
{
	for (size_t i = 0; i < p->head.numbers[kind]; i++) {
		uint32_t v = persisted_get32(p->code + p->numbers[kind][i]) + what;

		memcpy(code + p->numbers[kind][i], &v, sizeof v);
	}
}

/* Whether the exit's jump leads to a fragment that is taken, too. */
static bool is_linked(const struct adding *a, const struct persisted_exit *t)
{
	return t->linked != PERSISTED_NONE && a->taken[t->linked];
}

/* A jump to a fragment that is not taken leads to its own int3. */
static void unlink_exits(const struct adding *a, uint8_t *code)
{
	const struct parts *p = a->parts;

	for (size_t i = 0; i < p->head.exits; i++) {
		const struct persisted_exit *t = &p->exits[i];
		uint32_t to_trap = t->trap - (t->site + 4u);

		if (t->linked != PERSISTED_NONE && !is_linked(a, t))
			memcpy(code + t->site, &to_trap, sizeof to_trap);
	}
}

/* Copies the code to its place, and sets the numbers in it. */
static void place_code(const struct adding *a, uint8_t *code, const uint32_t *segments)
{
	const struct parts *p = a->parts;

	memcpy(code, p->code, p->head.code);
	put_addresses(a, code);
	add_to_each(p, NUMBER_ROUTINE, code, -a->offset);
	add_to_each(p, NUMBER_CODE, code, a->offset);
	for (size_t i = 0; i < p->head.numbers[NUMBER_SEGMENT]; i++)
		memcpy(code + p->numbers[NUMBER_SEGMENT][i], &segments[p->which[i]],
		       sizeof segments[0]);
	unlink_exits(a, code);
}

static uint64_t address_or_none(const struct adding *a, uint64_t relative)
{
	return relative == PERSISTED_NOWHERE ? 0 : a->base + relative;
}

static struct segment segment_here(const struct adding *a, uint16_t i)
{
	struct segment s = a->parts->segments[i];

	s.pc += a->base;
	s.from += a->base;
	s.end += a->base;
	s.to = address_or_none(a, s.to);
	return s;
}

/* Adds the segments of the fragments that are taken. False if one cannot be added: those before it
 * do no harm. */
static bool add_segments(const struct adding *a, uint32_t *numbers)
{
	const struct parts *p = a->parts;
	const uint16_t *refs = p->refs;

	for (size_t i = 0; i < p->head.segments; i++)
		numbers[i] = SEGMENT_NONE;
	for (size_t i = 0; i < p->head.fragments; refs += p->fragments[i++].segments)
		for (size_t k = 0; a->taken[i] && k < p->fragments[i].segments; k++) {
			struct segment s = segment_here(a, refs[k]);

			if (numbers[refs[k]] != SEGMENT_NONE)
				continue;
			numbers[refs[k]] =
				a->cache->kind.ticks ? 0 : segment_add(a->cache->segments, &s);
			if (numbers[refs[k]] > INT32_MAX || s.pc > SPAN_START_MAX)
				return false;
		}
	return true;
}

/* Appends fragment i, whose exits will be exit_first and those that follow. */
static void append_fragment(struct adding *a, uint8_t i, const uint16_t *refs,
			    const uint8_t *state_map, uint32_t segment, uint32_t exit_first)
{
	const struct persisted_fragment *t = &a->parts->fragments[i];
	struct code_cache *c = a->cache;
	const struct fragment fragment = {.pc = a->base + t->pc,
					  .start = a->offset + t->start,
					  .end = a->offset + t->end,
					  .body = a->offset + t->body,
					  .fresh = t->has_fresh ? a->offset + t->fresh : 0,
					  .indirect = t->has_indirect ? a->offset + t->indirect : 0,
					  .segment = segment,
					  .state_map_at = c->state_map_len,
					  .state_map_len = t->state_map,
					  .span_first = c->span_count,
					  .span_count = t->segments,
					  .exit_first = exit_first,
					  .returns_to = address_or_none(a, t->returns_to),
					  .slot = address_or_none(a, t->slot),
					  .checked = t->checked,
					  .debt = t->debt,
					  .passes = t->passes,
					  .x87 = t->x87};

	for (size_t k = 0; k < t->segments; k++) {
		const struct segment s = segment_here(a, refs[k]);

		(void)code_cache_add_span(c, s.pc, s.end);
	}
	(void)code_cache_add_state_map(c, state_map, t->state_map);
	a->fragments[i] = code_cache_append(c, &fragment);
}

static void append_fragments(struct adding *a, const uint32_t *segments)
{
	const struct parts *p = a->parts;
	const uint8_t *state_map = p->state_map;
	const uint16_t *refs = p->refs;
	uint32_t exit_first = a->cache->exit_count;

	for (uint8_t i = 0; i < p->head.fragments; i++) {
		const struct persisted_fragment *t = &p->fragments[i];

		if (a->taken[i]) {
			append_fragment(a, i, refs, state_map, segments[refs[0]], exit_first);
			exit_first += t->exits;
		}
		state_map += t->state_map;
		refs += t->segments;
	}
}

static void add_exit(struct adding *a, const struct persisted_exit *t)
{
	const struct cache_exit x = {.trap = a->offset + t->trap,
				     .site = t->site ? a->offset + t->site : 0,
				     .target = a->base + t->target,
				     .kind = t->kind,
				     .goes_on = t->goes_on,
				     .fresh = t->fresh,
				     .conditional = t->conditional,
				     .rcx = t->rcx,
				     .demand = t->demand};

	if (is_linked(a, t))
		(void)code_cache_add_linked_exit(a->cache, &x, a->fragments[t->linked]);
	else
		(void)code_cache_add_exit(a->cache, &x);
}

static void add_exits(struct adding *a)
{
	const struct parts *p = a->parts;
	const struct persisted_exit *exits = p->exits;

	for (size_t i = 0; i < p->head.fragments; exits += p->fragments[i++].exits)
		for (size_t k = 0; a->taken[i] && k < p->fragments[i].exits; k++)
			add_exit(a, &exits[k]);
}

static bool meets_demand(const struct adding *a, uint8_t i, uint64_t pc)
{
	const struct fragment as = {.checked = a->parts->fragments[i].checked,
				    .debt = a->parts->fragments[i].debt};

	return fragment_meets(&as, code_cache_demand(a->cache, pc));
}

uint32_t persisted_add(struct code_cache *c, const struct code_source *source, uint64_t pc,
		       uint64_t offset, struct slice bytes, enum persisted_fault *fault)
{
	uint32_t segments[SEGMENTS_MOST];
	struct adding a;
	struct parts p;
	uint8_t *code, wanted;

	*fault = PERSISTED_REFUSED;
	if (!find_parts(bytes, &p) || !group_makes_sense(&p) ||
	    !fragment_kind_is(c->kind, p.head.kind))
		return FRAGMENT_NONE;
	a = (struct adding){.cache = c, .parts = &p, .base = pc - (offset - p.head.origin)};
	if ((p.head.pc ? p.head.pc != a.base : persisted_is_low(a.base)) ||
	    !numbers_fit(&p, a.base))
		return FRAGMENT_NONE;
	wanted = choose_fragments(&a, source, pc);
	if (wanted == PERSISTED_NONE)
		*fault = PERSISTED_UNFIT;
	else if (!meets_demand(&a, wanted, pc))
		*fault = PERSISTED_UNCHECKED;
	if (*fault != PERSISTED_REFUSED || !same_source(&p, source, a.base))
		return FRAGMENT_NONE;
	if (!code_cache_room(c, p.head.code, CODE_ALIGN_LOOP, &code, &a.offset) ||
	    !code_cache_reserve(c, p.head.fragments, p.head.exits, p.head.refs, p.head.state_map) ||
	    !add_segments(&a, segments))
		return FRAGMENT_NONE;
	place_code(&a, code, segments);
	append_fragments(&a, segments);
	add_exits(&a);
	for (size_t i = 0; i < p.head.fragments; i++)
		if (a.taken[i])
			code_cache_let_in(c, a.fragments[i]);
	return a.fragments[wanted];
}

/* ---- For whom ---- */

uint64_t persisted_stamp(const struct processor *processor)
{
	struct code_cache *c = code_cache_new(processor, false, false);
	struct {
		uint64_t routine, dev, ino, size, seconds, nanoseconds, fast_pext, rorx, fast_loop;
		uint8_t build_id[BT_BUILD_ID_MAX];
	} who;
	struct stat exe;

	memset(&who, 0, sizeof who);
	who.fast_pext = processor->fast_pext;
	who.rorx = processor->rorx;
	who.fast_loop = processor->fast_loop;
	if (c)
		who.routine =
			content_hash(c->code, c->name)
				.first; /* CPUID's results stand behind that: they are left out */
	code_cache_put(c);
	if (!stat("/proc/self/exe", &exe)) {
		who.dev = exe.st_dev;
		who.ino = exe.st_ino;
		who.size = (uint64_t)exe.st_size;
		who.seconds = (uint64_t)exe.st_mtim.tv_sec;
		who.nanoseconds = (uint64_t)exe.st_mtim.tv_nsec;
	}
	bt_build_id(__ehdr_start, BT_PAGE, who.build_id);
	return content_hash(&who, sizeof who).first | 1;
}
