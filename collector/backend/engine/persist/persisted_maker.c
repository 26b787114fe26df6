/* SPDX-License-Identifier: MIT */
/* A fragment's code has numbers that depend on where code, application and segments lie. They are
 * found by translating twice (translate_both()), in two caches of the maker's. In the second one
 * the  * code lies MOVE_CODE higher, the application MOVE_ADDRESS away (if it may be moved), and
 * segments have numbers that are MOVE_SEGMENT higher. Where the two codes differ, the difference
 * says which kind of number stands there (name_number()). Everything else must be the same
 * (same_but_moved()), or the fragment is not kept.
 *
 * persisted_make() goes through the wishes and adds one fragment after the other to a draft, until
 * there is no room. Numbers in its code become relative to the origin of the group. Then jumps
 * between fragments of the draft are linked, and all parts are written one behind the other, the
 * application bytes last. A fragment that had no room stays ready for the next group. */
#include "collector/backend/engine/persist/persisted_maker.h"

#include <stdlib.h>
#include <string.h>

#include "collector/backend/engine/cache/layout.h"
#include "collector/backend/engine/persist/persisted_form.h"
#include "lib/array_size.h"
#include "lib/content_hash.h"

/* How far the second translation is from the first. In each kind of number the lowest byte that can
 * differ does differ, so that the place of a difference says where the number begins. Addresses are
 * moved by whole pages, the others by less. */
#define MOVE_ADDRESS 0x102233000u
enum {
	MOVE_CODE = 0x15b40, /* CODE_ALIGN_LOOP times something */
	MOVE_SEGMENT = 0x1d,
	RANGES = 12,      /* stretches of application code a fragment may be made from */
	ALL_RANGES = 256, /* and those of a group */
	RANGE_GAP = 32,   /* stretches that are nearer become one */
	NUMBERS = 256,    /* most numbers in a fragment's code that depend on addresses */
	CODE_MAX = 1 << 14,
	BYTES_ENOUGH = PERSISTED_BYTES / 8 * 5, /* no other fragment then: it might not fit */
};

struct made_range {
	uint64_t start, end;
};

struct made_ranges {
	struct made_range list[ALL_RANGES];
	size_t count;
};

struct number {
	uint16_t at;
	uint8_t kind, segment; /* segment: index among the fragment's */
};

struct made {
	const struct code_cache *cache;
	const struct fragment *fragment;
	uint8_t code[CODE_MAX];
	uint32_t len, exits;
	uint64_t moved;
	uint32_t segments[PERSISTED_SEGMENTS];
};

struct persisted_maker {
	struct code_cache *caches[2];
	const struct code_source *source;
	uint64_t moved; /* distance by which the present translation's application code is moved */
	struct made_ranges ranges; /* application code that the translation was made from */
	bool recording;
	bool unfit; /* too many ranges, or the end of a mapping */
	/* The fragment at ready, in both caches; 0: none. It has not been taken yet. */
	uint64_t ready;
	struct made made[2];
	struct number numbers[NUMBERS];
	size_t number_count;
};

/* ---- The source of the two translations ---- */

/* Notes that [start, end) was read. False if there would be more than `most` ranges. */
static bool note_range(struct made_ranges *ranges, size_t most, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < ranges->count; i++) {
		struct made_range *r = &ranges->list[i];

		if (start > r->end + RANGE_GAP || end + RANGE_GAP < r->start)
			continue;
		r->start = start < r->start ? start : r->start;
		r->end = end > r->end ? end : r->end;
		return true;
	}
	if (ranges->count == most)
		return false;
	ranges->list[ranges->count++] = (struct made_range){start, end};
	return true;
}

static size_t read_moved(void *arg, uint64_t addr, uint8_t *bytes, size_t n)
{
	struct persisted_maker *m = arg;
	size_t got = m->source->read(m->source->arg, addr - m->moved, bytes, n);

	m->unfit |= got != n;
	if (m->recording)
		m->unfit |= !note_range(&m->ranges, RANGES, addr - m->moved, addr - m->moved + n);
	return got;
}

static const uint8_t *no_page(void *arg, uint64_t addr)
{
	(void)arg;
	(void)addr;
	return NULL;
}

