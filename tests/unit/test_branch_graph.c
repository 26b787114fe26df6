/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include "lib/array_size.h"
#include "lib/branch_graph.h"

enum {
	PLACES = 60,
	MANY = 20000,
};

struct entries {
	struct bt_branch *at;
	size_t count, cap;
};

static void add(struct entries *e, unsigned kind, uint64_t from, uint64_t to)
{
	if (e->count == e->cap) {
		e->cap = e->cap ? 2 * e->cap : 64;
		e->at = realloc(e->at, e->cap * sizeof *e->at);
		assert_non_null(e->at);
	}
	e->at[e->count++] =
		(struct bt_branch){.from = from,
				   .to = to,
				   .kind = (uint8_t)kind,
				   .flags = bt_branch_kind_is_branch(kind) ? BT_BRANCH_TAKEN : 0};
}

static struct buf graph_of(const struct entries *e)
{
	struct branch_graph g = {0};
	struct buf out = {0};

	for (size_t i = 0; i < e->count; i++)
		branch_graph_add(&g, &e->at[i]);
	assert_true(branch_graph_encode(&g, &out));
	assert_true(out.len <= branch_graph_size(&g));
	branch_graph_release(&g);
	return out;
}

/* Returns the bytes of the graph, and forgets the entries. */
static size_t assert_roundtrip(struct entries *e)
{
	struct buf bytes = graph_of(e);
	struct branch_graph_reader r;
	struct bt_branch b;
	size_t len = bytes.len;

	assert_int_equal(branch_graph_reader_init(&r, slice_of(bytes.data, bytes.len)), 0);
	for (size_t i = 0; i < e->count; i++) {
		assert_int_equal(branch_graph_reader_next(&r, &b), 1);
		assert_memory_equal(&b, &e->at[i], sizeof b);
	}
	branch_graph_reader_release(&r);
	buf_release(&bytes);
	free(e->at);
	*e = (struct entries){0};
	return len;
}

static void no_entry_is_a_graph(void **state)
{
	struct entries e = {0};

	(void)state;
	assert_roundtrip(&e);
}

/* A program of random blocks that calls, returns, and is interrupted. */
static void random_programs_roundtrip(void **state)
{
	static const uint8_t kinds[] = {BT_BRANCH_JCC,  BT_BRANCH_JCC,   BT_BRANCH_JCC,
					BT_BRANCH_JMP,  BT_BRANCH_CALL,  BT_BRANCH_RET,
					BT_BRANCH_IJMP, BT_BRANCH_ICALL, BT_BRANCH_SYSCALL};
	uint64_t seed = 7, stack[8], pc = 0x401000;

	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		struct entries e = {0};
		unsigned depth = 0;

		while (e.count < MANY / 10) {
			uint64_t any = unit_random(&seed), block = (pc - 0x401000) / 64,
				 from = pc / 64 * 64 + (pc % 64 > 40 ? 56 : 40),
				 far = 0x401000 + any % PLACES * 64 + (any >> 32) % 2 * 8,
				 fixed = 0x401000 + block * 7 % PLACES * 64;
			unsigned kind = kinds[(block * 5 + round) % ARRAY_SIZE(kinds)];

			if (any >> 40 == 1 || any % 97 == 0)
				add(&e, BT_BRANCH_EPOCH, 0, any % 5);
			if (any % 101 == 0)
				add(&e, BT_BRANCH_GAP, any % 7, BT_GAP_LOST);
			if (any % 103 == 0) {
				add(&e, BT_BRANCH_ASYNC, pc, far);
				pc = far;
				continue;
			}
			if (kind == BT_BRANCH_JCC && any >> 33 & 1) {
				add(&e, kind, from, from + 2);
				e.at[e.count - 1].flags = 0;
				pc = from + 2;
				pc = any % 3 ? pc : 0x401000; /* a gap that nobody tells of */
				continue;
			}
			if (kind == BT_BRANCH_RET && depth && any % 16)
				far = stack[--depth];
			if (graph_kind_calls(kind) && depth < 8)
				stack[depth++] = from + 5;
			pc = kind <= BT_BRANCH_CALL ? fixed : far;
			add(&e, kind, from, pc);
			if (any % 53 == 0)
				e.at[e.count - 1].cycles = 7;
			if (any % 59 == 0)
				e.at[e.count - 1].flags |= BT_BRANCH_PREDICTION_KNOWN;
		}
		assert_roundtrip(&e);
	}
}

