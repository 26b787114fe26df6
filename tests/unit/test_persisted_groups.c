/* SPDX-License-Identifier: MIT */
/* Groups of fragments: what is put into a cache is, byte for byte, what the translator would have
 * made there, of one fragment or of several together. The application is this program's own code,
 * as if it lay elsewhere. */
#include "tests/unit/unit.h"

#include <link.h>
#include <string.h>

#include "collector/backend/engine/persist/persisted_maker.h"
#include "collector/backend/engine/x86/x86.h"
#include "lib/array_size.h"
#include "tests/unit/program.h"

enum {
	FRAGMENTS = 1500,
	DAMAGED = 40, /* fragments of which every byte is damaged once */
};

#define HERE   0x5555550de000u
#define THERE  0x7f12345b7000u
#define LOW    0x00412000u
#define OFFSET 0x5000u /* in its file, of what is damaged */

struct wanted {
	uint64_t offset;
	bool indirect;
	bool fit; /* for a group */
};

static const struct processor processor = {
	.fast_pext = true,
	.lzcnt = true,
	.fast_loop = true,
	.leaf_count = PROCESSOR_LEAVES}; /* for which the routines must have room */

static int find_text(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct slice *text = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum && !text->len; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X)
			*text = slice_of((const uint8_t *)info->dlpi_addr +
						 info->dlpi_phdr[i].p_vaddr,
					 info->dlpi_phdr[i].p_memsz); /* of the program itself */
	return 1;
}

static const struct fragment_kind history, ticks = {.ticks = true}, apart = {.apart = true};

static struct slice own_text(void)
{
	struct slice text = {0};

	dl_iterate_phdr(find_text, &text);
	assert_true(text.len > 10000);
	return text;
}

static struct program program_at(uint64_t at)
{
	struct slice text = own_text();
	struct program p = {.len = (text.len + PROGRAM_PAGE - 1) & ~(size_t)(PROGRAM_PAGE - 1),
			    .at = at};

	p.bytes = calloc(1, p.len);
	assert_non_null(p.bytes);
	for (size_t i = 0; i < text.len; i++)
		p.bytes[i] = text.at[i];
	return p;
}

static void want(struct wanted *w, size_t *count, const struct program *p, uint64_t addr,
		 bool indirect)
{
	uint64_t offset = addr - p->at;

	if (*count == FRAGMENTS || offset >= p->len)
		return;
	for (size_t i = 0; i < *count; i++)
		if (w[i].offset == offset)
			return;
	w[(*count)++] = (struct wanted){.offset = offset, .indirect = indirect};
}

/* Places that lead to one another, from some functions on. */
static size_t collect(struct wanted *w, struct program *p, struct fragment_kind kind)
{
	const void *const first[] = {(const void *)translator_translate,
				     (const void *)persisted_make, (const void *)code_cache_add,
				     (const void *)segment_add, (const void *)x86_decode};
	struct code_cache *c = code_cache_new(&processor, kind.apart, kind.logged);
	struct code_source source = program_source(p);
	size_t count = 0;

	c->kind = kind;
	for (size_t i = 0; i < ARRAY_SIZE(first); i++)
		want(w, &count, p, p->at + (uint64_t)((const uint8_t *)first[i] - own_text().at),
		     i % 2);
	for (size_t i = 0; i < count; i++) {
		uint32_t fragment =
			translator_translate(c, &source, p->at + w[i].offset, w[i].indirect);

		assert_int_equal(c->clears, 0);
		if (fragment == FRAGMENT_NONE)
			continue;
		for (uint32_t k = c->fragments[fragment].exit_first; k < c->exit_count; k++)
			want(w, &count, p, c->exits[k].target, k % 3 == 0);
		if (c->fragments[fragment].returns_to)
			want(w, &count, p, c->fragments[fragment].returns_to, true);
	}
	code_cache_put(c);
	return count;
}

/* A cache that has something else before. */
static struct code_cache *used_cache(struct fragment_kind kind)
{
	struct code_cache *c = code_cache_new(&processor, kind.apart, kind.logged);
	uint8_t *bytes;
	uint32_t offset;

	assert_non_null(c);
	c->kind = kind;
	assert_true(code_cache_room(c, 77, CODE_ALIGN, &bytes, &offset));
	memset(bytes, 0, 77);
	code_cache_add_routine(c, 77);
	for (uint64_t i = 1; i < 12; i++)
		segment_add(
			c->segments,
			&(struct segment){.pc = i, .from = i, .end = i + 1, .kind = BT_BRANCH_RET});
	return c;
}

