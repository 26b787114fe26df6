/* SPDX-License-Identifier: MIT */
#include "decoder/model/disasm.h"

#include <stdio.h>

#include "lib/array_size.h"
#include "lib/error.h"
#include "tests/unit/unit.h"

/* Distinct values, so that a wrong register shows. */
static const struct bt_regs regs = {
	.rax = 0xffffffff00001000,
	.rbx = 0x2000,
	.rcx = 0x30,
	.rdx = 0x4000,
	.rsi = 0x5000,
	.rdi = 0x6000,
	.rbp = 0x7000,
	.rsp = 0x8000,
	.r8 = 0x9000,
	.r13 = 0xd000,
	.rip = 0xbad,
	.fs_base = 0x7f0000000000,
	.gs_base = 0x6f0000000000,
};

#define CODE(...) .bytes = {__VA_ARGS__}, .len = sizeof((const uint8_t[]){__VA_ARGS__})

struct operand {
	uint64_t addr;
	uint8_t access, size;
	bool implicit;
};

/* What each instruction, standing at 0x401000, is and does. */
static const struct row {
	uint8_t bytes[BT_INSN_MAX];
	size_t len;
	const char *text;
	size_t count;
	struct operand memory[2];
	bool push, pop;
} rows[] = {
	{CODE(0x90), "nop", 0, {{0}}, 0, 0},
	{CODE(0x48, 0x8b, 0x43, 0x10),
	 "mov rax, qword ptr [rbx+0x10]",
	 1,
	 {{0x2010, DISASM_READ, 8, 0}},
	 0,
	 0},
	{CODE(0x89, 0x4c, 0xd5, 0xf0),
	 "mov dword ptr [rbp+rdx*8-0x10], ecx",
	 1,
	 {{0x26ff0, DISASM_WRITE, 4, 0}},
	 0,
	 0},
	{CODE(0xff, 0x0b),
	 "dec dword ptr [rbx]",
	 1,
	 {{0x2000, DISASM_READ | DISASM_WRITE, 4, 0}},
	 0,
	 0},
	{CODE(0x48, 0x39, 0x0b),
	 "cmp qword ptr [rbx], rcx",
	 1,
	 {{0x2000, DISASM_READ, 8, 0}},
	 0,
	 0},
	{CODE(0x43, 0x0f, 0xb6, 0x44, 0x05, 0x00),
	 "movzx eax, byte ptr [r13+r8*1]",
	 1,
	 {{0x16000, DISASM_READ, 1, 0}},
	 0,
	 0},
	{CODE(0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0),
	 "mov rax, qword ptr fs:[0x28]",
	 1,
	 {{0x7f0000000028, DISASM_READ, 8, 0}},
	 0,
	 0},
	{CODE(0x65, 0x88, 0x0b),
	 "mov byte ptr gs:[rbx], cl",
	 1,
	 {{0x6f0000002000, DISASM_WRITE, 1, 0}},
	 0,
	 0},
	{CODE(0x8b, 0x05, 0xfa, 0x0f, 0, 0),
	 "mov eax, dword ptr [0x402000]",
	 1,
	 {{0x402000, DISASM_READ, 4, 0}},
	 0,
	 0},
	{CODE(0x67, 0x8b, 0x04, 0x48),
	 "mov eax, dword ptr [eax+ecx*2]",
	 1,
	 {{0x1060, DISASM_READ, 4, 0}},
	 0,
	 0},
	{CODE(0x48, 0x8d, 0x43, 0x04), "lea rax, [rbx+0x4]", 1, {{0x2004, 0, 8, 0}}, 0, 0},
	{CODE(0x0f, 0x1f, 0x43, 0x00), "nop dword ptr [rbx], eax", 1, {{0x2000, 0, 4, 0}}, 0, 0},
	{CODE(0x0f, 0x18, 0x0b), "prefetcht0 byte ptr [rbx]", 1, {{0x2000, 0, 1, 0}}, 0, 0},
	{CODE(0x50), "push rax", 1, {{0x7ff8, DISASM_WRITE, 8, 1}}, 1, 0},
	{CODE(0xff, 0x74, 0x24, 0x08),
	 "push qword ptr [rsp+0x8]",
	 2,
	 {{0x8008, DISASM_READ, 8, 0}, {0x7ff8, DISASM_WRITE, 8, 1}},
	 1,
	 0},
	{CODE(0x8f, 0x44, 0x24, 0x08),
	 "pop qword ptr [rsp+0x8]",
	 2,
	 {{0x8010, DISASM_WRITE, 8, 0}, {0x8000, DISASM_READ, 8, 1}},
	 0,
	 1},
	{CODE(0x5d), "pop rbp", 1, {{0x8000, DISASM_READ, 8, 1}}, 0, 1},
	{CODE(0xc9), "leave", 1, {{0x7000, DISASM_READ, 8, 1}}, 0, 1},
	{CODE(0xc3), "ret", 1, {{0x8000, DISASM_READ, 8, 1}}, 0, 1},
	{CODE(0xe8, 0xfb, 0x0f, 0, 0), "call 0x402000", 1, {{0x7ff8, DISASM_WRITE, 8, 1}}, 1, 0},
	{CODE(0xff, 0x53, 0x08),
	 "call qword ptr [rbx+0x8]",
	 2,
	 {{0x2008, DISASM_READ, 8, 0}, {0x7ff8, DISASM_WRITE, 8, 1}},
	 1,
	 0},
	{CODE(0xff, 0xd3), "call rbx", 1, {{0x7ff8, DISASM_WRITE, 8, 1}}, 1, 0},
	{CODE(0xff, 0xe0), "jmp rax", 0, {{0}}, 0, 0},
	{CODE(0x75, 0xfe), "jnz 0x401000", 0, {{0}}, 0, 0},
	{CODE(0xf3, 0x48, 0xa5),
	 "rep movsq",
	 2,
	 {{0x6000, DISASM_WRITE, 8, 1}, {0x5000, DISASM_READ, 8, 1}},
	 0,
	 0},
	{CODE(0xaa), "stosb", 1, {{0x6000, DISASM_WRITE, 1, 1}}, 0, 0},
	{CODE(0xd7), "xlat", 1, {{0x2000, DISASM_READ, 1, 1}}, 0, 0},
	{CODE(0x48, 0x0f, 0xa3, 0x33),
	 "bt qword ptr [rbx], rsi",
	 1,
	 {{0x2a00, DISASM_READ, 8, 0}},
	 0,
	 0},
	{CODE(0x0f, 0x0b), "ud2", 0, {{0}}, 0, 0},
	{CODE(0xc5, 0xfd, 0x6f, 0x03),
	 "vmovdqa ymm0, ymmword ptr [rbx]",
	 1,
	 {{0x2000, DISASM_READ, 32, 0}},
	 0,
	 0},
};

