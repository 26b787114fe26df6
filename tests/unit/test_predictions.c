/* SPDX-License-Identifier: MIT */
/* Predictions of where indirect branches lead, and the code that they rest on. */
#include "tests/unit/unit.h"

#include <string.h>

#include "collector/backend/engine/cache/predictions.h"
#include "collector/backend/engine/persist/persisted_maker.h"
#include "lib/array_size.h"
#include "lib/page.h"
#include "tests/unit/program.h"

enum {
	PAGES = 4, /* of the program; the last one can change at any time */
	MANY = 3000,
};

#define AT 0x5555550de000u

static const struct processor processor;

static const uint8_t *fixed_page(void *arg, uint64_t addr)
{
	return addr - AT >= (PAGES - 1) * BT_PAGE ? NULL : program_page(arg, addr);
}

static bool is_mutable(void *arg, uint64_t addr)
{
	(void)arg;
	return addr - AT >= (PAGES - 1) * BT_PAGE;
}

/* Nothing but nops and these pieces. */
static void write_program(struct program *p)
{
	static const struct {
		size_t at;
		uint8_t bytes[5];
		size_t len;
	} pieces[] = {
		{0x10, {0xc3}, 1},                         /* ret */
		{0x20, {0x74, 0x00}, 2},                   /* je onwards */
		{0x30, {0xe9, 0xdb, 0xff, 0xff, 0xff}, 5}, /* jmp to 10 */
		{0x40, {0xff, 0xe0}, 2},                   /* jmp *rax */
		{0x50, {0xe8, 0xab, 0x0f, 0x00, 0x00}, 5}, /* call 1000 */
		{0x60, {0x90, 0xc2, 0x10, 0x00}, 4},       /* ret $16 */
		{0x100, {0x0f, 0xa2}, 2},                  /* cpuid: not for the cache */
		{0x1000, {0x90, 0x74, 0x00}, 3},           /* je */
		{BT_PAGE * 3 - 32, {0x74, 0x00}, 2},       /* je, near the end of what is fixed */
		{BT_PAGE * 3 - 8,
		 {0x74, 0x00},
		 2}, /* je: whether it is one what comes behind might say */
	};

	memset(p->bytes, 0x90, p->len);
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++)
		memcpy(p->bytes + pieces[i].at, pieces[i].bytes, pieces[i].len);
}

struct world {
	uint8_t bytes[PAGES * BT_PAGE];
	struct program program; /* of those */
	struct code_source source;
	struct code_cache *cache;
};

static struct world *world_new(void)
{
	struct world *w = calloc(1, sizeof *w);

	assert_non_null(w);
	w->program = (struct program){w->bytes, sizeof w->bytes, AT};
	write_program(&w->program);
	w->source = (struct code_source){.read = program_read,
					 .fixed_page = fixed_page,
					 .is_mutable = is_mutable,
					 .arg = &w->program};
	w->cache = code_cache_new(&processor, false, false);
	assert_non_null(w->cache);
	return w;
}

static void world_free(struct world *w)
{
	code_cache_put(w->cache);
	free(w);
}

static bool may_predict(struct world *w, uint64_t from, uint64_t to, struct prediction *g)
{
	return translator_may_predict(w->cache, &w->source, AT + from, to ? AT + to : 0, g);
}

static void make_prediction(struct world *w, uint64_t from, uint64_t to)
{
	struct prediction g;

	assert_true(may_predict(w, from, to, &g));
	assert_true(code_cache_predict(w->cache, &g));
}

