/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "lib/array_size.h"
#include "lib/error.h"
#include "lib/insn.h"

struct row {
	const char *text;
	uint8_t bytes[BT_INSN_MAX];
	uint8_t len;
	uint8_t class;
	uint16_t traits;
	int64_t displacement;
};

#define B(...) {__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__})

static const struct row rows[] = {
	{"nop", B(0x90), BT_INSN_PLAIN, 0, 0},
	{"endbr64", B(0xf3, 0x0f, 0x1e, 0xfa), BT_INSN_PLAIN, 0, 0},
	{"pause", B(0xf3, 0x90), BT_INSN_PLAIN, 0, 0},
	{"ud2", B(0x0f, 0x0b), BT_INSN_PLAIN, 0, 0},
	{"hlt", B(0xf4), BT_INSN_PLAIN, 0, 0},
	{"lea rax,[rip+0x10]", B(0x48, 0x8d, 0x05, 0x10, 0, 0, 0), BT_INSN_PLAIN, 0, 0},
	{"cmovz eax,ebx", B(0x0f, 0x44, 0xc3), BT_INSN_PLAIN, 0, 0},
	{"setz al", B(0x0f, 0x94, 0xc0), BT_INSN_PLAIN, 0, 0},
	{"rdtsc", B(0x0f, 0x31), BT_INSN_PLAIN, BT_TRAIT_OWN_RESULT, 0},
	{"rdrand r8", B(0x49, 0x0f, 0xc7, 0xf0), BT_INSN_PLAIN, BT_TRAIT_OWN_RESULT, 0},
	{"cpuid", B(0x0f, 0xa2), BT_INSN_PLAIN, BT_TRAIT_OWN_RESULT, 0},
	{"rdpid rax", B(0xf3, 0x0f, 0xc7, 0xf8), BT_INSN_PLAIN, BT_TRAIT_OWN_RESULT, 0},
	{"mov ax,ss (reads ss)", B(0x8c, 0xd0), BT_INSN_PLAIN, 0, 0},
	{"mov ds,ax", B(0x8e, 0xd8), BT_INSN_PLAIN, 0, 0},
	{"mov ss,ax", B(0x8e, 0xd0), BT_INSN_PLAIN, BT_TRAIT_LOADS_SS, 0},
	{"mov ss,[rsp]", B(0x8e, 0x14, 0x24), BT_INSN_PLAIN, BT_TRAIT_LOADS_SS, 0},
	{"pushf", B(0x9c), BT_INSN_PLAIN, BT_TRAIT_PUSHF, 0},
	{"pushfw", B(0x66, 0x9c), BT_INSN_PLAIN, BT_TRAIT_PUSHF, 0},
	{"popf", B(0x9d), BT_INSN_PLAIN, BT_TRAIT_POPF, 0},
	{"popfw", B(0x66, 0x9d), BT_INSN_PLAIN, BT_TRAIT_POPF, 0},
	{"movsb", B(0xa4), BT_INSN_PLAIN, 0, 0},
	{"rep movsb", B(0xf3, 0xa4), BT_INSN_PLAIN, BT_TRAIT_REP, 0},
	{"rep stosq", B(0xf3, 0x48, 0xab), BT_INSN_PLAIN, BT_TRAIT_REP, 0},
	{"repe cmpsb", B(0xf3, 0xa6), BT_INSN_PLAIN, BT_TRAIT_REP, 0},
	{"repne scasb", B(0xf2, 0xae), BT_INSN_PLAIN, BT_TRAIT_REP, 0},
	{"addsd (f2 is no repeat here)", B(0xf2, 0x0f, 0x58, 0xc1), BT_INSN_PLAIN, 0, 0},
	{"int3", B(0xcc), BT_INSN_PLAIN, BT_TRAIT_BREAKPOINT, 0},
	{"int1", B(0xf1), BT_INSN_PLAIN, BT_TRAIT_BREAKPOINT, 0},
	{"int 0x21", B(0xcd, 0x21), BT_INSN_PLAIN, BT_TRAIT_BREAKPOINT, 0},
	{"sgdt [rsp-32]", B(0x0f, 0x01, 0x44, 0x24, 0xe0), BT_INSN_PLAIN, BT_TRAIT_EMULATED, 0},
	{"sidt [rax]", B(0x0f, 0x01, 0x08), BT_INSN_PLAIN, BT_TRAIT_EMULATED, 0},
	{"smsw rax", B(0x48, 0x0f, 0x01, 0xe0), BT_INSN_PLAIN, BT_TRAIT_EMULATED, 0},
	{"sldt ax", B(0x66, 0x0f, 0x00, 0xc0), BT_INSN_PLAIN, BT_TRAIT_EMULATED, 0},
	{"str [rax]", B(0x0f, 0x00, 0x08), BT_INSN_PLAIN, BT_TRAIT_EMULATED, 0},
	{"cli", B(0xfa), BT_INSN_PLAIN, BT_TRAIT_EMULATED, 0},
	{"sti", B(0xfb), BT_INSN_PLAIN, BT_TRAIT_EMULATED, 0},
	{"lgdt [rax]", B(0x0f, 0x01, 0x10), BT_INSN_PLAIN, 0, 0},
	{"verr ax", B(0x0f, 0x00, 0xe0), BT_INSN_PLAIN, 0, 0},
	{"xgetbv", B(0x0f, 0x01, 0xd0), BT_INSN_PLAIN, BT_TRAIT_OWN_RESULT, 0},
	{"vmcall", B(0x0f, 0x01, 0xc1), BT_INSN_PLAIN, 0, 0},
	{"xbegin: an abort is no ordinary branch", B(0xc7, 0xf8, 0x10, 0, 0, 0), BT_INSN_PLAIN,
	 BT_TRAIT_BEGINS, 0x10},
	{"xend", B(0x0f, 0x01, 0xd5), BT_INSN_PLAIN, 0, 0},
	{"jrcxz", B(0xe3, 0x10), BT_INSN_JRCXZ, 0, 0x10},
	{"jecxz", B(0x67, 0xe3, 0xf0), BT_INSN_JRCXZ, 0, -0x10},
	{"loop", B(0xe2, 0xfe), BT_INSN_LOOP, 0, -2},
	{"loope", B(0xe1, 0x04), BT_INSN_LOOP, 0, 4},
	{"loopne", B(0xe0, 0x04), BT_INSN_LOOP, 0, 4},
	{"jmp short", B(0xeb, 0x7f), BT_INSN_JMP, 0, 0x7f},
	{"jmp near", B(0xe9, 0, 0, 0, 0x80), BT_INSN_JMP, 0, INT32_MIN},
	{"jmp rax", B(0xff, 0xe0), BT_INSN_IJMP, 0, 0},
	{"notrack jmp rax", B(0x3e, 0xff, 0xe0), BT_INSN_IJMP, 0, 0},
	{"bnd jmp rax", B(0xf2, 0xff, 0xe0), BT_INSN_IJMP, 0, 0},
	{"jmp [rip+0]", B(0xff, 0x25, 0, 0, 0, 0), BT_INSN_IJMP, 0, 0},
	{"bnd jmp [rip+0] (plt)", B(0xf2, 0xff, 0x25, 0, 0, 0, 0), BT_INSN_IJMP, 0, 0},
	{"jmp far [rax]", B(0xff, 0x28), BT_INSN_IJMP, 0, 0},
	{"call near", B(0xe8, 0x10, 0, 0, 0), BT_INSN_CALL, 0, 0x10},
	{"bnd call near", B(0xf2, 0xe8, 0x10, 0, 0, 0), BT_INSN_CALL, 0, 0x10},
	{"call rax", B(0xff, 0xd0), BT_INSN_ICALL, 0, 0},
	{"call r11", B(0x41, 0xff, 0xd3), BT_INSN_ICALL, 0, 0},
	{"call [rbx+8]", B(0xff, 0x53, 8), BT_INSN_ICALL, 0, 0},
	{"notrack call rax", B(0x3e, 0xff, 0xd0), BT_INSN_ICALL, 0, 0},
	{"call far [rax]", B(0xff, 0x18), BT_INSN_ICALL, 0, 0},
	{"ret", B(0xc3), BT_INSN_RET, 0, 0},
	{"rep ret", B(0xf3, 0xc3), BT_INSN_RET, 0, 0},
	{"bnd ret", B(0xf2, 0xc3), BT_INSN_RET, 0, 0},
	{"ret 8", B(0xc2, 8, 0), BT_INSN_RET, 0, 0},
	{"retf", B(0xcb), BT_INSN_RET, 0, 0},
	{"retf 8", B(0xca, 8, 0), BT_INSN_RET, 0, 0},
	{"iretq", B(0x48, 0xcf), BT_INSN_IRET, 0, 0},
	{"iretd", B(0xcf), BT_INSN_IRET, 0, 0},
	{"syscall", B(0x0f, 0x05), BT_INSN_SYSCALL, 0, 0},
	{"sysenter", B(0x0f, 0x34), BT_INSN_SYSCALL, BT_TRAIT_COMPAT, 0},
	{"fnstenv [rsp+8]", B(0xd9, 0x74, 0x24, 8), BT_INSN_PLAIN, BT_TRAIT_SAVES_X87, 0},
	{"fldenv [rsp+8]", B(0xd9, 0x64, 0x24, 8), BT_INSN_PLAIN, 0, 0},
	{"fnsave [rax]", B(0xdd, 0x30), BT_INSN_PLAIN, BT_TRAIT_SAVES_X87, 0},
	{"fxsave [rax]", B(0x0f, 0xae, 0x00), BT_INSN_PLAIN, BT_TRAIT_SAVES_X87, 0},
	{"fxsave64 [rax]", B(0x48, 0x0f, 0xae, 0x00), BT_INSN_PLAIN, BT_TRAIT_SAVES_X87, 0},
	{"xsave64 [rax]", B(0x48, 0x0f, 0xae, 0x20), BT_INSN_PLAIN,
	 BT_TRAIT_SAVES_X87 | BT_TRAIT_SAVES_PARTS, 0},
	{"xsaveopt [rax]", B(0x0f, 0xae, 0x30), BT_INSN_PLAIN,
	 BT_TRAIT_SAVES_X87 | BT_TRAIT_SAVES_PARTS, 0},
	{"xsavec64 [rax]", B(0x48, 0x0f, 0xc7, 0x20), BT_INSN_PLAIN,
	 BT_TRAIT_SAVES_X87 | BT_TRAIT_SAVES_PARTS, 0},
	{"int 0x80", B(0xcd, 0x80), BT_INSN_SYSCALL, BT_TRAIT_COMPAT, 0},
};