static void text_and_operands_of_every_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		char text[DISASM_TEXT_MAX];
		struct disasm d;

		assert_int_equal(disasm_decode(&d, r->bytes, r->len, 0x401000), 0);
		assert_int_equal(d.len, r->len);
		assert_string_equal(disasm_text(&d, NULL, text, sizeof text), r->text);
		if (d.memory_count != r->count || d.push != r->push || d.pop != r->pop)
			fail_msg("%s: %zu operands, push %d, pop %d", text, d.memory_count, d.push,
				 d.pop);
		for (size_t k = 0; k < r->count; k++) {
			const struct disasm_memory *m = &d.memory[k];
			uint64_t addr;

			assert_true(disasm_address(&d, m, &regs, &addr));
			if (addr != r->memory[k].addr || m->access != r->memory[k].access ||
			    m->size != r->memory[k].size || m->implicit != r->memory[k].implicit)
				fail_msg("%s: operand %zu: address %#lx access %d size %d implicit "
					 "%d",
					 text, k, (unsigned long)addr, m->access, m->size,
					 m->implicit);
		}
	}
}

static bool name(void *arg, uint64_t addr, char *out, size_t size)
{
	if (addr != 0x402000)
		return false;
	snprintf(out, size, "%s", (const char *)arg);
	return true;
}

static void expect_text(const struct disasm_style *style, const uint8_t *bytes, size_t n,
			const char *want)
{
	char text[DISASM_TEXT_MAX];
	struct disasm d;

	assert_int_equal(disasm_decode(&d, bytes, n, 0x401000), 0);
	assert_string_equal(disasm_text(&d, style, text, sizeof text), want);
}