static void entries_without_sense_roundtrip(void **state)
{
	struct entries e = {0};
	uint64_t seed = 3;

	(void)state;
	for (unsigned i = 0; i < MANY; i++) {
		uint64_t any = unit_random(&seed);

		add(&e, (unsigned)(any % BT_BRANCH_KINDS), any >> (any % 60),
		    unit_random(&seed) >> (any >> 20) % 62);
		if (e.at[i].kind == BT_BRANCH_GAP)
			e.at[i].to %= BT_GAP_REASONS;
		e.at[i].flags = any >> 50 & 7;
		e.at[i].cycles = any >> 53 & 1 ? (uint16_t)any : 0;
	}
	assert_roundtrip(&e);
}

/* A function that is called from two places. Returns the bytes of the graph. */
static size_t size_of_calls(unsigned rounds)
{
	struct entries e = {0};

	add(&e, BT_BRANCH_JMP, 0x900, 0x1000); /* a literal */
	for (unsigned i = 0; i < rounds; i++) {
		add(&e, BT_BRANCH_CALL, 0x1000, 0x2000);
		add(&e, BT_BRANCH_RET, 0x2010, 0x1005);
		add(&e, BT_BRANCH_CALL, 0x1020, 0x2000);
		add(&e, BT_BRANCH_RET, 0x2010, 0x1025);
		add(&e, BT_BRANCH_JMP, 0x1030, 0x1000);
	}
	return assert_roundtrip(&e);
}

static void what_code_tells_takes_no_bytes(void **state)
{
	(void)state;
	assert_int_equal(size_of_calls(MANY), size_of_calls(2));
}

static void a_conditional_takes_a_bit(void **state)
{
	struct entries e = {0};
	uint64_t seed = 1;

	(void)state;
	for (unsigned i = 0; i < MANY; i++) {
		bool taken = unit_random(&seed) & 1;

		add(&e, BT_BRANCH_JCC, 0x1010, taken ? 0x1000 : 0x1012);
		e.at[i].flags = taken;
		if (!taken)
			add(&e, BT_BRANCH_JMP, 0x1020, 0x1000);
		i += !taken;
	}
	assert_true(assert_roundtrip(&e) < MANY / 8 + 100);
}

static void more_targets_than_a_branch_can_have_are_literals(void **state)
{
	struct entries e = {0};

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		add(&e, BT_BRANCH_IJMP, 0x1000, 0x2000 + i % 700 * 16);
		add(&e, BT_BRANCH_JMP, 0x2008 + i % 700 * 16, 0x1000);
	}
	assert_roundtrip(&e);
}

static void calls_deeper_than_the_known_ones_return(void **state)
{
	struct entries e = {0};

	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		for (unsigned i = 0; i < 3 * BRANCH_GRAPH_CALLS; i++)
			add(&e, BT_BRANCH_CALL, 0x1000 + i * 16, 0x1010 + i * 16);
		for (unsigned i = 3 * BRANCH_GRAPH_CALLS; i-- > 0;)
			add(&e, BT_BRANCH_RET,
			    0x1000 + i * 16 + (i == 3 * BRANCH_GRAPH_CALLS - 1 ? 24 : 8),
			    0x1005 + i * 16);
		add(&e, BT_BRANCH_JMP, 0x1007, 0x1000);
	}
	assert_roundtrip(&e);
}

/* Reads as many entries as there are, at most `most`. Returns the last result. */
static int read_all(struct slice bytes, size_t most)
{
	struct branch_graph_reader r;
	struct bt_branch b;
	int rc = branch_graph_reader_init(&r, bytes);

	for (size_t i = 0; rc == 0 && i < most; i++) {
		rc = branch_graph_reader_next(&r, &b);
		assert_true(rc == 1 || rc == -BT_E_CORRUPT);
		assert_true(b.kind < BT_BRANCH_KINDS);
		rc = rc == 1 ? 0 : rc;
	}
	branch_graph_reader_release(&r);
	return rc;
}

static struct buf small_graph(size_t *count)
{
	struct entries e = {0};
	struct buf bytes;

	for (unsigned i = 0; i < 40; i++) {
		add(&e, BT_BRANCH_CALL, 0x1000, 0x2000);
		add(&e, BT_BRANCH_JCC, 0x2004, i % 3 ? 0x2010 : 0x2006);
		e.at[e.count - 1].flags = i % 3 != 0;
		if (i % 3 == 0)
			add(&e, BT_BRANCH_IJMP, 0x2008, 0x2010 + i % 2 * 4);
		add(&e, BT_BRANCH_RET, 0x2020, 0x1005);
		add(&e, BT_BRANCH_SYSCALL, 0x1008, 0x100a);
		add(&e, BT_BRANCH_JMP, 0x100c, 0x1000);
	}
	*count = e.count;
	bytes = graph_of(&e);
	free(e.at);
	return bytes;
}

