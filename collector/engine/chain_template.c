/* SPDX-License-Identifier: MIT */
#include "collector/engine/chain_template.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/engine/layout.h"
#include "lib/build_id.h"
#include "lib/content_hash.h"

/* How far the second translation is from the first. The lowest byte that can differ does, so that the place of a difference says where
 * the number begins: addresses are moved by whole pages, the others by less. */
#define MOVE_ADDRESS 0x102233000u
enum {
	MOVE_CODE = 0x15b40, /* CODE_ALIGN times something */
	MOVE_SEGMENT = 0x1d,
	PAGE = 4096,
	RANGES = 12,	   /* stretches of application code a chain may be made from */
	RANGE_GAP = 32,	   /* what lies nearer is one */
	SEGMENTS = 64,
	NUMBERS = 256,	   /* that are not the same everywhere, in a chain */
	CODE_MAX = 1 << 14,
};

/* A number in the code that depends on where things are. */
enum number_kind {
	NUMBER_ADDRESS,	  /* 64 bits: of the application */
	NUMBER_NEGATIVE,  /* 64 bits: the same, negated */
	NUMBER_GLUE,	  /* 32 bits: from here to the common parts */
	NUMBER_CODE,	  /* 32 bits: an address in the code area */
	NUMBER_SEGMENT,	  /* 32 bits: of one of the chain's own; value says which */
	NUMBER_KINDS,
};

struct number {
	uint16_t at;
	uint8_t kind, value;
};

/* Everything is relative to the chain's pc, and to where its code begins. In this order behind one another. */
struct template_head {
	uint64_t check; /* of all that follows */
	uint64_t returns_to, slot; /* 0: none */
	uint64_t pc; /* where it must be, 0: anywhere high */
	uint32_t size;
	uint16_t code, body, fresh, indirect, ranges, segments, exits, places, numbers;
	bool has_indirect, has_fresh, ticks, checked, passes;
	uint8_t debt;
};

struct template_range {
	uint64_t start;
	uint64_t len;
};

struct template_exit {
	uint64_t target;
	uint16_t trap, site;
	uint8_t kind;
	bool flags_lost, fresh, conditional;
	struct chain_demand demand;
};

/* The beginning of our own image, by the linker. */
extern const char __ehdr_start[];

/* What template_make() and template_add() must know all of. */
_Static_assert(sizeof(struct chain) == 80 && sizeof(struct cache_exit) == 32 && sizeof(struct segment) == 48,
	       "a template has all of a chain");

struct recorded_range {
	uint64_t start, end;
};

struct template_maker {
	struct code_cache *caches[2];
	const struct code_source *source;
	uint64_t moved; /* in the translation that is made now */
	struct recorded_range ranges[RANGES];
	size_t range_count;
	bool recording;
	bool unfit; /* too many ranges, or the end of a mapping */
};

/* ---- The source of the two translations ---- */

static void note_range(struct template_maker *m, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < m->range_count; i++) {
		struct recorded_range *r = &m->ranges[i];

		if (start > r->end + RANGE_GAP || end + RANGE_GAP < r->start)
			continue;
		r->start = start < r->start ? start : r->start;
		r->end = end > r->end ? end : r->end;
		return;
	}
	m->unfit |= m->range_count == RANGES;
	if (!m->unfit)
		m->ranges[m->range_count++] = (struct recorded_range){start, end};
}

static size_t read_moved(void *arg, uint64_t addr, uint8_t *bytes, size_t n)
{
	struct template_maker *m = arg;
	size_t got = m->source->read(m->source->arg, addr - m->moved, bytes, n);

	m->unfit |= got != n;
	if (m->recording)
		note_range(m, addr - m->moved, addr - m->moved + n);
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
		if (segment_add(c->segments, &(struct segment){.pc = i, .from = i, .end = i + 1, .kind = SEGMENT_FALL}) == SEGMENT_NONE)
			return false;
	return true;
}