static void known_instructions(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		struct bt_insn insn;
		int rc = bt_insn_decode(r->bytes, r->len, &insn);

		if (rc || insn.len != r->len || insn.class != r->class ||
		    insn.traits != r->traits || insn.displacement != r->displacement)
			fail_msg("%s: rc %d, length %u, class %u, traits %u, displacement %lld",
				 r->text, rc, insn.len, insn.class, insn.traits,
				 (long long)insn.displacement);
	}
}

static void every_jcc_short_and_near(void **state)
{
	(void)state;
	for (unsigned cc = 0; cc < 16; cc++) {
		uint8_t near_[] = {0x0f, (uint8_t)(0x80 + cc), 0x78, 0x56, 0x34, 0x12},
			short_[] = {(uint8_t)(0x70 + cc), 0x80};
		uint8_t hinted[] = {0x3e, (uint8_t)(0x70 + cc), 0x10};
		struct bt_insn insn;

		assert_int_equal(bt_insn_decode(near_, sizeof near_, &insn), 0);
		assert_int_equal(insn.class, BT_INSN_JCC);
		assert_int_equal(insn.len, 6);
		assert_true(insn.displacement == 0x12345678);
		assert_int_equal(bt_insn_decode(short_, sizeof short_, &insn), 0);
		assert_int_equal(insn.class, BT_INSN_JCC);
		assert_int_equal(insn.len, 2);
		assert_true(insn.displacement == -128);
		assert_int_equal(bt_insn_decode(hinted, sizeof hinted, &insn), 0);
		assert_int_equal(insn.class, BT_INSN_JCC);
		assert_int_equal(insn.len, 3);
	}
}