/* Groups begin at a cache line. */
static void begin_line(struct code_cache *c)
{
	uint8_t *bytes;
	uint32_t offset;

	assert_true(code_cache_room(c, 1, CODE_ALIGN_LOOP, &bytes, &offset));
}

static void assert_same_fragment(const struct fragment *a, const struct fragment *b)
{
	assert_int_equal(a->pc, b->pc);
	assert_int_equal(a->body, b->body);
	assert_int_equal(a->indirect, b->indirect);
	assert_int_equal(a->fresh, b->fresh);
	assert_int_equal(a->start, b->start);
	assert_int_equal(a->end, b->end);
	assert_int_equal(a->segment, b->segment);
	assert_int_equal(a->state_map_len, b->state_map_len);
	assert_int_equal(a->span_first, b->span_first);
	assert_int_equal(a->span_count, b->span_count);
	assert_int_equal(a->exit_first, b->exit_first);
	assert_int_equal(a->returns_to, b->returns_to);
	assert_int_equal(a->slot, b->slot);
	assert_int_equal(a->checked, b->checked);
	assert_int_equal(a->debt, b->debt);
	assert_int_equal(a->passes, b->passes);
	assert_false(a->dead || b->dead || a->unlinked || b->unlinked);
}

static void assert_same_exit(const struct cache_exit *a, const struct cache_exit *b)
{
	assert_int_equal(a->trap, b->trap);
	assert_int_equal(a->site, b->site);
	assert_int_equal(a->target, b->target);
	assert_int_equal(a->linked, b->linked);
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->goes_on, b->goes_on);
	assert_int_equal(a->fresh, b->fresh);
}

/* What leads to the fragment: no more and no less than the exits say, in any order. */
static void assert_incoming(const struct code_cache *c, uint32_t fragment)
{
	uint32_t listed = 0, linked = 0;

	for (uint32_t i = c->fragments[fragment].incoming; i != EXIT_NONE;
	     i = c->exits[i].next, listed++)
		assert_int_equal(c->exits[i].linked, fragment);
	for (uint32_t i = 0; i < c->exit_count; i++)
		linked += c->exits[i].linked == fragment;
	assert_int_equal(listed, linked);
}

static void assert_same_cache(const struct code_cache *a, const struct code_cache *b)
{
	assert_int_equal(a->fragment_count, b->fragment_count);
	for (uint32_t i = 0; i < a->fragment_count; i++)
		assert_same_fragment(&a->fragments[i], &b->fragments[i]);
	for (uint32_t i = 0; i < a->fragment_count; i++)
		assert_incoming(a, i);
	assert_int_equal(a->waiting.count, b->waiting.count);
	assert_int_equal(a->code_len, b->code_len);
	assert_memory_equal(a->code, b->code, a->code_len);
	assert_int_equal(a->exit_count, b->exit_count);
	for (uint32_t i = 0; i < a->exit_count; i++)
		assert_same_exit(&a->exits[i], &b->exits[i]);
	for (uint32_t i = 0; i < a->fragment_count; i++)
		assert_memory_equal(code_cache_state_map(a, &a->fragments[i]),
				    code_cache_state_map(b, &b->fragments[i]),
				    a->fragments[i].state_map_len);
	assert_int_equal(a->span_count, b->span_count);
	assert_memory_equal(a->spans, b->spans, a->span_count * sizeof *a->spans);
	assert_int_equal(segment_count(a->segments), segment_count(b->segments));
	for (uint32_t i = 0; i < segment_count(a->segments); i++) {
		const struct segment *s = segment_get(a->segments, i),
				     *t = segment_get(b->segments, i);

		assert_true(s->pc == t->pc && s->from == t->from && s->end == t->end &&
			    s->to == t->to && s->kind == t->kind && s->tick == t->tick);
	}
	assert_int_equal(a->tables.count, b->tables.count);
	assert_int_equal(a->tables.bits, b->tables.bits);
	assert_memory_equal(a->tables.pairs, b->tables.pairs,
			    (1u << a->tables.bits) * sizeof *a->tables.pairs);
}