static bool move_code(struct code_cache *c)
{
	uint8_t *bytes;
	uint32_t offset;

	if (!code_cache_room(c, MOVE_CODE, &bytes, &offset))
		return false;
	memset(bytes, 0, MOVE_CODE);
	code_cache_add_glue(c, MOVE_CODE);
	return true;
}

void template_maker_free(struct template_maker *m)
{
	if (!m)
		return;
	code_cache_put(m->caches[0]);
	code_cache_put(m->caches[1]);
	free(m);
}

struct template_maker *template_maker_new(const struct processor *processor, bool ticks)
{
	struct template_maker *m = calloc(1, sizeof *m);

	if (!m)
		return NULL;
	m->caches[0] = code_cache_new(processor);
	m->caches[1] = code_cache_new(processor);
	for (int i = 0; i < 2; i++)
		if (m->caches[i])
			m->caches[i]->ticks = ticks;
	if (m->caches[0] && m->caches[1] && move_segments(m->caches[1]) && move_code(m->caches[1]))
		return m;
	template_maker_free(m);
	return NULL;
}

static bool is_low(uint64_t addr) { return addr <= UINT32_MAX; }

/* Towards the middle of the addresses: near their end branches cannot be moved on. */
static uint64_t move_of(uint64_t pc) { return is_low(pc) ? 0 : pc >> 46 ? -(uint64_t)MOVE_ADDRESS : MOVE_ADDRESS; }

/* The chain in the two caches. False where it cannot be made in both in the same way. */
static bool translate_both(struct template_maker *m, uint64_t pc, bool indirect, struct chain_demand demand, const struct chain *chains[2])
{
	const struct code_source source = {.read = read_moved, .fixed_page = no_page, .is_mutable = never_mutable, .arg = m, .demand = &demand};
	uint32_t clears[2] = {m->caches[0]->clears, m->caches[1]->clears}, made[2];

	m->range_count = 0;
	m->unfit = false;
	for (int i = 0; i < 2; i++) {
		m->moved = i ? move_of(pc) : 0;
		m->recording = !i;
		made[i] = code_cache_find(m->caches[i], pc + m->moved);
		if (made[i] == CHAIN_NONE)
			made[i] = translator_translate(m->caches[i], &source, pc + m->moved, indirect);
		if (made[i] == CHAIN_NONE || m->caches[i]->clears != clears[i])
			return false;
		chains[i] = &m->caches[i]->chains[made[i]];
	}
	/* Found, not made: where it was read from is not known. */
	return !m->unfit && m->range_count && made[0] == made[1] && made[0] + 1 == m->caches[0]->chain_count && made[1] + 1 == m->caches[1]->chain_count;
}

/* ---- What is the same in both but for the move ---- */

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

struct made {
	const struct code_cache *cache;
	const struct chain *chain;
	uint8_t code[CODE_MAX];
	uint32_t len, exits;
	uint64_t moved;
	uint32_t segments[SEGMENTS];
};

/* The number of the living segment that the span is. */
static uint32_t segment_of(const struct code_cache *c, const struct span *span)
{
	const struct segment *s = segment_at(c->segments, span->start, segment_generation(c->segments));

	return s && s->end == span->end ? (uint32_t)(s - segment_get(c->segments, 0)) : SEGMENT_NONE;
}

/* Its code with each jump leading to its own exit, and the numbers of its segments. */
static bool take_made(struct made *made, const struct code_cache *c, const struct chain *chain, uint64_t moved)
{
	made->cache = c;
	made->chain = chain;
	made->moved = moved;
	made->len = chain->end - chain->start;
	made->exits = c->exit_count - chain->exit_first;
	if (made->len > CODE_MAX || chain->span_count > SEGMENTS || !chain->span_count || chain->dead || chain->parked)
		return false;
	memcpy(made->code, c->code + chain->start, made->len);
	for (uint32_t i = 0; i < made->exits; i++) {
		const struct cache_exit *x = &c->exits[chain->exit_first + i];
		uint32_t d = x->trap - (x->site + 4);

		if (x->trap < chain->start || x->trap >= chain->end || (x->site && (x->site < chain->start || x->site + 4 > chain->end)))
			return false;
		if (x->site)
			memcpy(made->code + (x->site - chain->start), &d, sizeof d);
	}
	for (uint32_t i = 0; i < chain->span_count; i++) {
		made->segments[i] = c->ticks ? 0 : segment_of(c, &c->spans[chain->span_first + i]);
		if (made->segments[i] == SEGMENT_NONE)
			return false;
	}
	return made->segments[0] == chain->segment;
}