static bool never_mutable(void *arg, uint64_t addr)
{
	(void)arg;
	(void)addr;
	return false;
}

/* ---- Two caches, of which the second has everything elsewhere ---- */

static bool move_segments(struct code_cache *c)
{
	for (uint64_t i = 1; i <= MOVE_SEGMENT; i++)
		if (segment_add(c->segments,
				&(struct segment){
					.pc = i, .from = i, .end = i + 1, .kind = SEGMENT_FALL}) ==
		    SEGMENT_NONE)
			return false;
	return true;
}

static bool move_code(struct code_cache *c)
{
	uint8_t *bytes;
	uint32_t offset;

	if (!code_cache_room(c, MOVE_CODE, CODE_ALIGN_LOOP, &bytes, &offset))
		return false;
	memset(bytes, 0, MOVE_CODE);
	code_cache_add_routine(c, MOVE_CODE);
	return true;
}

void persisted_maker_free(struct persisted_maker *m)
{
	if (!m)
		return;
	code_cache_put(m->caches[0]);
	code_cache_put(m->caches[1]);
	free(m);
}

struct persisted_maker *persisted_maker_new(const struct processor *processor,
					    struct fragment_kind kind)
{
	struct persisted_maker *m = calloc(1, sizeof *m);

	if (!m)
		return NULL;
	m->caches[0] = code_cache_new(processor, kind.apart, kind.logged);
	m->caches[1] = code_cache_new(processor, kind.apart, kind.logged);
	for (int i = 0; i < 2; i++)
		if (m->caches[i])
			m->caches[i]->kind = kind;
	if (m->caches[0] && m->caches[1] && move_segments(m->caches[1]) && move_code(m->caches[1]))
		return m;
	persisted_maker_free(m);
	return NULL;
}

/* How far to move code: towards the middle of the address space, as near its ends branches would
 * lead out of it. */
static uint64_t move_of(uint64_t pc)
{
	return persisted_is_low(pc) ? 0 : pc >> 46 ? -(uint64_t)MOVE_ADDRESS : MOVE_ADDRESS;
}

/* Makes the fragment in both caches. False if it cannot be made in the same way in both. */
static bool translate_both(struct persisted_maker *m, uint64_t pc, bool indirect,
			   struct fragment_demand demand, const struct fragment *fragments[2])
{
	const struct code_source source = {.read = read_moved,
					   .fixed_page = no_page,
					   .is_mutable = never_mutable,
					   .others_write = never_mutable,
					   .arg = m,
					   .demand = &demand};
	uint32_t clears[2] = {m->caches[0]->clears, m->caches[1]->clears}, made[2];

	m->ranges.count = 0;
	m->unfit = false;
	for (int i = 0; i < 2; i++) {
		m->moved = i ? move_of(pc) : 0;
		m->recording = !i;
		made[i] = code_cache_find(m->caches[i], pc + m->moved);
		if (made[i] == FRAGMENT_NONE)
			made[i] = translator_translate(m->caches[i], &source, pc + m->moved,
						       indirect);
		if (made[i] == FRAGMENT_NONE || m->caches[i]->clears != clears[i])
			return false;
		fragments[i] = &m->caches[i]->fragments[made[i]];
	}
	/* A fragment that was found was not made now, so its ranges are unknown. */
	return !m->unfit && m->ranges.count && made[0] == made[1] &&
	       made[0] + 1 == m->caches[0]->fragment_count &&
	       made[1] + 1 == m->caches[1]->fragment_count;
}

/* ---- What is the same in both but for the move ---- */

/* The number of the living segment with the span's bounds. */
static uint32_t living_segment(const struct code_cache *c, const struct span *span)
{
	const struct segment *s =
		segment_at(c->segments, span->start, segment_generation(c->segments));

	return s && s->end == span_end(span) ? (uint32_t)(s - segment_get(c->segments, 0))
					     : SEGMENT_NONE;
}

/* Copies the fragment's code, with each jump leading to its own int3, and the numbers of its
 * segments. */