static void addresses_get_names(void **state)
{
	static char what[] = "table+0x8";
	struct disasm_style style = {.name = name, .arg = what};
	(void)state;

	expect_text(&style, (const uint8_t *)"\xe8\xfb\x0f\0\0", 5, "call table+0x8");
	expect_text(&style, (const uint8_t *)"\x0f\x84\xfa\x0f\0\0", 6, "jz table+0x8");
	expect_text(&style, (const uint8_t *)"\x8b\x05\xfa\x0f\0\0", 6,
		    "mov eax, dword ptr [table+0x8]");
	expect_text(&style, (const uint8_t *)"\x8b\x05\xfb\x0f\0\0", 6,
		    "mov eax, dword ptr [0x402001]");
	expect_text(&style, (const uint8_t *)"\xff\xe0", 2, "jmp rax");
	style.syntax = DISASM_ATT;
	expect_text(&style, (const uint8_t *)"\xe8\xfb\x0f\0\0", 5, "call table+0x8");
	expect_text(&style, (const uint8_t *)"\x48\x8b\x43\x10", 4, "mov 0x10(%rbx), %rax");
}

static void a_short_buffer_is_not_overrun(void **state)
{
	static char long_name[400];
	struct disasm_style style = {.name = name, .arg = long_name};
	struct disasm d;
	(void)state;

	memset(long_name, 'x', sizeof long_name - 1);
	assert_int_equal(disasm_decode(&d, (const uint8_t *)"\x8b\x05\xfa\x0f\0\0", 6, 0x401000),
			 0);
	for (size_t size = 0; size < 300; size++) {
		char *text = malloc(size + 1);

		disasm_text(&d, &style, text, size);
		if (size)
			assert_true(strlen(text) < size);
		free(text);
	}
}

static void operands_alone_have_a_text(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *text;
	} texts[] = {
		{"\x89\x4c\xd5\xf0", 4, "[rbp+rdx*8-0x10]"},
		{"\x67\x8b\x04\x48", 4, "[eax+ecx*2]"},
		{"\x64\x48\x8b\x04\x25\x28\0\0\0", 9, "fs:[0x28]"},
		{"\x8b\x05\xfa\x0f\0\0", 6, "[rip+0xffa]"},
		{"\x8b\x03", 2, "[rbx]"},
		{"\x50", 1, "[rsp-0x8]"},
		{"\xd7", 1, "[rbx+al]"},
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char text[64];
		struct disasm d;

		assert_int_equal(
			disasm_decode(&d, (const uint8_t *)texts[i].bytes, texts[i].len, 0), 0);
		assert_string_equal(disasm_memory_text(&d.memory[0], text, sizeof text),
				    texts[i].text);
	}
}

static void lanes_of_a_gather_have_no_address(void **state)
{
	struct disasm d;
	uint64_t addr;
	(void)state;

	assert_int_equal(disasm_decode(&d, (const uint8_t *)"\xc4\xe2\x6d\x92\x04\x08", 6, 0), 0);
	assert_int_equal(d.memory_count, 1);
	assert_true(d.memory[0].vector);
	assert_false(disasm_address(&d, &d.memory[0], &regs, &addr));
}

static void what_is_no_instruction_is_an_error(void **state)
{
	char text[DISASM_TEXT_MAX];
	struct disasm d;
	(void)state;

	assert_int_equal(disasm_decode(&d, (const uint8_t *)"\x06", 1, 0), -BT_E_CORRUPT);
	assert_int_equal(disasm_decode(&d, (const uint8_t *)"\xe8\0", 2, 0), -BT_E_TRUNCATED);
	assert_int_equal(disasm_decode(&d, (const uint8_t *)"", 0, 0), -BT_E_TRUNCATED);
	assert_int_equal(d.len, 0);
	assert_string_equal(disasm_text(&d, NULL, text, sizeof text), "(bad)");
}