/* Its segment of this number; where no history is kept there are only their spans. */
static struct segment made_segment(const struct made *made, uint32_t i)
{
	const struct span *span = &made->cache->spans[made->chain->span_first + i];

	if (made->cache->ticks)
		return (struct segment){.pc = span->start, .from = span->end - made->chain->last_len, .end = span->end};
	return *segment_get(made->cache->segments, made->segments[i]);
}

static bool find_segment(const struct made *made, uint32_t segment, uint8_t *value)
{
	for (uint32_t i = 0; i < made->chain->span_count; i++)
		if (made->segments[i] == segment) {
			*value = (uint8_t)i;
			return true;
		}
	return false;
}

/* Which number it is whose lowest differing byte is at i. */
static bool name_number(const struct made *a, const struct made *b, uint32_t i, struct number *n)
{
	*n = (struct number){0};
	if (b->moved && i >= 1 && i + 7 <= a->len) {
		uint64_t d = get64(b->code + i - 1) - get64(a->code + i - 1);

		n->at = (uint16_t)(i - 1);
		n->kind = d == b->moved ? NUMBER_ADDRESS : NUMBER_NEGATIVE;
		if (d == b->moved || d == -b->moved)
			return true;
	}
	if (i + 4 > a->len)
		return false;
	n->at = (uint16_t)i;
	switch (get32(b->code + i) - get32(a->code + i)) {
	case (uint32_t)-MOVE_CODE:
		n->kind = NUMBER_GLUE;
		return true;
	case MOVE_CODE:
		n->kind = NUMBER_CODE;
		return true;
	case MOVE_SEGMENT:
		n->kind = NUMBER_SEGMENT;
		return find_segment(a, get32(a->code + i), &n->value);
	default:
		return false;
	}
}

static bool find_numbers(const struct made *a, const struct made *b, struct number numbers[NUMBERS], size_t *count)
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
		const struct cache_exit *x = &a->cache->exits[a->chain->exit_first + i], *y = &b->cache->exits[b->chain->exit_first + i];

		if (x->trap + MOVE_CODE != y->trap || x->site + (x->site ? MOVE_CODE : 0) != y->site || x->target + b->moved != y->target || x->kind != y->kind ||
		    x->flags_lost != y->flags_lost || x->fresh != y->fresh || x->conditional != y->conditional || x->demand.back != y->demand.back || x->demand.debt != y->demand.debt)
			return false;
	}
	return true;
}

static bool same_segments(const struct made *a, const struct made *b)
{
	for (uint32_t i = 0; i < a->chain->span_count; i++) {
		struct segment s = made_segment(a, i), t = made_segment(b, i);

		if (a->segments[i] + (a->cache->ticks ? 0 : MOVE_SEGMENT) != b->segments[i] || s.pc + b->moved != t.pc || s.from + b->moved != t.from ||
		    s.end + b->moved != t.end || !same_moved(s.to, t.to, b->moved) || s.kind != t.kind || s.tick != t.tick)
			return false;
	}
	return true;
}

static bool same_place(const struct place *x, const struct place *y)
{
	return x->at == y->at && x->state == y->state && x->reg == y->reg && x->pc == y->pc;
}