static void each_branch_has_its_own(void **state)
{
	struct predictions g = {0}, copy;

	(void)state;
	assert_int_equal(predictions_find(&g, 5), 0);
	assert_null(predictions_get(&g, 0));
	for (uint64_t i = 1; i <= MANY; i++)
		assert_true(predictions_put(
			&g, &(struct prediction){.from = i << 8, .to = i, .len = 1}));
	assert_true(predictions_put(
		&g, &(struct prediction){.from = 7 << 8, .to = 0, .len = 1, .wrong = 1}));
	assert_true(predictions_copy(&copy, &g));
	predictions_release(&g);
	assert_int_equal(predictions_find(&g, 1 << 8), 0);
	for (uint64_t i = 1; i <= MANY; i++)
		assert_int_equal(predictions_find(&copy, i << 8), i == 7 ? 0 : i);
	assert_int_equal(predictions_get(&copy, 7 << 8)->wrong, 1);
	assert_int_equal(copy.count, MANY);
	assert_null(predictions_get(&copy, 1));
	predictions_release(&copy);
}

/* How many predictions rest on [start, end). */
static unsigned resting(const struct predictions *g, uint64_t start, uint64_t end)
{
	unsigned n = 0;

	for (uint32_t i = 0; predictions_next(g, start, end, &i); i++)
		n++;
	return n;
}

static void they_are_found_by_the_code_they_rest_on(void **state)
{
	struct predictions g = {0};

	(void)state;
	assert_int_equal(resting(&g, 0, UINT64_MAX), 0);
	assert_true(predictions_put(
		&g, &(struct prediction){.from = 0x10ffe,
					 .to = 1,
					 .len = 4,
					 .spans = {{0x20000, 0x20010}, {0x41ff0, 0x43010}},
					 .span_count = 2}));
	assert_true(predictions_put(&g, &(struct prediction){.from = 0x50000,
							     .to = 1,
							     .len = 2,
							     .spans = {{0x20008, 0x20020}},
							     .span_count = 1}));
	assert_true(predictions_put(&g, &(struct prediction){.from = 0x60000,
							     .to = 0,
							     .len = 2,
							     .spans = {{0x20008, 0x20020}},
							     .span_count = 1}));
	assert_int_equal(resting(&g, 0, UINT64_MAX), 2);
	assert_int_equal(resting(&g, 0x10000, 0x10ffe), 0);
	assert_int_equal(resting(&g, 0x10000, 0x10fff), 1);
	assert_int_equal(resting(&g, 0x11001, 0x11002), 1);
	assert_int_equal(resting(&g, 0x11002, 0x12000), 0);
	assert_int_equal(resting(&g, 0x2000f, 0x20010), 2);
	assert_int_equal(resting(&g, 0x20010, 0x20011), 1);
	assert_int_equal(resting(&g, 0x42800, 0x42801), 1);
	assert_int_equal(resting(&g, 0x43010, 0x50000), 0);
	assert_int_equal(resting(&g, 0x43010, 0x50001), 1);
	assert_int_equal(resting(&g, 0x20000, 0x20000), 0);
	predictions_release(&g);
}

static bool closes(struct world *w, uint64_t from, uint64_t to)
{
	struct prediction g;

	return may_predict(w, from, to, &g) && g.closes;
}

static void what_closes_a_cycle_without_a_conditional_says_so(void **state)
{
	struct world *w = world_new();
	struct prediction g;

	(void)state;
	assert_true(may_predict(w, 0x10, 0x11, &g)); /* to the conditional at 20 */
	assert_int_equal(g.len, 1);
	assert_int_equal(g.span_count, 1);
	assert_int_equal(g.spans[0].start, AT + 0x11);
	assert_int_equal(g.spans[0].end, AT + 0x22);
	assert_false(g.closes);
	assert_true(closes(w, 0x10, 0x08));
	assert_true(closes(w, 0x10, 0x28));              /* by the jump back */
	assert_true(may_predict(w, 0x10, 0x31 + 4, &g)); /* to a branch that leaves a record */
	make_prediction(w, 0x40, 0x44); /* ... no more: on by the call, to a conditional */
	assert_true(may_predict(w, 0x10, 0x35, &g));
	assert_int_equal(g.span_count, 3);
	make_prediction(w, 0x40, 0x24); /* ... and now back */
	assert_true(closes(w, 0x10, 0x35));
	assert_false(may_predict(w, 0x61, 0x200, &g)); /* too far */
	world_free(w);
}

