/* SPDX-License-Identifier: MIT */
/* A short loop around operands beside its code does nothing in its rounds that one of them would
 * have to wait for the last one's: it touches nothing in the context but for what its safe point
 * asks. */
#include "tests/unit/unit.h"

#include <string.h>

#include "collector/backend/engine/cache/layout.h"
#include "collector/backend/engine/x86/x86.h"
#include "tests/unit/program.h"

#define AT 0x5555550de000u

/* Where an instruction's operand in the context is; CTX_SIZE: it has none there. addr: where the
 * instruction runs. */
static uint32_t context_operand(const struct x86_insn *x, const uint8_t *bytes, uint64_t addr)
{
	uint64_t target = addr + x->len + (uint64_t)x->displacement - region_address(0);
	uint32_t absolute;

	if (x->traits & X86_RIP_RELATIVE)
		return target < CTX_SIZE ? (uint32_t)target : CTX_SIZE;
	if (bytes[0] != 0x65 || x->disp_size != sizeof absolute) /* gs */
		return CTX_SIZE;
	memcpy(&absolute, bytes + x->disp_at, sizeof absolute);
	return absolute < CTX_SIZE ? absolute : CTX_SIZE;
}

/* Of the fragment: the conditional that leads back into it, and where to. */
static bool find_loop(const struct code_cache *c, const struct fragment *frag, uint32_t *begin,
		      uint32_t *end)
{
	struct x86_insn x;

	for (uint32_t at = frag->body; at < frag->end && !x86_decode(c->code + at, BT_INSN_MAX, &x);
	     at += x.len) {
		*begin = (uint32_t)(at + x.len + x.displacement);
		*end = at;
		if (x.class == BT_INSN_JCC && *begin >= frag->start && *begin < at)
			return true;
		if (x.class == BT_INSN_JMP) /* over what comes in at the branch back */
			at += (uint32_t)x.displacement;
	}
	return false;
}

/* Wherever the lent register has just got the address, the state map says so, or that the task is
 * to be stepped on. */
static void look_at_places(const struct code_cache *c, const struct fragment *frag, uint64_t base)
{
	struct x86_insn x;
	uint64_t constant;
	int n = 0;

	for (uint32_t at = frag->body; at < frag->end && !x86_decode(c->code + at, BT_INSN_MAX, &x);
	     at += x.len) {
		const struct fragment *found;
		const struct state_entry *p;
		struct state_entry room;

		if (x.imm_size != sizeof constant)
			continue;
		memcpy(&constant, c->code + at + x.imm_at, sizeof constant);
		if (constant != base)
			continue;
		p = code_cache_state_at(c, at + x.len, &found, &room);
		assert_true(p && p->state & (STATE_SPILLED | STATE_BETWEEN));
		n++;
	}
	assert_true(
		n); /* before the loop, and behind its safe point where the task goes on there */
}

/* How often the loop's rounds touch the context but for a safe point's look. */
static int touches(const uint8_t *code, size_t len, uint64_t operand_at, bool ticks, bool apart)
{
	const struct processor processor = {.fast_pext = true, .rorx = true};
	uint8_t page[PROGRAM_PAGE];
	struct program program = {page, sizeof page, AT};
	struct code_source source = program_source(&program);
	struct code_cache *c = code_cache_new(&processor, apart, false);
	uint32_t fragment, begin = 0, end = 0;
	struct x86_insn x;
	int n = 0;

	assert_non_null(c);
	c->kind.ticks = ticks;
	c->kind.apart = apart;
	memset(page, 0xc3, sizeof page);
	memcpy(page, code, len);
	fragment = translator_translate(c, &source, AT, false);
	if (fragment != FRAGMENT_NONE && !c->fragments[fragment].checked &&
	    code_cache_supersede(c, AT)) /* its branch back waits for a safe point */
		fragment = translator_translate(c, &source, AT, false);
	assert_true(fragment != FRAGMENT_NONE);
	assert_true(find_loop(c, &c->fragments[fragment], &begin, &end));
	for (uint32_t at = begin; at < end; at += x.len) {
		uint32_t operand;

		assert_int_equal(x86_decode(c->code + at, BT_INSN_MAX, &x), 0);
		operand = context_operand(&x, c->code + at, region_address(CODE_AT + at));
		n += operand != CTX_SIZE && operand != CTX_LIMIT && operand != CTX_MASK;
	}
	look_at_places(c, &c->fragments[fragment], operand_at);
	code_cache_put(c);
	return n;
}

static void rounds_touch_only_the_safe_point(void **state)
{
	static const uint8_t increments[] = {
		0x48, 0xff, 0x05, 0, 1, 0, 0,    0x48,
		0x39, 0x1d, 0xf9, 0, 0, 0, 0x72, 0xf0}; /* inc [x]; cmp [x], rbx; jb */
	static const uint8_t compiled[] = {
		0x48, 0x8b, 0x15, 0,    1,    0,    0,    0x48, 0x83, 0xc2, 1,
		0x48, 0x89, 0x15, 0xf5, 0,    0,    0,    0x48, 0x8b, 0x15, 0xee,
		0,    0,    0,    0x48, 0x39, 0xc2, 0x72, 0xe2}; /* mov rdx, [x]; add rdx, 1; mov
								    [x], rdx; mov rdx, [x]; cmp rdx,
								    rax; jb */

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		assert_int_equal(
			touches(increments, sizeof increments, AT + 0x107, kind & 1, kind & 2), 0);
		assert_int_equal(touches(compiled, sizeof compiled, AT + 0x107, kind & 1, kind & 2),
				 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds_touch_only_the_safe_point),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