static bool same_but_moved(const struct made *a, const struct made *b)
{
	const struct chain *x = a->chain, *y = b->chain;

	if (a->len != b->len || a->exits != b->exits || x->span_count != y->span_count || x->place_count != y->place_count ||
	    x->start + MOVE_CODE != y->start || x->body + MOVE_CODE != y->body || !x->fresh != !y->fresh ||
	    (x->fresh && x->fresh + MOVE_CODE != y->fresh) || !x->indirect != !y->indirect || (x->indirect && x->indirect + MOVE_CODE != y->indirect) || x->checked != y->checked || x->debt != y->debt || x->passes != y->passes ||
	    !same_moved(x->returns_to, y->returns_to, b->moved) || !same_moved(x->slot, y->slot, b->moved))
		return false;
	for (uint32_t i = 0; i < x->place_count; i++)
		if (!same_place(&code_cache_places(a->cache, x)[i], &code_cache_places(b->cache, y)[i]))
			return false;
	return same_exits(a, b) && same_segments(a, b);
}

/* ---- Writing ---- */

static uint64_t relative(uint64_t addr, uint64_t pc) { return addr ? addr - pc : 0; }

static void put_ranges(const struct template_maker *m, uint64_t pc, struct buf *out)
{
	for (size_t i = 0; i < m->range_count; i++) {
		struct template_range r = {m->ranges[i].start - pc, m->ranges[i].end - m->ranges[i].start};

		buf_put(out, &r, sizeof r);
	}
}

static void put_segments(const struct made *a, uint64_t pc, struct buf *out)
{
	for (uint32_t i = 0; i < a->chain->span_count; i++) {
		struct segment s = made_segment(a, i);

		s.pc -= pc;
		s.from -= pc;
		s.end -= pc;
		s.to = s.to ? s.to - pc : 1; /* nothing is one byte behind the chain's pc */
		s.born = s.died = 0;
		buf_put(out, &s, sizeof s);
	}
}

static bool ends_badly(const struct made *a, uint64_t pc)
{
	for (uint32_t i = 0; i < a->chain->span_count; i++)
		if (made_segment(a, i).to == pc + 1)
			return true;
	return a->chain->returns_to == pc || a->chain->slot == pc;
}

static void put_exits(const struct made *a, uint64_t pc, struct buf *out)
{
	for (uint32_t i = 0; i < a->exits; i++) {
		const struct cache_exit *x = &a->cache->exits[a->chain->exit_first + i];
		struct template_exit t;

		memset(&t, 0, sizeof t);
		t.target = x->target - pc;
		t.trap = (uint16_t)(x->trap - a->chain->start);
		t.site = (uint16_t)(x->site ? x->site - a->chain->start : 0);
		t.kind = x->kind;
		t.flags_lost = x->flags_lost;
		t.fresh = x->fresh;
		t.conditional = x->conditional;
		t.demand = x->demand;
		buf_put(out, &t, sizeof t);
	}
}

static bool put_source(const struct template_maker *m, struct buf *out)
{
	for (size_t i = 0; i < m->range_count; i++) {
		size_t n = m->ranges[i].end - m->ranges[i].start;

		if (!buf_reserve(out, n) || m->source->read(m->source->arg, m->ranges[i].start, out->data + out->len, n) != n)
			return false;
		out->len += n;
	}
	return true;
}

/* As if the chain's pc and the place of its code were 0. */
static void take_numbers_out(struct made *a, const struct number *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint8_t *at = a->code + numbers[i].at;
		uint64_t v64;
		uint32_t v32;

		if (numbers[i].kind <= NUMBER_NEGATIVE) {
			v64 = get64(at) + (numbers[i].kind == NUMBER_ADDRESS ? -a->chain->pc : a->chain->pc);
			memcpy(at, &v64, sizeof v64);
			continue;
		}
		v32 = numbers[i].kind == NUMBER_SEGMENT ? 0 : get32(at) + (numbers[i].kind == NUMBER_GLUE ? a->chain->start : -a->chain->start);
		memcpy(at, &v32, sizeof v32);
	}
}