/* One group of one fragment. */
static bool make(struct persisted_maker *m, const struct code_source *source, uint64_t pc,
		 bool indirect, struct fragment_demand demand, uint64_t offset, struct buf *out)
{
	struct persisted_wish wish = {.pc = pc, .indirect = indirect, .demand = demand};

	assert_int_equal(persisted_make(m, source, &wish, 1, offset, out), 1);
	assert_int_equal(wish.kept, out->len != 0);
	return wish.kept;
}

/* Groups are made of the program at one place, and put into a cache of it at another. Each lies
 * where the one before it lay. Says which fragments had one. */
static size_t compare(struct wanted *w, size_t count, struct program *one, struct program *other,
		      struct fragment_kind kind)
{
	struct persisted_maker *maker = persisted_maker_new(&processor, kind);
	struct code_source source = program_source(one), elsewhere = program_source(other);
	struct code_cache *by_group = used_cache(kind), *by_translator = used_cache(kind);
	struct buf bytes = {0};
	size_t made = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t pc = other->at + w[i].offset;
		enum persisted_fault fault;

		buf_reset(&bytes);
		w[i].fit = make(maker, &source, one->at + w[i].offset, w[i].indirect,
				code_cache_demand(by_group, pc), w[i].offset, &bytes);
		if (w[i].fit)
			assert_int_not_equal(persisted_add(by_group, &elsewhere, pc, w[i].offset,
							   slice_of(bytes.data, bytes.len), &fault),
					     FRAGMENT_NONE);
		else
			translator_translate(by_group, &elsewhere, pc, w[i].indirect);
		if (w[i].fit)
			begin_line(by_translator);
		translator_translate(by_translator, &elsewhere, pc, w[i].indirect);
		made += w[i].fit;
	}
	assert_same_cache(by_group, by_translator);
	buf_release(&bytes);
	persisted_maker_free(maker);
	code_cache_put(by_group);
	code_cache_put(by_translator);
	return made;
}

/* The same of `size` fragments together; any of them is what the group is added for. */
static void compare_together(const struct wanted *w, size_t count, struct program *one,
			     struct program *other, size_t size, struct fragment_kind kind)
{
	struct persisted_maker *maker = persisted_maker_new(&processor, kind);
	struct code_source source = program_source(one), elsewhere = program_source(other);
	struct code_cache *by_group = used_cache(kind), *by_translator = used_cache(kind),
			  *before = used_cache(kind);
	struct persisted_wish *wishes = calloc(count, sizeof *wishes);
	struct buf bytes = {0};

	for (size_t i = 0; i < count; i++) {
		uint64_t pc = other->at + w[i].offset;

		wishes[i] = (struct persisted_wish){.pc = one->at + w[i].offset,
						    .indirect = w[i].indirect,
						    .demand = code_cache_demand(before, pc)};
		translator_translate(before, &elsewhere, pc, w[i].indirect);
	}
	for (size_t i = 0, done; i < count; i += done) {
		size_t n = size < count - i ? size : count - i, which;
		enum persisted_fault fault;

		buf_reset(&bytes);
		done = persisted_make(maker, &source, wishes + i, n, w[i].offset, &bytes);
		assert_true(done && done <= n &&
			    (done == n || done == PERSISTED_FRAGMENTS ||
			     bytes.len > PERSISTED_BYTES / 2));
		which = i + (i * 7 + 3) % done;
		assert_int_not_equal(persisted_add(by_group, &elsewhere,
						   other->at + w[which].offset, w[which].offset,
						   slice_of(bytes.data, bytes.len), &fault),
				     FRAGMENT_NONE);
		begin_line(by_translator);
		for (size_t k = i; k < i + done; k++)
			translator_translate(by_translator, &elsewhere, other->at + w[k].offset,
					     w[k].indirect);
	}
	for (size_t i = 0; i < count; i++)
		assert_true(wishes[i].kept);
	assert_same_cache(by_group, by_translator);
	code_cache_put(before);
	free(wishes);
	buf_release(&bytes);
	persisted_maker_free(maker);
	code_cache_put(by_group);
	code_cache_put(by_translator);
}

static void compare_at(uint64_t from, uint64_t to, struct fragment_kind kind)
{
	static const size_t sizes[] = {1, 2, 7, PERSISTED_FRAGMENTS, 4 * PERSISTED_FRAGMENTS};
	struct program one = program_at(from), other = program_at(to);
	struct wanted *w = calloc(FRAGMENTS, sizeof *w);
	size_t count = collect(w, &one, kind), fit = 0;

	assert_true(count > 300);
	assert_true(compare(w, count, &one, &other, kind) > count / 10 * 9);
	for (size_t i = 0; i < count; i++)
		if (w[i].fit)
			w[fit++] = w[i];
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		compare_together(w, fit, &one, &other, sizes[i], kind);
	free(w);
	free(one.bytes);
	free(other.bytes);
}