static void a_cycle_of_indirect_branches_alone_is_not_closed(void **state)
{
	struct world *w = world_new();
	struct prediction g;

	(void)state;
	assert_false(may_predict(w, 0x10, 0x10, &g));
	make_prediction(w, 0x10, 0x40);
	assert_false(may_predict(w, 0x40, 0x10, &g));
	assert_true(closes(w, 0x40, 0x0f)); /* by an instruction that is none */
	world_free(w);
}

/* Where its prediction is wrong, the fragment that begins with the branch makes it. */
static void a_cycle_does_not_begin_with_an_indirect_branch(void **state)
{
	struct world *w = world_new();

	(void)state;
	make_prediction(w, 0x10, 0x30);
	for (int i = 0; i < 2; i++) {
		static const uint64_t begins[] = {0x10, 0x30};
		uint32_t n = translator_translate(w->cache, &w->source, AT + begins[i], true);

		assert_int_equal(w->cache->fragments[n].rounds_end != 0, begins[i] == 0x30);
	}
	world_free(w);
}

static void a_cycle_that_is_predicted_is_one_fragment(void **state)
{
	struct world *w = world_new();
	uint32_t cycle, middle;
	struct prediction other;

	(void)state;
	make_prediction(w, 0x40, 0x24);
	make_prediction(w, 0x10, 0x35); /* closes the cycle from 24 by 30, 10, 35 and 40 */
	cycle = translator_translate(w->cache, &w->source, AT + 0x24, true);
	assert_int_not_equal(w->cache->fragments[cycle].rounds_end, 0);
	assert_true(fragment_counts_rounds(&w->cache->fragments[cycle],
					   w->cache->fragments[cycle].start +
						   w->cache->fragments[cycle].rounds));
	assert_false(fragment_counts_rounds(&w->cache->fragments[cycle],
					    w->cache->fragments[cycle].start));
	assert_false(fragment_counts_rounds(&w->cache->fragments[cycle],
					    w->cache->fragments[cycle].end - 1));
	middle = translator_translate(
		w->cache, &w->source, AT + 0x26,
		true); /* who comes in there is in the cycle when it has been round */
	assert_int_equal(w->cache->fragments[middle].rounds_end, 0);
	other = *predictions_get(&w->cache->predictions, AT + 0x40);
	other.to = 0;
	assert_true(code_cache_predict(w->cache, &other));
	assert_int_equal(predictions_find(&w->cache->predictions, AT + 0x10), 0);
	assert_true(w->cache->fragments[cycle].dead);
	cycle = translator_translate(w->cache, &w->source, AT + 0x24, true);
	assert_int_equal(w->cache->fragments[cycle].rounds_end, 0);
	assert_true(may_predict(w, 0x10, 0x35, &other));
	assert_false(other.closes);
	world_free(w);
}

static void all_lies_on_pages_that_do_not_change(void **state)
{
	struct world *w = world_new();
	struct prediction g;

	(void)state;
	assert_false(may_predict(w, 0x10, 0, &g));
	assert_false(may_predict(w, 0x11, 0x21, &g)); /* no branch */
	assert_false(may_predict(w, 0x20, 0x11, &g)); /* a conditional */
	assert_false(may_predict(w, 0x50, 0x11, &g)); /* a direct call */
	assert_false(may_predict(w, 0x10, 0xf8, &g)); /* to what is not for the cache */
	assert_false(may_predict(w, 0x10, PAGES * BT_PAGE, &g));
	assert_false(may_predict(w, 0x10, (PAGES - 1) * BT_PAGE, &g));
	assert_true(may_predict(w, 0x10, (PAGES - 1) * BT_PAGE - 34, &g));
	assert_false(may_predict(w, 0x10, (PAGES - 1) * BT_PAGE - 8, &g));
	world_free(w);
}

static const struct segment *now_at(const struct world *w, uint64_t pc)
{
	return segment_at(w->cache->segments, AT + pc, segment_generation(w->cache->segments));
}