static void results_are_of_whole_registers(void **state)
{
	enum {
		RAX = offsetof(struct bt_regs, rax) / 8,
		RDI = offsetof(struct bt_regs, rdi) / 8,
		RDX = offsetof(struct bt_regs, rdx) / 8
	};
	static const struct {
		uint8_t bytes[BT_INSN_MAX];
		size_t len;
		struct disasm_result result;
	} cases[] = {
		/* mov rax, rdi; mov eax, edi; mov rax, [rdi]; mov eax, [rdi]; mov ax, di */
		{CODE(0x48, 0x89, 0xf8), {DISASM_COPY, RAX, RDI, false, 8, 0}},
		{CODE(0x89, 0xf8), {DISASM_COPY, RAX, RDI, false, 4, 0}},
		{CODE(0x48, 0x8b, 0x07), {DISASM_COPY, RAX, DISASM_NO_REG, false, 8, 0}},
		{CODE(0x8b, 0x07), {DISASM_COPY, RAX, DISASM_NO_REG, false, 4, 0}},
		{CODE(0x66, 0x89, 0xf8), {0}},
		/* mov eax, -1; mov rax, -1; movzx eax, dil; movzx eax, dh */
		{CODE(0xb8, 0xff, 0xff, 0xff, 0xff),
		 {DISASM_COPY, RAX, DISASM_NO_REG, true, 8, UINT32_MAX}},
		{CODE(0x48, 0xc7, 0xc0, 0xff, 0xff, 0xff, 0xff),
		 {DISASM_COPY, RAX, DISASM_NO_REG, true, 8, UINT64_MAX}},
		{CODE(0x40, 0x0f, 0xb6, 0xc7), {DISASM_COPY, RAX, RDI, false, 1, 0}},
		{CODE(0x0f, 0xb6, 0xc6), {0}},
		/* movsxd rax, edi; movsxd rax, [rdi]; cdqe; movsx eax, dil */
		{CODE(0x48, 0x63, 0xc7), {DISASM_EXTEND, RAX, RDI, false, 4, 0}},
		{CODE(0x48, 0x63, 0x07), {DISASM_EXTEND, RAX, DISASM_NO_REG, false, 4, 0}},
		{CODE(0x48, 0x98), {DISASM_EXTEND, RAX, RAX, false, 4, 0}},
		{CODE(0x40, 0x0f, 0xbe, 0xc7), {0}},
		/* add rax, rdx; add eax, edx; add rax, -8; add [rax], rdx; shl rax, 3 */
		{CODE(0x48, 0x01, 0xd0), {DISASM_ADD, RAX, RDX, false, 8, 0}},
		{CODE(0x01, 0xd0), {0}},
		{CODE(0x48, 0x83, 0xc0, 0xf8),
		 {DISASM_ADD, RAX, DISASM_NO_REG, true, 8, (uint64_t)-8}},
		{CODE(0x48, 0x01, 0x10), {0}},
		{CODE(0x48, 0xc1, 0xe0, 0x03), {DISASM_SHIFT_UP, RAX, DISASM_NO_REG, true, 8, 3}},
		/* mov rax, fs; mov rax, cr0 */
		{CODE(0x48, 0x8c, 0xe0), {0}},
		{CODE(0x0f, 0x20, 0xc0), {0}},
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct disasm_result *wanted = &cases[i].result;
		struct disasm d;

		assert_int_equal(disasm_decode(&d, cases[i].bytes, cases[i].len, 0x401000), 0);
		assert_int_equal(d.result.effect, wanted->effect);
		if (!wanted->effect)
			continue;
		assert_int_equal(d.result.to, wanted->to);
		assert_int_equal(d.result.from, wanted->from);
		assert_int_equal(d.result.is_number, wanted->is_number);
		assert_int_equal(d.result.size, wanted->size);
		assert_int_equal(d.result.number, wanted->number);
	}
}

static void any_bytes_are_survived(void **state)
{
	uint64_t random = 1;
	(void)state;

	for (int i = 0; i < 200000; i++) {
		uint64_t words[2] = {unit_random(&random), unit_random(&random)}, addr;
		char text[DISASM_TEXT_MAX];
		struct disasm d;

		if (disasm_decode(&d, (const uint8_t *)words, 15, unit_random(&random)))
			continue;
		disasm_text(&d, NULL, text, sizeof text);
		assert_true(*text);
		for (size_t k = 0; k < d.memory_count; k++)
			if (!disasm_address(&d, &d.memory[k], &regs, &addr))
				assert_true(d.memory[k].vector);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_and_operands_of_every_row),
		cmocka_unit_test(addresses_get_names),
		cmocka_unit_test(a_short_buffer_is_not_overrun),
		cmocka_unit_test(operands_alone_have_a_text),
		cmocka_unit_test(lanes_of_a_gather_have_no_address),
		cmocka_unit_test(what_is_no_instruction_is_an_error),
		cmocka_unit_test(results_are_of_whole_registers),
		cmocka_unit_test(any_bytes_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
