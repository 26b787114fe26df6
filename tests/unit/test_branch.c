/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include "lib/branch.h"
#include "lib/error.h"

static void assert_same(const struct bt_branch *a, const struct bt_branch *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->cycles, b->cycles);
	assert_true(a->from == b->from);
	assert_true(a->to == b->to);
}

static void assert_roundtrip(const struct bt_branch *entries, size_t n)
{
	struct bt_branch_codec enc = {0}, dec = {0};
	struct buf b = {0};
	struct bt_branch got;
	struct slice s;

	for (size_t i = 0; i < n; i++)
		bt_branch_encode(&enc, &b, &entries[i]);
	s = slice_of(b.data, b.len);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(bt_branch_decode(&dec, &s, &got), 1);
		assert_same(&entries[i], &got);
	}
	assert_int_equal(bt_branch_decode(&dec, &s, &got), 0);
	buf_release(&b);
}

static void every_kind_with_every_flag_roundtrips(void **state)
{
	struct bt_branch entries[BT_BRANCH_KINDS * 8 * 2];
	size_t n = 0;

	(void)state;
	for (unsigned kind = 0; kind < BT_BRANCH_KINDS; kind++)
		for (unsigned flags = 0; flags < 8; flags++)
			for (unsigned cycles = 0; cycles < 2; cycles++, n++)
				entries[n] = (struct bt_branch){
					.from = 0x401000 + n * 5,
					.to = kind == BT_BRANCH_GAP ? flags % BT_GAP_REASONS
								    : 0x401100 + n,
					.kind = (uint8_t)kind,
					.flags = (uint8_t)flags,
					.cycles = cycles ? 0xffff : 0,
				};
	assert_roundtrip(entries, n);
}

static void random_addresses_roundtrip(void **state)
{
	static struct bt_branch entries[1000];
	uint64_t seed = 1;

	(void)state;
	for (size_t i = 0; i < 1000; i++) {
		uint64_t r = unit_random(&seed);

		entries[i] = (struct bt_branch){
			.from = unit_random(&seed) >> (r & 63),
			.to = unit_random(&seed) >> (r >> 6 & 63),
			.kind = (uint8_t)(r % BT_BRANCH_KINDS),
			.flags = (uint8_t)(r >> 20 & 7),
			.cycles = (uint16_t)(r >> 32),
		};
		if (entries[i].kind == BT_BRANCH_GAP)
			entries[i].to %= BT_GAP_REASONS;
	}
	assert_roundtrip(entries, 1000);
}

static void near_branches_are_small(void **state)
{
	struct bt_branch_codec c = {0};
	struct buf b = {0};
	struct bt_branch loop = {
		.from = 0x401010, .to = 0x401000, .kind = BT_BRANCH_JCC, .flags = BT_BRANCH_TAKEN};

	(void)state;
	bt_branch_encode(&c, &b, &loop);
	b.len = 0;
	bt_branch_encode(&c, &b, &loop);
	assert_int_equal(b.len, 3);
	buf_release(&b);
}

static void assert_corrupt(const void *bytes, size_t n)
{
	struct bt_branch_codec c = {.last = 7};
	struct bt_branch got;
	struct slice s = slice_of(bytes, n);

	memset(&got, 0xff, sizeof got);
	assert_int_equal(bt_branch_decode(&c, &s, &got), -BT_E_CORRUPT);
	assert_same(&got, &(struct bt_branch){0});
	assert_true(c.last == 7);
	/* and it stays at its end */
	assert_int_equal(bt_branch_decode(&c, &s, &got), -BT_E_CORRUPT);
}

static void no_entry_is_corrupt(void **state)
{
	static const uint8_t unknown_kind[] = {15, 0, 0}, cut[] = {0x10, 2},
			     lookahead_only[] = {0x10};
	static const uint8_t unknown_gap[] = {BT_BRANCH_GAP, 0, 100};
	static const uint8_t many_cycles[] = {0x90, 0, 0, 0x80, 0x80, 0x04}; /* 65536 */
	static const uint8_t no_cycles[] = {0x90, 0, 0};
	static const uint8_t overlong[] = {0x10, 0xff, 0xff, 0xff, 0xff, 0xff,
					   0xff, 0xff, 0xff, 0xff, 0x7f, 0};

	(void)state;
	assert_corrupt(unknown_kind, sizeof unknown_kind);
	assert_corrupt(cut, sizeof cut);
	assert_corrupt(lookahead_only, sizeof lookahead_only);
	assert_corrupt(unknown_gap, sizeof unknown_gap);
	assert_corrupt(many_cycles, sizeof many_cycles);
	assert_corrupt(no_cycles, sizeof no_cycles);
	assert_corrupt(overlong, sizeof overlong);
}

static void gaps_do_not_move_the_deltas(void **state)
{
	struct bt_branch a = {.from = 0x1000, .to = 0x2000, .kind = BT_BRANCH_JMP, .flags = 1};
	struct bt_branch gap = {.from = 0, .to = BT_GAP_OVERWRITTEN, .kind = BT_BRANCH_GAP};
	struct bt_branch_codec c = {0};
	struct buf b = {0};

	(void)state;
	bt_branch_encode(&c, &b, &a);
	bt_branch_encode(&c, &b, &gap);
	assert_true(c.last == 0x2000);
	buf_release(&b);
}

static void names_are_there(void **state)
{
	(void)state;
	for (unsigned i = 0; i < BT_BRANCH_KINDS; i++)
		assert_true(bt_branch_info[i].name && *bt_branch_info[i].name &&
			    bt_branch_info[i].text);
	for (unsigned i = 0; i < BT_GAP_REASONS; i++)
		assert_true(bt_gap_info[i].name && *bt_gap_info[i].name && bt_gap_info[i].text);
	assert_false(bt_branch_info[BT_BRANCH_JCC].transfer);
	for (unsigned i = BT_BRANCH_JMP; i <= BT_BRANCH_ASYNC; i++)
		assert_true(bt_branch_info[i].transfer);
	assert_true(BT_BRANCH_KINDS <= 16); /* the lead byte has four bits for it */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_with_every_flag_roundtrips),
		cmocka_unit_test(random_addresses_roundtrip),
		cmocka_unit_test(near_branches_are_small),
		cmocka_unit_test(no_entry_is_corrupt),
		cmocka_unit_test(gaps_do_not_move_the_deltas),
		cmocka_unit_test(names_are_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