static void a_graph_that_ends_early_is_damaged(void **state)
{
	size_t count;
	struct buf bytes = small_graph(&count);

	(void)state;
	assert_int_equal(read_all(slice_of(bytes.data, bytes.len), count), 0);
	assert_int_equal(read_all(slice_of(bytes.data, bytes.len), 2 * count), -BT_E_CORRUPT);
	for (size_t len = 0; len < bytes.len; len++) {
		uint8_t *copy =
			malloc(len + 1); /* for the sanitizers: its end is that of the bytes */

		memcpy(copy, bytes.data, len);
		copy = realloc(copy, len ? len : 1);
		assert_int_equal(read_all(slice_of(copy, len), count), -BT_E_CORRUPT);
		free(copy);
	}
	buf_release(&bytes);
}

static void changed_bytes_are_read_to_an_end(void **state)
{
	size_t count;
	struct buf bytes = small_graph(&count);

	(void)state;
	for (size_t i = 0; i < bytes.len; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			bytes.data[i] ^= 1u << bit;
			(void)read_all(slice_of(bytes.data, bytes.len), 4 * count);
			bytes.data[i] ^= 1u << bit;
		}
	buf_release(&bytes);
}

#define GRAPH(text) slice_of(text, sizeof text - 1)

/* Each is one place or two, at 0x10 and 0x20, and a literal that leads to the first. */
static void each_fault_is_damage(void **state)
{
	static const char *const why[] = {"good",
					  "unknown kind",
					  "places that do not grow",
					  "a place that is not there",
					  "no choice left",
					  "choice that no target has",
					  "a literal to no place",
					  "more places than bytes",
					  "a column longer than the graph",
					  "no branch is known"};
	/* count, lengths of: starts froms behinds takens fans counts bits bytes */
	const struct slice graphs[] = {GRAPH("\x01\x01\x01\x00\x01\x00\x00\x00\x00"
					     "\x21"
					     "\x20"
					     "\x04"
					     "\x00"
					     "\x00\x11\x02\x1e"),
				       GRAPH("\x01\x01\x01\x00\x01\x00\x00\x00\x00"
					     "\x29"
					     "\x20"
					     "\x04"
					     "\x00"
					     "\x00\x11\x02\x1e"),
				       GRAPH("\x02\x02\x02\x00\x02\x00\x00\x00\x00"
					     "\x21\x21"
					     "\x20\x07"
					     "\x04\x04"
					     "\x00\x00"
					     "\x00\x11\x02\x1e"),
				       GRAPH("\x01\x01\x01\x00\x01\x00\x00\x00\x00"
					     "\x21"
					     "\x20"
					     "\x04"
					     "\x02"
					     "\x00\x11\x02\x1e"),
				       GRAPH("\x01\x01\x01\x01\x01\x00\x01\x01\x00"
					     "\x30"
					     "\x20"
					     "\x04"
					     "\x00"
					     "\x00"
					     "\x01"
					     "\x01"
					     "\x00\x11\x02\x1e"),
				       GRAPH("\x01\x01\x01\x00\x02\x01\x01\x00\x01"
					     "\x24"
					     "\x20"
					     "\x04"
					     "\x00\x00"
					     "\x02"
					     "\x01"
					     "\x02"
					     "\x00\x11\x02\x1e"),
				       GRAPH("\x01\x01\x01\x00\x01\x00\x00\x00\x00"
					     "\x21"
					     "\x20"
					     "\x04"
					     "\x00"
					     "\x00\x11\x02\x1c"),
				       GRAPH("\x7f\x01\x01\x00\x01\x00\x00\x00\x00"
					     "\x21"
					     "\x20"
					     "\x04"
					     "\x00"
					     "\x00\x11\x02\x1e"),
				       GRAPH("\x01\x01\x01\x7f\x01\x00\x00\x00\x00"
					     "\x21"
					     "\x20"
					     "\x04"
					     "\x00"
					     "\x00\x11\x02\x1e"),
				       GRAPH("\x01\x01\x00\x00\x00\x00\x00\x00\x00"
					     "\x0f"
					     "\x20"
					     "\x00\x11\x02\x1e")};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(graphs); i++) {
		int rc = read_all(graphs[i], 3);

		if (rc != (i ? -BT_E_CORRUPT : 0))
			fail_msg("%s: %d", why[i], rc);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_entry_is_a_graph),
		cmocka_unit_test(random_programs_roundtrip),
		cmocka_unit_test(entries_without_sense_roundtrip),
		cmocka_unit_test(what_code_tells_takes_no_bytes),
		cmocka_unit_test(a_conditional_takes_a_bit),
		cmocka_unit_test(more_targets_than_a_branch_can_have_are_literals),
		cmocka_unit_test(calls_deeper_than_the_known_ones_return),
		cmocka_unit_test(a_graph_that_ends_early_is_damaged),
		cmocka_unit_test(changed_bytes_are_read_to_an_end),
		cmocka_unit_test(each_fault_is_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