static void a_persisted_group_makes_what_the_translator_makes(void **state)
{
	const struct fragment_kind kinds[] = {
		history, ticks, apart, {.ticks = true, .apart = true}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		compare_at(HERE, HERE, kinds[i]);
		compare_at(HERE, THERE, kinds[i]);
		compare_at(LOW, LOW, kinds[i]);
	}
}

static void assert_refused(struct code_cache *c, const struct code_source *source, uint64_t pc,
			   struct slice bytes)
{
	enum persisted_fault fault;

	assert_int_equal(persisted_add(c, source, pc, OFFSET, bytes, &fault), FRAGMENT_NONE);
	assert_int_equal(fault, PERSISTED_REFUSED);
	assert_int_equal(c->fragment_count, 0);
}

/* Each byte of what the fragment at pc was made of, and of its group, is another one once. */
static void damage(struct program *p, uint64_t pc, struct buf *bytes)
{
	struct code_cache *c = used_cache(history), *again = used_cache(history),
			  *others[] = {used_cache(ticks), used_cache(apart)};
	struct code_source source = program_source(p);
	enum persisted_fault fault;

	for (size_t i = 0; i < bytes->len; i++) {
		bytes->data[i] ^= 0x10;
		assert_refused(c, &source, pc, slice_of(bytes->data, bytes->len));
		bytes->data[i] ^= 0x10;
	}
	for (size_t i = 0; i < bytes->len; i += 8)
		assert_refused(c, &source, pc, slice_of(bytes->data, i));
	p->bytes[pc - p->at] ^= 1;
	assert_refused(c, &source, pc, slice_of(bytes->data, bytes->len));
	p->bytes[pc - p->at] ^= 1;
	assert_refused(c, &source, pc + p->len,
		       slice_of(bytes->data, bytes->len)); /* nothing is there */
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		assert_refused(others[i], &source, pc, slice_of(bytes->data, bytes->len));
		code_cache_put(others[i]);
	}
	assert_int_not_equal(persisted_add(again, &source, pc, OFFSET,
					   slice_of(bytes->data, bytes->len), &fault),
			     FRAGMENT_NONE);
	code_cache_put(c);
	code_cache_put(again);
}

static void what_is_damaged_or_was_made_of_something_else_is_refused(void **state)
{
	struct program p = program_at(HERE), low = program_at(LOW);
	struct wanted *w = calloc(FRAGMENTS, sizeof *w);
	size_t count = collect(w, &p, history);
	struct persisted_maker *maker = persisted_maker_new(&processor, history),
			       *low_maker = persisted_maker_new(&processor, history);
	struct code_source source = program_source(&p), low_source = program_source(&low);
	struct code_cache *c = used_cache(history);

	(void)state;
	for (size_t i = 0; i < DAMAGED && i < count; i++) {
		struct buf bytes = {0}, low_bytes = {0};

		if (make(maker, &source, HERE + w[i].offset, w[i].indirect,
			 (struct fragment_demand){0}, OFFSET, &bytes)) {
			damage(&p, HERE + w[i].offset, &bytes);
			assert_refused(
				c, &low_source, LOW + w[i].offset,
				slice_of(bytes.data, bytes.len)); /* addresses are shorter there */
		}
		if (make(low_maker, &low_source, LOW + w[i].offset, w[i].indirect,
			 (struct fragment_demand){0}, OFFSET, &low_bytes))
			assert_refused(c, &source, HERE + w[i].offset,
				       slice_of(low_bytes.data, low_bytes.len));
		buf_release(&bytes);
		buf_release(&low_bytes);
	}
	code_cache_put(c);
	persisted_maker_free(maker);
	persisted_maker_free(low_maker);
	free(w);
	free(p.bytes);
	free(low.bytes);
}