static bool take_made(struct made *made, const struct code_cache *c,
		      const struct fragment *fragment, uint64_t moved)
{
	made->cache = c;
	made->fragment = fragment;
	made->moved = moved;
	made->len = fragment->end - fragment->start;
	made->exits = c->exit_count - fragment->exit_first;
	if (made->len > CODE_MAX || fragment->span_count > PERSISTED_SEGMENTS ||
	    !fragment->span_count || fragment->dead || fragment->unlinked || fragment->rounds_end)
		return false;
	memcpy(made->code, c->code + fragment->start, made->len);
	for (uint32_t i = 0; i < made->exits; i++) {
		const struct cache_exit *x = &c->exits[fragment->exit_first + i];
		uint32_t d = x->trap - (x->site + 4);

		if (x->trap < fragment->start || x->trap >= fragment->end ||
		    (x->site && (x->site < fragment->start || x->site + 4 > fragment->end)))
			return false;
		if (x->site)
			memcpy(made->code + (x->site - fragment->start), &d, sizeof d);
	}
	for (uint32_t i = 0; i < fragment->span_count; i++) {
		made->segments[i] =
			c->kind.ticks ? 0 : living_segment(c, &c->spans[fragment->span_first + i]);
		if (made->segments[i] == SEGMENT_NONE)
			return false;
	}
	return made->segments[0] == fragment->segment;
}

/* The fragment's segment i. Where only ticks are counted there are only spans. */
static struct segment made_segment(const struct made *made, uint32_t i)
{
	const struct span *span = &made->cache->spans[made->fragment->span_first + i];

	if (made->cache->kind.ticks)
		return (struct segment){.pc = span->start,
					.from = span_end(span) - made->fragment->last_len,
					.end = span_end(span)};
	return *segment_get(made->cache->segments, made->segments[i]);
}

static bool find_segment(const struct made *made, uint32_t segment, uint8_t *value)
{
	for (uint32_t i = 0; i < made->fragment->span_count; i++)
		if (made->segments[i] == segment) {
			*value = (uint8_t)i;
			return true;
		}
	return false;
}

/* Finds the kind of the number whose lowest differing byte is at i. */
static bool name_number(const struct made *a, const struct made *b, uint32_t i, struct number *n)
{
	*n = (struct number){0};
	if (b->moved && i >= 1 && i + 7 <= a->len) {
		uint64_t d = persisted_get64(b->code + i - 1) - persisted_get64(a->code + i - 1);

		n->at = (uint16_t)(i - 1);
		n->kind = d == b->moved ? NUMBER_ADDRESS : NUMBER_NEGATIVE;
		if (d == b->moved || d == -b->moved)
			return true;
	}
	if (i + 4 > a->len)
		return false;
	n->at = (uint16_t)i;
	switch (persisted_get32(b->code + i) - persisted_get32(a->code + i)) {
	case (uint32_t)-MOVE_CODE:
		n->kind = NUMBER_ROUTINE;
		return true;
	case MOVE_CODE:
		n->kind = NUMBER_CODE;
		return true;
	case MOVE_SEGMENT:
		n->kind = NUMBER_SEGMENT;
		return find_segment(a, persisted_get32(a->code + i), &n->segment);
	default:
		return false;
	}
}

static bool find_numbers(const struct made *a, const struct made *b, struct number numbers[NUMBERS],
			 size_t *count)
{
	*count = 0;
	for (uint32_t i = 0; i < a->len;) {
		if (a->code[i] == b->code[i]) {
			i++;
			continue;
		}
		if (*count == NUMBERS || !name_number(a, b, i, &numbers[*count]))
			return false;
		i = numbers[*count].at + (numbers[*count].kind <= NUMBER_NEGATIVE ? 8 : 4);
		++*count;
	}
	return true;
}

static bool same_moved(uint64_t a, uint64_t b, uint64_t moved) { return b == (a ? a + moved : 0); }

static bool same_exits(const struct made *a, const struct made *b)
{
	for (uint32_t i = 0; i < a->exits; i++) {
		const struct cache_exit *x = &a->cache->exits[a->fragment->exit_first + i],
					*y = &b->cache->exits[b->fragment->exit_first + i];

		if (x->trap + MOVE_CODE != y->trap ||
		    x->site + (x->site ? MOVE_CODE : 0) != y->site ||
		    x->target + b->moved != y->target || x->kind != y->kind ||
		    x->goes_on != y->goes_on || x->fresh != y->fresh ||
		    x->conditional != y->conditional || x->rcx != y->rcx ||
		    x->demand.back != y->demand.back || x->demand.debt != y->demand.debt)
			return false;
	}
	return true;
}