static bool put_template(const struct template_maker *m, struct made *a, const struct number *numbers, size_t count, struct buf *out)
{
	const struct chain *c = a->chain;
	struct template_head h;
	size_t start = out->len;

	memset(&h, 0, sizeof h);
	h.returns_to = relative(c->returns_to, c->pc);
	h.slot = relative(c->slot, c->pc);
	h.pc = is_low(c->pc) ? c->pc : 0;
	h.code = (uint16_t)a->len;
	h.body = (uint16_t)(c->body - c->start);
	h.ticks = a->cache->ticks;
	h.checked = c->checked;
	h.debt = c->debt;
	h.passes = c->passes;
	h.has_fresh = c->fresh != 0;
	h.fresh = (uint16_t)(c->fresh ? c->fresh - c->start : 0);
	h.has_indirect = c->indirect != 0;
	h.indirect = (uint16_t)(c->indirect ? c->indirect - c->start : 0);
	h.ranges = (uint16_t)m->range_count;
	h.segments = (uint16_t)c->span_count;
	h.exits = (uint16_t)a->exits;
	h.places = (uint16_t)c->place_count;
	h.numbers = (uint16_t)count;
	buf_put(out, &h, sizeof h);
	put_ranges(m, c->pc, out);
	put_segments(a, c->pc, out);
	put_exits(a, c->pc, out);
	buf_put(out, code_cache_places(a->cache, c), c->place_count * sizeof(struct place));
	buf_put(out, numbers, count * sizeof *numbers);
	take_numbers_out(a, numbers, count);
	buf_put(out, a->code, a->len);
	if (!put_source(m, out) || !buf_reserve(out, 8))
		return false;
	while (out->len % 8)
		out->data[out->len++] = 0;
	h.size = (uint32_t)(out->len - start);
	memcpy(out->data + start, &h, sizeof h);
	h.check = content_hash(out->data + start + sizeof h.check, h.size - sizeof h.check).first;
	memcpy(out->data + start, &h.check, sizeof h.check);
	return true;
}

bool template_make(struct template_maker *m, const struct code_source *source, uint64_t pc, bool indirect, struct chain_demand demand, struct buf *out)
{
	const struct chain *chains[2];
	struct number numbers[NUMBERS];
	size_t count, start = out->len;
	struct made *made;
	bool done;

	m->source = source;
	if (!translate_both(m, pc, indirect, demand, chains))
		return false;
	made = malloc(2 * sizeof *made);
	done = made && take_made(&made[0], m->caches[0], chains[0], 0) && take_made(&made[1], m->caches[1], chains[1], m->moved) && !ends_badly(&made[0], pc) &&
	       same_but_moved(&made[0], &made[1]) && find_numbers(&made[0], &made[1], numbers, &count) && put_template(m, &made[0], numbers, count, out) &&
	       !out->failed;
	if (!done && !out->failed)
		out->len = start;
	free(made);
	return done;
}

/* ---- Reading ---- */

struct parts {
	struct template_head head;
	const struct template_range *ranges;
	const struct segment *segments;
	const struct template_exit *exits;
	const struct place *places;
	const struct number *numbers;
	const uint8_t *code, *source;
	size_t source_len;
};

bool template_is_whole(struct slice bytes)
{
	struct template_head head;

	if (bytes.len < sizeof head)
		return false;
	memcpy(&head, bytes.at, sizeof head);
	return head.size == bytes.len && head.check == content_hash(bytes.at + sizeof head.check, bytes.len - sizeof head.check).first;
}

/* Where the parts lie. */
static bool find_parts(struct slice s, struct parts *p)
{
	if (!template_is_whole(s) || (uintptr_t)s.at % 8)
		return false;
	memcpy(&p->head, slice_take(&s, sizeof p->head).at, sizeof p->head);
	p->ranges = (const void *)slice_take(&s, p->head.ranges * sizeof *p->ranges).at;
	p->segments = (const void *)slice_take(&s, p->head.segments * sizeof *p->segments).at;
	p->exits = (const void *)slice_take(&s, p->head.exits * sizeof *p->exits).at;
	p->places = (const void *)slice_take(&s, p->head.places * sizeof *p->places).at;
	p->numbers = (const void *)slice_take(&s, p->head.numbers * sizeof *p->numbers).at;
	p->code = slice_take(&s, p->head.code).at;
	p->source = s.at;
	p->source_len = s.len;
	return !s.bad && p->head.segments && p->head.segments <= SEGMENTS;
}

