/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include "collector/history/record_copy.h"

enum {
	RECORDS = 300,
	ROUNDS = 2000,
};

/* What the records say, by the definition in branch_log.h. */
static struct record_sums expected(const struct branch_log_record *records, size_t n)
{
	struct record_sums s = {0};

	for (size_t i = 0; i < n; i++) {
		for (uint64_t bits = records[i].bits; bits > 1; bits >>= 1)
			s.ticks++;
		s.arrivals +=
			branch_log_is_indirect(&records[i]) || records[i].kind == BRANCH_LOG_LOOP;
		s.bad |= !records[i].bits || records[i].bits >> 63 ||
			 records[i].kind > BRANCH_LOG_MISS;
	}
	return s;
}

static uint64_t below(uint64_t *state, uint64_t end) { return unit_random(state) % end; }

/* Copies a piece that begins and ends anywhere, by one way; nothing beside it may change. */
static void check(record_copy_fn *copy, const struct branch_log_record *records, uint64_t *state)
{
	static struct branch_log_record to[RECORDS];
	static const struct branch_log_record untouched = {.bits = 0x5555555555555555,
							   .to = 0x5555555555555555};
	size_t first = below(state, 20), n = below(state, RECORDS - first);
	struct branch_log_record written[RECORDS];
	struct record_sums want = expected(records + first, n), got;

	for (size_t i = 0; i < RECORDS; i++) {
		to[i] = untouched;
		written[i] = records[i];
		written[i].bits = ~records[i].bits;
	}
	got = copy(to + first, written + first, n);
	assert_int_equal(got.bad, want.bad);
	assert_int_equal(got.arrivals, want.arrivals);
	if (!want.bad)
		assert_int_equal(got.ticks, want.ticks);
	for (size_t i = 0; i < RECORDS; i++)
		assert_memory_equal(&to[i], i >= first && i < first + n ? &records[i] : &untouched,
				    sizeof to[i]);
}

static void check_all(const struct branch_log_record *records, uint64_t *state)
{
	struct processor p = processor_probe();

	check(record_copy_by_bsr, records, state);
	if (p.lzcnt)
		check(record_copy_by_lzcnt, records, state);
	if (p.lzcnt && p.avx2)
		check(record_copy_by_pairs, records, state);
	if (p.vector_lzcnt)
		check(record_copy_by_vector, records, state);
	check(record_copy_best(&p), records, state);
}

static void fill(struct branch_log_record *records, uint64_t *state)
{
	for (size_t i = 0; i < RECORDS; i++)
		records[i] = (struct branch_log_record){
			.bits = (unit_random(state) | 1ull << 63) >> (1 + below(state, 63)),
			.segment = (uint32_t)unit_random(state),
			.kind = (uint32_t)(below(state, 2) ? below(state, BRANCH_LOG_LOOP)
							   : BRANCH_LOG_LOOP + below(state, 3))};
}

static void every_way_copies_and_counts_the_same(void **state)
{
	struct branch_log_record records[RECORDS];
	uint64_t random = 1;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		fill(records, &random);
		check_all(records, &random);
	}
}

static void one_bad_record_is_seen_wherever_it_is(void **state)
{
	static const uint32_t kinds[] = {BRANCH_LOG_MISS + 1, 0x7fffffff, 0x80000000, UINT32_MAX};
	struct branch_log_record records[RECORDS];
	uint64_t random = 1;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		fill(records, &random);
		if (round % 2)
			records[below(&random, RECORDS)].bits =
				round % 4 == 1 ? 0 : 1ull << 63 | unit_random(&random);
		else
			records[below(&random, RECORDS)].kind = kinds[below(&random, 4)];
		check_all(records, &random);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_way_copies_and_counts_the_same),
		cmocka_unit_test(one_bad_record_is_seen_wherever_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