static bool same_segments(const struct made *a, const struct made *b)
{
	for (uint32_t i = 0; i < a->fragment->span_count; i++) {
		struct segment s = made_segment(a, i), t = made_segment(b, i);

		if (a->segments[i] + (a->cache->kind.ticks ? 0 : MOVE_SEGMENT) != b->segments[i] ||
		    s.pc + b->moved != t.pc || s.from + b->moved != t.from ||
		    s.end + b->moved != t.end || !same_moved(s.to, t.to, b->moved) ||
		    s.kind != t.kind || s.tick != t.tick)
			return false;
	}
	return true;
}

static bool same_but_moved(const struct made *a, const struct made *b)
{
	const struct fragment *x = a->fragment, *y = b->fragment;

	if (a->len != b->len || a->exits != b->exits || x->span_count != y->span_count ||
	    x->state_map_len != y->state_map_len || x->start + MOVE_CODE != y->start ||
	    x->body + MOVE_CODE != y->body || !x->fresh != !y->fresh ||
	    (x->fresh && x->fresh + MOVE_CODE != y->fresh) || !x->indirect != !y->indirect ||
	    (x->indirect && x->indirect + MOVE_CODE != y->indirect) || x->checked != y->checked ||
	    x->debt != y->debt || x->passes != y->passes ||
	    !same_moved(x->returns_to, y->returns_to, b->moved) ||
	    !same_moved(x->slot, y->slot, b->moved))
		return false;
	return !memcmp(code_cache_state_map(a->cache, x), code_cache_state_map(b->cache, y),
		       x->state_map_len) &&
	       same_exits(a, b) && same_segments(a, b);
}

/* ---- The group that is being made ---- */

struct draft {
	struct persisted_head head;
	uint64_t base; /* the origin: addresses are relative to it */
	struct buf fragments, segments, exits, state_map, refs, numbers[NUMBER_KINDS], which,
		code; /* which: segments of numbers */
	struct made_ranges ranges;
	uint32_t made[PERSISTED_FRAGMENTS]; /* the fragments' numbers in the first cache */
	uint32_t clears;                    /* of the first cache, at the beginning */
};

static void draft_release(struct draft *d)
{
	struct buf *const parts[] = {&d->fragments, &d->segments, &d->exits, &d->state_map,
				     &d->refs,      &d->which,    &d->code};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		buf_release(parts[i]);
	for (size_t i = 0; i < NUMBER_KINDS; i++)
		buf_release(&d->numbers[i]);
	free(d);
}

static size_t bytes_of(const struct made_ranges *ranges)
{
	size_t sum = 0;

	for (size_t i = 0; i < ranges->count; i++)
		sum += sizeof(struct persisted_range) +
		       (ranges->list[i].end - ranges->list[i].start);
	return sum;
}

/* Bytes of the group, nearly. */
static size_t draft_size(const struct draft *d)
{
	size_t size = sizeof d->head + d->fragments.len + d->segments.len + d->exits.len +
		      d->state_map.len + d->refs.len + d->which.len + d->code.len;

	for (size_t i = 0; i < NUMBER_KINDS; i++)
		size += d->numbers[i].len;
	return size + bytes_of(&d->ranges);
}

static uint64_t relative_to_origin(const struct draft *d, uint64_t addr)
{
	return addr ? addr - d->base : PERSISTED_NOWHERE;
}

/* The segment's number in the group. It is entered if it is new. */
static uint16_t draft_segment(struct draft *d, struct segment s)
{
	uint16_t i;

	s.pc -= d->base;
	s.from -= d->base;
	s.end -= d->base;
	s.to = relative_to_origin(d, s.to);
	s.born = s.died = 0;
	for (i = 0; i < d->segments.len / sizeof s; i++) {
		struct segment o;

		memcpy(&o, d->segments.data + i * sizeof o, sizeof o);
		if (o.pc == s.pc && o.from == s.from && o.end == s.end && o.to == s.to &&
		    o.kind == s.kind && o.tick == s.tick)
			return i;
	}
	buf_put(&d->segments, &s, sizeof s);
	d->head.segments++;
	return i;
}