static void segments_and_fragments_have_them_from_then_on(void **state)
{
	struct world *w = world_new();
	uint32_t old, generation, predicted;
	const struct cache_exit *x;

	(void)state;
	old = translator_translate(w->cache, &w->source, AT + 0x8, true);
	assert_int_equal(now_at(w, 0x8)->to, 0);
	generation = segment_generation(w->cache->segments);
	make_prediction(w, 0x10, 0x11);
	assert_true(w->cache->fragments[old].dead);
	assert_null(now_at(w, 0x8));
	assert_false(segment_has_prediction(segment_at(w->cache->segments, AT + 0x8, generation)));
	predicted = translator_translate(w->cache, &w->source, AT + 0x8, true);
	assert_true(segment_has_prediction(now_at(w, 0x8)));
	assert_int_equal(now_at(w, 0x8)->to, AT + 0x11);
	x = &w->cache->exits[w->cache->fragments[predicted].exit_first +
			     2]; /* behind those of the miss: of its record, of its branch */
	assert_int_equal(x->kind, EXIT_LINK);
	assert_int_equal(x->target, AT + 0x11);
	/* What changes behind the prediction takes it away. */
	assert_false(code_cache_drop(w->cache, AT + 0x22, AT + 0x30));
	assert_int_equal(predictions_find(&w->cache->predictions, AT + 0x10), AT + 0x11);
	code_cache_drop(w->cache, AT + 0x21, AT + 0x22);
	assert_int_equal(predictions_find(&w->cache->predictions, AT + 0x10), 0);
	assert_true(w->cache->fragments[predicted].dead);
	assert_null(now_at(w, 0x8));
	world_free(w);
}

static void groups_have_none(void **state)
{
	struct persisted_maker *maker = persisted_maker_new(&processor, (struct fragment_kind){0});
	struct world *w = world_new();
	struct persisted_wish wishes[] = {{.pc = AT + 0x8, .indirect = true}, {.pc = AT + 0x38}};
	struct buf bytes = {0};
	enum persisted_fault fault;
	uint32_t other;

	(void)state;
	assert_non_null(maker);
	assert_int_equal(persisted_make(maker, &w->source, wishes, 2, 0x8, &bytes), 2);
	assert_true(wishes[0].kept && wishes[1].kept);
	make_prediction(w, 0x10, 0x11);
	assert_int_equal(persisted_add(w->cache, &w->source, AT + 0x8, 0x8,
				       slice_of(bytes.data, bytes.len), &fault),
			 FRAGMENT_NONE);
	assert_int_equal(fault, PERSISTED_UNFIT);
	/* What is kept with it does not suffer. */
	other = persisted_add(w->cache, &w->source, AT + 0x38, 0x38,
			      slice_of(bytes.data, bytes.len), &fault);
	assert_int_not_equal(other, FRAGMENT_NONE);
	assert_int_equal(w->cache->fragments[other].pc, AT + 0x38);
	assert_int_equal(code_cache_find(w->cache, AT + 0x8), FRAGMENT_NONE);
	code_cache_drop(w->cache, AT + 0x11, AT + 0x12);
	assert_int_not_equal(persisted_add(w->cache, &w->source, AT + 0x8, 0x8,
					   slice_of(bytes.data, bytes.len), &fault),
			     FRAGMENT_NONE);
	buf_release(&bytes);
	persisted_maker_free(maker);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_branch_has_its_own),
		cmocka_unit_test(they_are_found_by_the_code_they_rest_on),
		cmocka_unit_test(what_closes_a_cycle_without_a_conditional_says_so),
		cmocka_unit_test(a_cycle_of_indirect_branches_alone_is_not_closed),
		cmocka_unit_test(a_cycle_does_not_begin_with_an_indirect_branch),
		cmocka_unit_test(a_cycle_that_is_predicted_is_one_fragment),
		cmocka_unit_test(all_lies_on_pages_that_do_not_change),
		cmocka_unit_test(segments_and_fragments_have_them_from_then_on),
		cmocka_unit_test(groups_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