/* What is there already stays, and what leads from the others leads there. */
static void fragments_that_are_there_stay(void **state)
{
	struct program p = program_at(HERE);
	struct wanted *w = calloc(FRAGMENTS, sizeof *w);
	size_t count = collect(w, &p, history), there = 0, n = 0;
	struct persisted_maker *maker = persisted_maker_new(&processor, history);
	struct code_source source = program_source(&p);
	struct persisted_wish wishes[PERSISTED_FRAGMENTS];
	struct buf bytes = {0};
	enum persisted_fault fault;

	(void)state;
	assert_true(count > PERSISTED_FRAGMENTS);
	for (size_t i = 0; i < PERSISTED_FRAGMENTS; i++)
		wishes[i] = (struct persisted_wish){.pc = HERE + w[i].offset,
						    .indirect = w[i].indirect};
	n = persisted_make(maker, &source, wishes, PERSISTED_FRAGMENTS, w[0].offset, &bytes);
	for (size_t first = 0; first < n; first++) {
		struct code_cache *c = used_cache(history);
		uint32_t made =
			translator_translate(c, &source, wishes[first].pc, wishes[first].indirect);
		size_t wanted = (first + 1) % n;

		if (made == FRAGMENT_NONE || !wishes[first].kept || !wishes[wanted].kept) {
			code_cache_put(c);
			continue;
		}
		assert_int_equal(persisted_add(c, &source, wishes[first].pc, w[first].offset,
					       slice_of(bytes.data, bytes.len), &fault),
				 FRAGMENT_NONE);
		assert_int_equal(fault, PERSISTED_UNFIT);
		if (persisted_add(c, &source, wishes[wanted].pc, w[wanted].offset,
				  slice_of(bytes.data, bytes.len), &fault) == FRAGMENT_NONE) {
			assert_int_equal(fault, PERSISTED_UNCHECKED);
			assert_int_equal(c->fragment_count, 1);
		}
		assert_int_equal(code_cache_find(c, wishes[first].pc), made);
		for (uint32_t i = 0; i < c->fragment_count; i++)
			assert_incoming(c, i);
		for (uint32_t i = 0; i < c->exit_count; i++) {
			const struct cache_exit *x = &c->exits[i];
			uint32_t to = x->linked == FRAGMENT_NONE ? x->trap
				      : x->fresh && c->fragments[x->linked].fresh
					      ? c->fragments[x->linked].fresh
					      : c->fragments[x->linked].body,
				 d;

			if (!x->site)
				continue;
			memcpy(&d, c->code + x->site, sizeof d);
			assert_int_equal(x->site + 4 + d, to);
			assert_true(x->linked == FRAGMENT_NONE ||
				    c->fragments[x->linked].pc == x->target);
			there += x->linked == made;
		}
		code_cache_put(c);
	}
	assert_true(there > 0);
	buf_release(&bytes);
	persisted_maker_free(maker);
	free(w);
	free(p.bytes);
}

/* Nothing but nops, up to a return: a fragment each so many bytes on. Segments are cut where spans
 * end; each fragment has its place in some group. */
static void long_lines_have_groups(void **state)
{
	struct program p = {.len = 300 * 1024, .at = HERE};
	struct persisted_wish wishes[300];
	struct persisted_maker *maker = persisted_maker_new(&processor, history);
	struct code_cache *c = used_cache(history);
	struct code_source source = program_source(&p);
	struct buf bytes = {0};
	size_t n = ARRAY_SIZE(wishes), kept = 0, done;

	(void)state;
	p.bytes = malloc(p.len);
	memset(p.bytes, 0x90, p.len);
	p.bytes[p.len - 65] = 0xc3;
	assert_int_not_equal(translator_translate(c, &source, p.at, true), FRAGMENT_NONE);
	assert_int_equal(c->clears, 0);
	assert_int_equal(segment_at(c->segments, p.at, segment_generation(c->segments))->end,
			 p.at + SPAN_LEN_MAX);
	for (size_t i = 0; i < n; i++)
		wishes[i] = (struct persisted_wish){.pc = p.at + p.len - 64 - 48 * (i + 1)};
	for (size_t i = 0; i < n; i += done) {
		enum persisted_fault fault;

		buf_reset(&bytes);
		done = persisted_make(maker, &source, wishes + i, n - i, wishes[i].pc - p.at,
				      &bytes);
		assert_true(done && bytes.len <= PERSISTED_BYTES);
		assert_int_not_equal(persisted_add(c, &source, wishes[i].pc, wishes[i].pc - p.at,
						   slice_of(bytes.data, bytes.len), &fault),
				     FRAGMENT_NONE);
		for (size_t k = i; k < i + done; k++)
			kept += wishes[k].kept;
	}
	assert_int_equal(kept, n);
	assert_int_equal(c->clears, 0);
	buf_release(&bytes);
	persisted_maker_free(maker);
	code_cache_put(c);
	free(p.bytes);
}