static void put_segments(struct draft *d, const struct made *a, uint16_t refs[PERSISTED_SEGMENTS])
{
	for (uint32_t i = 0; i < a->fragment->span_count; i++)
		refs[i] = draft_segment(d, made_segment(a, i));
	buf_put(&d->refs, refs, a->fragment->span_count * sizeof refs[0]);
	d->head.refs = (uint16_t)(d->head.refs + a->fragment->span_count);
}

static void put_fragment(struct draft *d, const struct made *a, uint16_t start)
{
	const struct fragment *c = a->fragment;
	struct persisted_fragment t;

	memset(&t, 0, sizeof t);
	t.pc = c->pc - d->base;
	t.returns_to = relative_to_origin(d, c->returns_to);
	t.slot = relative_to_origin(d, c->slot);
	t.start = start;
	t.end = (uint16_t)(start + a->len);
	t.body = (uint16_t)(start + c->body - c->start);
	t.has_fresh = c->fresh != 0;
	t.fresh = (uint16_t)(start + (c->fresh ? c->fresh - c->start : 0));
	t.has_indirect = c->indirect != 0;
	t.indirect = (uint16_t)(start + (c->indirect ? c->indirect - c->start : 0));
	t.exits = (uint16_t)a->exits;
	t.state_map = (uint16_t)c->state_map_len;
	t.segments = (uint8_t)c->span_count;
	t.checked = c->checked;
	t.debt = c->debt;
	t.passes = c->passes;
	t.x87 = c->x87;
	buf_put(&d->fragments, &t, sizeof t);
	d->head.fragments++;
}

static void put_exits(struct draft *d, const struct made *a, uint16_t start)
{
	for (uint32_t i = 0; i < a->exits; i++) {
		const struct cache_exit *x = &a->cache->exits[a->fragment->exit_first + i];
		struct persisted_exit t;

		memset(&t, 0, sizeof t);
		t.target = x->target - d->base;
		t.trap = (uint16_t)(start + x->trap - a->fragment->start);
		t.site = (uint16_t)(x->site ? start + x->site - a->fragment->start : 0);
		t.linked = PERSISTED_NONE;
		t.kind = x->kind & 3;
		t.goes_on = x->goes_on;
		t.fresh = x->fresh;
		t.conditional = x->conditional;
		t.rcx = x->rcx;
		t.demand = x->demand;
		buf_put(&d->exits, &t, sizeof t);
		d->head.exits++;
	}
}

/* Appends the code as it would be with the origin and the code at 0, and the offsets of the numbers
 * that depend on these. */
static void append_code(struct draft *d, const struct persisted_maker *m, uint16_t start,
			const uint16_t refs[PERSISTED_SEGMENTS])
{
	const struct made *a = &m->made[0];
	uint32_t moved = a->fragment->start - start;
	uint8_t *own;

	if (!buf_reserve(&d->code, a->len))
		return;
	own = d->code.data + d->code.len;
	buf_put(&d->code, a->code, a->len);
	for (size_t i = 0; i < m->number_count; i++) {
		const struct number *n = &m->numbers[i];
		uint8_t *code = own + n->at;
		uint16_t at = (uint16_t)(start + n->at);
		uint64_t v64;
		uint32_t v32;

		buf_put(&d->numbers[n->kind], &at, sizeof at);
		d->head.numbers[n->kind]++;
		if (n->kind <= NUMBER_NEGATIVE) {
			v64 = persisted_get64(code) +
			      (n->kind == NUMBER_ADDRESS ? -d->base : d->base);
			memcpy(code, &v64, sizeof v64);
			continue;
		}
		if (n->kind == NUMBER_SEGMENT)
			buf_put(&d->which, &refs[n->segment], sizeof refs[0]);
		v32 = n->kind == NUMBER_SEGMENT
			      ? 0
			      : persisted_get32(code) +
					(n->kind == NUMBER_ROUTINE ? moved : -moved);
		memcpy(code, &v32, sizeof v32);
	}
}