static bool same_bytes(const struct code_source *source, uint64_t addr, const uint8_t *bytes, size_t n)
{
	while (n) {
		const uint8_t *page = source->fixed_page(source->arg, addr);
		size_t here = PAGE - addr % PAGE;

		here = here < n ? here : n;
		if (!page || memcmp(page + addr % PAGE, bytes, here))
			return false;
		addr += here;
		bytes += here;
		n -= here;
	}
	return true;
}

static bool same_source(const struct parts *p, const struct code_source *source, uint64_t pc)
{
	const uint8_t *bytes = p->source;
	size_t left = p->source_len;

	for (size_t i = 0; i < p->head.ranges; i++) {
		size_t n = p->ranges[i].len;

		if (n > left || !same_bytes(source, pc + p->ranges[i].start, bytes, n))
			return false;
		bytes += n;
		left -= n;
	}
	return true;
}

/* A chain whose last branch has a guess is made anew: templates have none. */
static bool has_guess(const struct parts *p, const struct code_cache *c, uint64_t pc)
{
	return guesses_find(&c->guesses, pc + p->segments[p->head.segments - 1].from);
}

static uint64_t address_of(const struct number *n, const uint8_t *code, uint64_t pc)
{
	return n->kind == NUMBER_ADDRESS ? get64(code + n->at) + pc : pc - get64(code + n->at);
}

/* Addresses may not have another form here, and numbers are in the code. */
static bool numbers_fit(const struct parts *p, uint64_t pc)
{
	for (size_t i = 0; i < p->head.numbers; i++) {
		const struct number *n = &p->numbers[i];

		if (n->at + (n->kind <= NUMBER_NEGATIVE ? 8 : 4) > p->head.code || n->value >= p->head.segments ||
		    (n->kind <= NUMBER_NEGATIVE && is_low(address_of(n, p->code, pc))))
			return false;
	}
	return true;
}

/* The code as it is at `offset`. */
static void put_numbers_in(const struct parts *p, uint8_t *code, uint32_t offset, uint64_t pc, const uint32_t *segments)
{
	for (size_t i = 0; i < p->head.numbers; i++) {
		const struct number *n = &p->numbers[i];
		uint64_t v64;
		uint32_t v32;

		if (n->kind <= NUMBER_NEGATIVE) {
			v64 = address_of(n, p->code, pc);
			v64 = n->kind == NUMBER_ADDRESS ? v64 : -v64;
			memcpy(code + n->at, &v64, sizeof v64);
			continue;
		}
		v32 = n->kind == NUMBER_SEGMENT ? segments[n->value] : get32(code + n->at) + (n->kind == NUMBER_GLUE ? -offset : offset);
		memcpy(code + n->at, &v32, sizeof v32);
	}
}

static bool add_exits(struct code_cache *c, const struct parts *p, uint32_t offset, uint64_t pc)
{
	for (size_t i = 0; i < p->head.exits; i++) {
		const struct template_exit *t = &p->exits[i];
		struct cache_exit x = {.trap = offset + t->trap, .site = t->site ? offset + t->site : 0, .target = pc + t->target,
				       .kind = t->kind, .flags_lost = t->flags_lost, .fresh = t->fresh, .conditional = t->conditional, .demand = t->demand};

		if (!code_cache_add_exit(c, &x))
			return false;
	}
	return true;
}

