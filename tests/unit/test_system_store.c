/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include "lib/array_size.h"
#include "lib/insn.h"
#include "lib/system_store.h"

static const struct bt_regs before = {.rip = 0x401000,
				      .rax = 0x1111222233334444,
				      .rbx = 0x7000,
				      .r9 = 0x100000010,
				      .r12 = 3,
				      .fs_base = 0x900000};

#define B(...) {__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__})

static void memory_is_found_by_each_form_of_an_address(void **state)
{
	static const struct {
		uint8_t bytes[BT_INSN_MAX];
		uint8_t len;
		uint64_t addr;
		size_t n;
		uint8_t first, last;
	} rows[] = {
		{B(0x0f, 0x01, 0x03), 0x7000, 10, 0, 0xff},              /* sgdt [rbx] */
		{B(0x0f, 0x01, 0x4b, 0xf8), 0x6ff8, 10, 0, 0xff},        /* sidt [rbx-8] */
		{B(0x0f, 0x01, 0x25, 4, 0, 0, 0), 0x40100b, 2, 0x33, 0}, /* smsw [rip+4] */
		{B(0x64, 0x43, 0x0f, 0x00, 0x0c, 0xe1), 0x100900028, 2, 0x40,
		 0},                                              /* str fs:[r9+r12*8] */
		{B(0x67, 0x41, 0x0f, 0x00, 0x01), 0x10, 2, 0, 0}, /* sldt [r9d] */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bt_system_store s;

		assert_true(bt_system_store_decode(rows[i].bytes, rows[i].len, &before, &s));
		assert_int_equal(s.addr, rows[i].addr);
		assert_int_equal(s.n, rows[i].n);
		assert_int_equal(s.bytes[0], rows[i].first);
		assert_int_equal(s.bytes[s.n - 1], rows[i].last);
		assert_int_equal(s.regs.rip, before.rip + rows[i].len);
		assert_int_equal(s.regs.rax, before.rax);
	}
}

static void xsave_and_its_like_store_at_their_operand(void **state)
{
	static const struct {
		uint8_t bytes[BT_INSN_MAX];
		uint8_t len;
		uint64_t addr; /* 0: it is none of them */
	} rows[] = {
		{B(0x0f, 0xae, 0x23), 0x7000},                        /* xsave [rbx] */
		{B(0x48, 0x0f, 0xae, 0x35, 4, 0, 0, 0), 0x40100c},    /* xsaveopt64 [rip+4] */
		{B(0x4b, 0x0f, 0xc7, 0x64, 0xe1, 0x40), 0x100000068}, /* xsavec64 [r9+r12*8+64] */
		{B(0x0f, 0xae, 0x03), 0},                             /* fxsave [rbx] */
		{B(0x0f, 0xae, 0x2b), 0},                             /* xrstor [rbx] */
		{B(0x66, 0x0f, 0xae, 0xf0), 0},                       /* tpause eax */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t addr = 0;

		assert_int_equal(bt_saved_parts_address(rows[i].bytes, rows[i].len, &before, &addr),
				 rows[i].addr != 0);
		assert_int_equal(addr, rows[i].addr);
	}
}

static void registers_get_as_many_bytes_as_the_operand_has(void **state)
{
	static const struct {
		uint8_t bytes[BT_INSN_MAX];
		uint8_t len;
		uint64_t rax;
	} rows[] = {
		{B(0x0f, 0x01, 0xe0), 0x1111222280050033},       /* smsw eax */
		{B(0x48, 0x0f, 0x01, 0xe0), 0x80050033},         /* smsw rax */
		{B(0x66, 0x0f, 0x01, 0xe0), 0x1111222233330033}, /* smsw ax */
		{B(0x48, 0x0f, 0x00, 0xc8), 0x40},               /* str rax */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bt_system_store s;

		assert_true(bt_system_store_decode(rows[i].bytes, rows[i].len, &before, &s));
		assert_int_equal(s.n, 0);
		assert_int_equal(s.regs.rax, rows[i].rax);
	}
}

static void other_instructions_are_none(void **state)
{
	static const uint8_t others[][3] = {{0x90}, {0x0f, 0x31}, {0x0f, 0x01, 0xd0}, {0xfa}};
	struct bt_system_store s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(bt_system_store_decode(others[i], sizeof others[i], &before, &s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_found_by_each_form_of_an_address),
		cmocka_unit_test(xsave_and_its_like_store_at_their_operand),
		cmocka_unit_test(registers_get_as_many_bytes_as_the_operand_has),
		cmocka_unit_test(other_instructions_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