/* Fills up to a multiple of `unit`. */
static void fill_up(struct buf *code, size_t unit, uint8_t with)
{
	while (code->len % unit && !code->failed)
		buf_u8(code, with);
}

static bool has_failed(const struct draft *d)
{
	bool failed = d->fragments.failed || d->segments.failed || d->exits.failed ||
		      d->state_map.failed || d->refs.failed || d->which.failed || d->code.failed;

	for (size_t i = 0; i < NUMBER_KINDS; i++)
		failed |= d->numbers[i].failed;
	return failed;
}

/* Takes the fragment that is ready, if there is room for it. */
static bool draft_take(struct draft *d, const struct persisted_maker *m)
{
	const struct made *a = &m->made[0];
	size_t size = a->len + a->exits * sizeof(struct persisted_exit) +
		      a->fragment->state_map_len +
		      a->fragment->span_count * (sizeof(struct segment) + sizeof(uint16_t)) +
		      m->number_count * 2 * sizeof(uint16_t) + sizeof(struct persisted_fragment);
	struct made_ranges ranges = d->ranges;
	uint16_t refs[PERSISTED_SEGMENTS], start;

	if (has_failed(d))
		return false;
	for (size_t i = 0; i < m->ranges.count; i++)
		if (!note_range(&ranges, ALL_RANGES, m->ranges.list[i].start,
				m->ranges.list[i].end))
			return false;
	if (draft_size(d) + size + CODE_ALIGN_LOOP + bytes_of(&ranges) - bytes_of(&d->ranges) >
	    PERSISTED_BYTES - 64)
		return false;
	d->ranges = ranges;
	fill_up(&d->code, fragment_align(a->fragment), 0xcc);
	start = (uint16_t)d->code.len;
	d->made[d->head.fragments] = (uint32_t)(a->fragment - a->cache->fragments);
	put_segments(d, a, refs);
	put_fragment(d, a, start);
	put_exits(d, a, start);
	buf_put(&d->state_map, code_cache_state_map(a->cache, a->fragment),
		a->fragment->state_map_len);
	append_code(d, m, start, refs);
	return true;
}

static uint8_t find_made(const struct draft *d, uint32_t fragment)
{
	for (uint16_t i = 0; i < d->head.fragments; i++)
		if (d->made[i] == fragment)
			return (uint8_t)i;
	return PERSISTED_NONE;
}

/* Links jumps between fragments of the draft as they are linked in the first cache. */
static void link_fragments(struct draft *d, const struct code_cache *c)
{
	const struct persisted_fragment *fragments = (const void *)d->fragments.data;
	struct persisted_exit *t = (void *)d->exits.data;

	for (uint16_t k = 0; k < d->head.fragments; k++)
		for (uint16_t i = 0; i < fragments[k].exits; i++, t++) {
			const struct cache_exit *x =
				&c->exits[c->fragments[d->made[k]].exit_first + i];
			const struct persisted_fragment *to;
			uint32_t displacement;

			if (x->kind != EXIT_LINK || !x->site || x->linked == FRAGMENT_NONE)
				continue;
			t->linked = find_made(d, x->linked);
			if (t->linked == PERSISTED_NONE)
				continue;
			to = &fragments[t->linked];
			displacement =
				(uint32_t)(t->fresh && to->has_fresh ? to->fresh : to->body) -
				(t->site + 4u);
			memcpy(d->code.data + t->site, &displacement, sizeof displacement);
		}
}

static void put_ranges(const struct draft *d, struct buf *out)
{
	for (size_t i = 0; i < d->ranges.count; i++) {
		const struct persisted_range r = {d->ranges.list[i].start - d->base,
						  d->ranges.list[i].end - d->ranges.list[i].start};

		buf_put(out, &r, sizeof r);
	}
}

static bool put_source(const struct draft *d, const struct code_source *source, struct buf *out)
{
	for (size_t i = 0; i < d->ranges.count; i++) {
		size_t n = d->ranges.list[i].end - d->ranges.list[i].start;

		if (!buf_reserve(out, n) || source->read(source->arg, d->ranges.list[i].start,
							 out->data + out->len, n) != n)
			return false;
		out->len += n;
	}
	return true;
}