/* What cannot be kept leaves the others alone, also where it is the first. */
static void a_persisted_group_is_without_what_cannot_be_kept(void **state)
{
	struct program p = program_at(HERE);
	struct persisted_wish wishes[] = {{.pc = HERE + p.len - 2},
					  {.pc = HERE + 0x100},
					  {.pc = HERE + p.len + 0x1000},
					  {.pc = HERE + 0x140}};
	struct persisted_maker *maker = persisted_maker_new(&processor, history);
	struct code_cache *c = used_cache(history);
	struct code_source source = program_source(&p);
	struct buf bytes = {0};
	enum persisted_fault fault;

	(void)state;
	memset(p.bytes + 0x100, 0x90, 0x80);
	p.bytes[0x13f] = p.bytes[0x17f] = 0xc3;
	p.bytes[p.len - 2] = 0x90;
	assert_int_equal(persisted_make(maker, &source, wishes, 4, p.len - 2, &bytes), 4);
	assert_false(wishes[0].kept || wishes[2].kept);
	assert_true(wishes[1].kept && wishes[3].kept);
	assert_int_not_equal(persisted_add(c, &source, wishes[3].pc, 0x140,
					   slice_of(bytes.data, bytes.len), &fault),
			     FRAGMENT_NONE);
	assert_int_equal(c->fragment_count, 2);
	assert_int_not_equal(code_cache_find(c, wishes[1].pc), FRAGMENT_NONE);
	buf_release(&bytes);
	persisted_maker_free(maker);
	code_cache_put(c);
	free(p.bytes);
}

/* Others may be running in the cache. */
static void nobody_comes_to_a_fragment_before_it_is_let_in(void **state)
{
	struct program p = program_at(HERE);
	struct wanted *w = calloc(FRAGMENTS, sizeof *w);
	size_t count = collect(w, &p, history);
	struct code_source source = program_source(&p);
	struct code_cache *c = used_cache(history);
	struct fragment fragment = {.checked = true};
	uint32_t waits = 0, number;
	uint8_t *bytes;

	(void)state;
	for (size_t i = 0; i < count && i < 20; i++)
		translator_translate(c, &source, p.at + w[i].offset, w[i].indirect);
	while (c->exits[waits].kind != EXIT_LINK || c->exits[waits].linked != FRAGMENT_NONE)
		waits++;
	fragment.pc = c->exits[waits].target;
	assert_true(code_cache_room(c, 32, CODE_ALIGN, &bytes, &fragment.start));
	memset(bytes, 0xcc, 32);
	fragment.body = fragment.indirect = fragment.start;
	fragment.fresh = fragment.start + 8;
	fragment.end = fragment.start + 32;
	fragment.exit_first = c->exit_count;
	assert_true(code_cache_reserve(c, 1, 0, 0, 0));
	number = code_cache_append(c, &fragment);
	assert_int_equal(c->exits[waits].linked, FRAGMENT_NONE);
	assert_int_equal(c->fragments[number].incoming, EXIT_NONE);
	code_cache_let_in(c, number);
	assert_int_equal(c->exits[waits].linked, number);
	assert_incoming(c, number);
	code_cache_put(c);
	free(w);
	free(p.bytes);
}

static void the_stamp_knows_the_processor(void **state)
{
	const struct processor other = {.fast_pext = false, .lzcnt = true},
			       slow_loop = {.fast_pext = true, .lzcnt = true};

	(void)state;
	assert_int_equal(persisted_stamp(&processor), persisted_stamp(&processor));
	assert_int_not_equal(persisted_stamp(&processor), 0);
	assert_int_not_equal(persisted_stamp(&processor), persisted_stamp(&other));
	assert_int_not_equal(persisted_stamp(&processor), persisted_stamp(&slow_loop));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_persisted_group_makes_what_the_translator_makes),
		cmocka_unit_test(what_is_damaged_or_was_made_of_something_else_is_refused),
		cmocka_unit_test(fragments_that_are_there_stay),
		cmocka_unit_test(long_lines_have_groups),
		cmocka_unit_test(a_persisted_group_is_without_what_cannot_be_kept),
		cmocka_unit_test(nobody_comes_to_a_fragment_before_it_is_let_in),
		cmocka_unit_test(the_stamp_knows_the_processor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