static void code_of_32_bits_has_its_own_lengths(void **state)
{
	static const struct {
		uint8_t bytes[6], n, class;
	} codes[] = {
		{{0x40}, 1, BT_INSN_PLAIN},
		{{0x49}, 1, BT_INSN_PLAIN},
		{{0x06}, 1, BT_INSN_PLAIN},
		{{0xa1, 1, 2, 3, 4}, 5, BT_INSN_PLAIN}, /* inc, dec, push, mov */
		{{0x75, 0xf0}, 2, BT_INSN_JCC},
		{{0xe3, 2}, 2, BT_INSN_JRCXZ},
		{{0xe8, 1, 0, 0, 0}, 5, BT_INSN_CALL},
		{{0xcb}, 1, BT_INSN_RET},
		{{0xcd, 0x80}, 2, BT_INSN_SYSCALL},
		{{0x0f, 0x34}, 2, BT_INSN_SYSCALL},
		{{0xcf}, 1, BT_INSN_IRET},
	};
	struct bt_insn insn;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		assert_int_equal(bt_insn_decode_32(codes[i].bytes, codes[i].n, &insn), 0);
		assert_int_equal(insn.len, codes[i].n);
		assert_int_equal(insn.class, codes[i].class);
		assert_int_equal(bt_insn_decode_32(codes[i].bytes, codes[i].n - 1u, &insn),
				 -BT_E_TRUNCATED);
	}
}