static void put_part(struct buf *out, const struct buf *part)
{
	out->failed |= part->failed;
	if (part->len)
		buf_put(out, part->data, part->len);
}

static bool draft_write(struct draft *d, const struct code_source *source, struct buf *out)
{
	size_t start = out->len;

	d->head.ranges = (uint16_t)d->ranges.count;
	d->head.state_map = (uint16_t)d->state_map.len;
	d->head.code = (uint16_t)d->code.len;
	buf_put(out, &d->head, sizeof d->head);
	put_part(out, &d->fragments);
	put_ranges(d, out);
	put_part(out, &d->segments);
	put_part(out, &d->exits);
	put_part(out, &d->refs);
	for (size_t i = 0; i < NUMBER_KINDS; i++)
		put_part(out, &d->numbers[i]);
	put_part(out, &d->which);
	put_part(out, &d->state_map);
	put_part(out, &d->code);
	if (!put_source(d, source, out))
		return false;
	fill_up(out, 8, 0);
	if (out->failed)
		return false;
	d->head.size = (uint32_t)(out->len - start);
	memcpy(out->data + start, &d->head, sizeof d->head);
	d->head.check = content_hash(out->data + start + sizeof d->head.check,
				     d->head.size - sizeof d->head.check)
				.first;
	memcpy(out->data + start, &d->head.check, sizeof d->head.check);
	return true;
}

/* Makes the wish's fragment, if it can be kept. */
static bool make_ready(struct persisted_maker *m, const struct persisted_wish *w)
{
	const struct fragment *fragments[2];

	m->ready = 0;
	if (!translate_both(m, w->pc, w->indirect, w->demand, fragments) ||
	    !take_made(&m->made[0], m->caches[0], fragments[0], 0) ||
	    !take_made(&m->made[1], m->caches[1], fragments[1], m->moved) ||
	    !same_but_moved(&m->made[0], &m->made[1]) ||
	    !find_numbers(&m->made[0], &m->made[1], m->numbers, &m->number_count))
		return false;
	m->ready = w->pc;
	return true;
}

/* Whether there may be room for another fragment. */
static bool has_room(const struct draft *d)
{
	return d->head.fragments < PERSISTED_FRAGMENTS && d->ranges.count <= ALL_RANGES - RANGES &&
	       draft_size(d) < BYTES_ENOUGH;
}

/* Takes the fragments of the first wishes, as many as there is room for. The first one too many
 * stays ready. Returns how many wishes were looked at. */
static size_t take_wishes(struct persisted_maker *m, struct draft *d, struct persisted_wish *wishes,
			  size_t n)
{
	size_t done = 0;

	for (; done < n && has_room(d); done++) {
		struct persisted_wish *w = &wishes[done];

		w->kept = persisted_is_low(w->pc) == (d->head.pc != 0) &&
			  (m->ready == w->pc || make_ready(m, w)) && draft_take(d, m);
		if (m->ready && !w->kept && d->head.fragments)
			break;
		m->ready = 0;
	}
	return done;
}

static struct draft *draft_new(const struct persisted_maker *m, uint64_t pc, uint64_t offset)
{
	struct draft *d = calloc(1, sizeof *d);

	if (!d)
		return NULL;
	d->base = pc;
	d->clears = m->caches[0]->clears;
	d->head.origin = offset;
	d->head.pc = persisted_is_low(pc) ? pc : 0;
	d->head.kind = m->caches[0]->kind;
	return d;
}

size_t persisted_make(struct persisted_maker *m, const struct code_source *source,
		      struct persisted_wish *wishes, size_t n, uint64_t offset, struct buf *out)
{
	struct draft *d = n ? draft_new(m, wishes[0].pc, offset) : NULL;
	size_t done, start = out->len;
	bool written = false;

	if (!d)
		return n;
	m->source = source;
	done = take_wishes(m, d, wishes, n);
	if (d->head.fragments && !has_failed(d)) {
		if (m->caches[0]->clears == d->clears)
			link_fragments(d, m->caches[0]);
		written = draft_write(d, source, out);
	}
	if (!written && !out->failed)
		out->len = start;
	for (size_t i = 0; i < done; i++)
		wishes[i].kept &= written;
	draft_release(d);
	return done;
}