static bool add_segments(struct code_cache *c, const struct parts *p, uint64_t pc, uint32_t *numbers)
{
	for (size_t i = 0; i < p->head.segments; i++) {
		struct segment s = p->segments[i];

		s.pc += pc;
		s.from += pc;
		s.end += pc;
		s.to = s.to == 1 ? 0 : s.to + pc;
		numbers[i] = c->ticks ? 0 : segment_add(c->segments, &s);
		if (numbers[i] > INT32_MAX || !code_cache_add_span(c, s.pc, s.end))
			return false;
	}
	return true;
}

static bool add_places(struct code_cache *c, const struct parts *p, struct chain *chain)
{
	chain->place_first = c->place_count;
	chain->place_count = p->head.places;
	return code_cache_add_places(c, p->places, p->head.places);
}

uint32_t template_add(struct code_cache *c, const struct code_source *source, uint64_t pc, struct slice bytes, enum template_fault *fault)
{
	struct chain chain = {.pc = pc};
	uint32_t segments[SEGMENTS], number;
	struct parts p;
	uint8_t *code;

	*fault = TEMPLATE_UNFIT;
	if (!find_parts(bytes, &p) || c->ticks != p.head.ticks || (p.head.pc ? p.head.pc != pc : is_low(pc)) || !numbers_fit(&p, pc) || has_guess(&p, c, pc) ||
	    !same_source(&p, source, pc))
		return CHAIN_NONE;
	chain.checked = p.head.checked;
	chain.debt = p.head.debt;
	chain.passes = p.head.passes;
	if (!chain_meets(&chain, code_cache_demand(c, pc))) {
		*fault = TEMPLATE_UNCHECKED;
		return CHAIN_NONE;
	}
	if (!code_cache_room(c, p.head.code, &code, &chain.start))
		return CHAIN_NONE;
	*fault = TEMPLATE_HALF;
	chain.end = chain.start + p.head.code;
	chain.body = chain.start + p.head.body;
	chain.fresh = p.head.has_fresh ? chain.start + p.head.fresh : 0;
	chain.indirect = p.head.has_indirect ? chain.start + p.head.indirect : 0;
	chain.returns_to = p.head.returns_to ? pc + p.head.returns_to : 0;
	chain.slot = p.head.slot ? pc + p.head.slot : 0;
	chain.span_first = c->span_count;
	chain.span_count = p.head.segments;
	chain.exit_first = c->exit_count;
	if (!add_segments(c, &p, pc, segments))
		return CHAIN_NONE;
	chain.segment = segments[0];
	memcpy(code, p.code, p.head.code);
	put_numbers_in(&p, code, chain.start, pc, segments);
	if (!add_exits(c, &p, chain.start, pc) || !add_places(c, &p, &chain))
		return CHAIN_NONE;
	number = code_cache_add(c, &chain);
	if (number == CHAIN_NONE)
		return CHAIN_NONE;
	if (chain.indirect)
		code_cache_publish(c, number);
	return number;
}

/* ---- For whom ---- */

uint64_t template_stamp(const struct processor *processor)
{
	struct code_cache *c = code_cache_new(processor);
	struct {
		uint64_t glue, dev, ino, size, seconds, nanoseconds, fast_pext, rorx, fast_loop;
		uint8_t build_id[BT_BUILD_ID_MAX];
	} who;
	struct stat exe;

	memset(&who, 0, sizeof who);
	who.fast_pext = processor->fast_pext;
	who.rorx = processor->rorx;
	who.fast_loop = processor->fast_loop;
	if (c)
		who.glue = content_hash(c->code, c->name).first; /* not what CPUID gives, which stands behind that */
	code_cache_put(c);
	if (!stat("/proc/self/exe", &exe)) {
		who.dev = exe.st_dev;
		who.ino = exe.st_ino;
		who.size = (uint64_t)exe.st_size;
		who.seconds = (uint64_t)exe.st_mtim.tv_sec;
		who.nanoseconds = (uint64_t)exe.st_mtim.tv_nsec;
	}
	bt_build_id(__ehdr_start, PAGE, who.build_id);
	return content_hash(&who, sizeof who).first | 1;
}