static void cut_and_invalid_are_told_apart(void **state)
{
	static const uint8_t invalid[] = {0x06, 0, 0, 0, 0, 0, 0, 0,
					  0,    0, 0, 0, 0, 0, 0}; /* push es: not in 64-bit mode */
	struct bt_insn insn;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (uint8_t n = 0; n < rows[i].len; n++) {
			int rc = bt_insn_decode(rows[i].bytes, n, &insn);

			/* a prefix of an instruction may be a shorter instruction, but is never
			 * longer than it is */
			if (rc)
				assert_int_equal(rc, -BT_E_TRUNCATED);
			else
				assert_true(insn.len <= n);
		}
	memset(&insn, 0xff, sizeof insn);
	assert_int_equal(bt_insn_decode(invalid, sizeof invalid, &insn), -BT_E_CORRUPT);
	assert_int_equal(insn.len, 0);
	assert_int_equal(insn.class, BT_INSN_PLAIN);
}

static void classes_map_to_kinds_and_ticks(void **state)
{
	(void)state;
	assert_int_equal(bt_insn_branch_kind(BT_INSN_PLAIN), -1);
	for (unsigned c = BT_INSN_JCC; c <= BT_INSN_LOOP; c++) {
		assert_int_equal(bt_insn_branch_kind(c), BT_BRANCH_JCC);
		assert_int_equal(bt_insn_tick_class(c), 1u << (c - BT_INSN_JCC));
	}
	for (unsigned c = BT_INSN_JMP; c < BT_INSN_CLASSES; c++) {
		assert_int_equal(bt_insn_tick_class(c), 0);
		assert_true(bt_insn_branch_kind(c) > BT_BRANCH_JCC);
	}
	assert_int_equal(bt_insn_branch_kind(BT_INSN_IRET), BT_BRANCH_RET);
	assert_int_equal(bt_insn_branch_kind(BT_INSN_SYSCALL), BT_BRANCH_SYSCALL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_instructions),
		cmocka_unit_test(every_jcc_short_and_near),
		cmocka_unit_test(code_of_32_bits_has_its_own_lengths),
		cmocka_unit_test(cut_and_invalid_are_told_apart),
		cmocka_unit_test(classes_map_to_kinds_and_ticks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
