/* SPDX-License-Identifier: MIT */
/* A small interpreter. spin_look() copies the task's registers and executes instructions on them,
 * each by a row of a table. It reads memory through spin_reader, once for each word; the loop's
 * writes change only the copy.
 *
 * Whenever execution is back at the address where it began, the state is kept. After an even number
 * of returns the two halves are compared: both must have executed the same instructions and touched
 * the same addresses, and each register and word must have stayed, or have grown by the same number
 * in both, flags aside (kind_of_round()). With no growth the loop is SPIN_FIXED, else SPIN_COUNTS.
 *
 * An instruction without a row, more than VISITS visits, or a loop that neither reads memory nor
 * pauses is work: SPIN_NOT. */
#include "collector/backend/engine/spin.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "collector/backend/engine/x86/operand.h"
#include "lib/array_size.h"

enum {
	VISITS = 1024, /* instructions and accesses to memory that are looked at, at most */
	RETURNS = 64,  /* to where it begins, likewise: an inner loop has several in a round of the
			  outer one */
	WORDS = 32,    /* of memory */
	WORD = 8,
	DECODED = 64, /* instructions of a loop that are decoded once */
};

/* AF is not kept: nothing here reads it. */
enum { FLAGS = EFLAGS_CF | EFLAGS_PF | EFLAGS_ZF | EFLAGS_SF | EFLAGS_OF };

struct word {
	uint64_t addr, was, is;
};

struct visit {
	uint64_t pc, addr; /* of memory; 0: the instruction itself */
};

struct spin_insn;

struct decoded {
	uint64_t pc;
	struct x86_insn insn;
	uint8_t bytes[BT_INSN_MAX + 1];
	const struct spin_insn *row; /* NULL: it is not for us */
};

struct spin_machine {
	const struct spin_reader *reader;
	struct bt_regs regs;
	struct word words[WORDS];
	size_t word_count;
	struct visit visits[VISITS];
	size_t visit_count;
	size_t returned[RETURNS + 1]; /* number of visits at each return */
	struct state {
		struct bt_regs regs;
		uint64_t memory[WORDS];
	} states[RETURNS + 1];
	size_t returns;
	uint64_t ticks;
	bool waits;                      /* it has read memory that it addresses, or paused */
	bool over;                       /* this is not for us */
	struct decoded decoded[DECODED]; /* a cache: the newest instruction with these low bits of
					    its address, so no lib/hash_table */
	/* The instruction on the way. */
	struct x86_insn insn;
	const uint8_t *bytes;
	uint64_t pc;
	unsigned size; /* of its operands, in bytes */
};

/* ---- Memory ---- */

static void visit_memory(struct spin_machine *m, uint64_t addr)
{
	if (m->visit_count == VISITS)
		m->over = true;
	else
		m->visits[m->visit_count++] = (struct visit){m->pc, addr};
}

/* The aligned word at addr. NULL: it cannot be had, and it is over. */
static struct word *word_at(struct spin_machine *m, uint64_t addr)
{
	struct word *w = m->words;

	for (; w < m->words + m->word_count; w++)
		if (w->addr == addr)
			return w;
	if (m->word_count == WORDS ||
	    m->reader->memory(m->reader->arg, addr, (uint8_t *)&w->was, WORD) != WORD) {
		m->over = true;
		return NULL;
	}
	w->addr = addr;
	w->is = w->was;
	m->word_count++;
	return w;
}

static uint64_t load_memory(struct spin_machine *m, uint64_t addr, unsigned size)
{
	uint64_t value = 0;

	visit_memory(m, addr);
	for (unsigned i = 0; i < size; i++) {
		const struct word *w = word_at(m, (addr + i) & ~(uint64_t)(WORD - 1));

		if (w)
			value |= (w->is >> 8 * ((addr + i) % WORD) & 0xff) << 8 * i;
	}
	return value;
}

static void store_memory(struct spin_machine *m, uint64_t addr, unsigned size, uint64_t value)
{
	visit_memory(m, addr);
	for (unsigned i = 0; i < size; i++) {
		struct word *w = word_at(m, (addr + i) & ~(uint64_t)(WORD - 1));
		unsigned bit = 8 * (unsigned)((addr + i) % WORD);

		if (w)
			w->is = (w->is & ~(UINT64_C(0xff) << bit)) | (value >> 8 * i & 0xff) << bit;
	}
}

static void push_value(struct spin_machine *m, uint64_t value)
{
	m->regs.rsp -= WORD;
	store_memory(m, m->regs.rsp, WORD, value);
}

static uint64_t pop_value(struct spin_machine *m)
{
	uint64_t value = load_memory(m, m->regs.rsp, WORD);

	m->regs.rsp += WORD;
	return value;
}

/* ---- Operands ---- */

static uint64_t operand_mask(unsigned size) { return UINT64_MAX >> (64 - 8 * size); }

static uint64_t sign_extended(uint64_t value, unsigned size)
{
	uint64_t sign = UINT64_C(1) << (8 * size - 1);

	return ((value & operand_mask(size)) ^ sign) - sign;
}

/* AH and its like. */
static bool is_high_byte(const struct spin_machine *m, unsigned reg, unsigned size)
{
	return size == 1 && !m->insn.rex && reg >= 4;
}

static uint64_t get_register(struct spin_machine *m, unsigned reg, unsigned size)
{
	m->over |= is_high_byte(m, reg, size);
	return *operand_register(&m->regs, reg) & operand_mask(size);
}

static void set_register(struct spin_machine *m, unsigned reg, unsigned size, uint64_t value)
{
	uint64_t *r = operand_register(&m->regs, reg), keep = size < 4 ? ~operand_mask(size) : 0;

	m->over |= is_high_byte(m, reg, size);
	*r = (*r & keep) | (value & operand_mask(size));
}

static unsigned insn_modrm(const struct spin_machine *m) { return m->bytes[m->insn.modrm_at]; }
static bool in_memory(const struct spin_machine *m) { return insn_modrm(m) < 0xc0; }
static unsigned modrm_group(const struct spin_machine *m)
{
	return insn_modrm(m) >> 3 & 7;
} /* the operation among those that share the opcode */
static unsigned reg_field(const struct spin_machine *m)
{
	return modrm_group(m) | (m->insn.rex & 4) << 1;
}
static unsigned rm_field(const struct spin_machine *m)
{
	return (insn_modrm(m) & 7) | (m->insn.rex & 1) << 3;
}
static unsigned low_register(const struct spin_machine *m)
{
	return (m->insn.opcode & 7) | (m->insn.rex & 1) << 3;
}
static uint64_t spin_address(struct spin_machine *m)
{
	return operand_address(&m->insn, m->bytes, &m->regs, m->pc);
}

static uint64_t get_rm(struct spin_machine *m, unsigned size)
{
	if (!in_memory(m))
		return get_register(m, rm_field(m), size);
	m->waits = true;
	return load_memory(m, spin_address(m), size);
}

static void set_rm(struct spin_machine *m, uint64_t value)
{
	if (in_memory(m))
		store_memory(m, spin_address(m), m->size, value);
	else
		set_register(m, rm_field(m), m->size, value);
}

/* The immediate, with its sign. */
static uint64_t insn_immediate(const struct spin_machine *m)
{
	uint64_t value = 0;

	memcpy(&value, m->bytes + m->insn.imm_at, m->insn.imm_size);
	return m->insn.imm_size ? sign_extended(value, m->insn.imm_size) : 0;
}

/* ---- Flags ---- */

static void set_result_flags(struct spin_machine *m, uint64_t result, bool carry, bool overflow)
{
	uint64_t sign = UINT64_C(1) << (8 * m->size - 1), flags = 0;

	result &= operand_mask(m->size);
	flags |= carry ? EFLAGS_CF : 0;
	flags |= overflow ? EFLAGS_OF : 0;
	flags |= result ? 0 : EFLAGS_ZF;
	flags |= result & sign ? EFLAGS_SF : 0;
	flags |= __builtin_parityll(result & 0xff) ? 0 : EFLAGS_PF;
	m->regs.eflags = (m->regs.eflags & ~(uint64_t)FLAGS) | flags;
}

static bool condition_holds(const struct spin_machine *m)
{
	uint64_t f = m->regs.eflags;
	bool less = !(f & EFLAGS_SF) != !(f & EFLAGS_OF);
	const bool met[8] = {
		f & EFLAGS_OF, f & EFLAGS_CF, f & EFLAGS_ZF, f & (EFLAGS_CF | EFLAGS_ZF),
		f & EFLAGS_SF, f & EFLAGS_PF, less,          less || f & EFLAGS_ZF};

	return met[m->insn.opcode >> 1 & 7] != (m->insn.opcode & 1);
}

/* ---- Arithmetic ---- */

enum { ADD, OR, ADC, SBB, AND, SUB, XOR, CMP };

static uint64_t compute_result(struct spin_machine *m, unsigned what, uint64_t a, uint64_t b)
{
	uint64_t mask = operand_mask(m->size), r = 0;

	a &= mask;
	b &= mask;
	switch (what) {
	case ADD:
		r = (a + b) & mask;
		set_result_flags(m, r, r < a, ((a ^ r) & (b ^ r)) >> (8 * m->size - 1));
		return r;
	case SUB:
	case CMP:
		r = (a - b) & mask;
		set_result_flags(m, r, a < b, ((a ^ b) & (a ^ r)) >> (8 * m->size - 1));
		return r;
	case OR:
		r = a | b;
		break;
	case AND:
		r = a & b;
		break;
	case XOR:
		r = a ^ b;
		break;
	default:
		m->over = true;
	}
	set_result_flags(m, r, false, false);
	return r;
}

static void run_arithmetic(struct spin_machine *m)
{
	unsigned what = m->insn.opcode >> 3, form = m->insn.opcode & 7;
	bool to_register = form == 2 || form == 3;
	uint64_t result;

	if (form >= 6) {
		m->over = true;
	} else if (form >= 4) {
		result = compute_result(m, what, m->regs.rax, insn_immediate(m));
		if (what != CMP)
			set_register(m, X86_RAX, m->size, result);
	} else {
		uint64_t rm = get_rm(m, m->size), reg = get_register(m, reg_field(m), m->size);

		result = to_register ? compute_result(m, what, reg, rm)
				     : compute_result(m, what, rm, reg);
		if (what != CMP && to_register)
			set_register(m, reg_field(m), m->size, result);
		else if (what != CMP)
			set_rm(m, result);
	}
}

static void arithmetic_immediate(struct spin_machine *m)
{
	uint64_t result = compute_result(m, modrm_group(m), get_rm(m, m->size), insn_immediate(m));

	if (modrm_group(m) != CMP)
		set_rm(m, result);
}

static void run_increment(struct spin_machine *m)
{
	uint64_t carry = m->regs.eflags & EFLAGS_CF,
		 result = compute_result(m, modrm_group(m) ? SUB : ADD, get_rm(m, m->size), 1);

	m->regs.eflags = (m->regs.eflags & ~(uint64_t)EFLAGS_CF) | carry;
	set_rm(m, result);
}

static void run_test(struct spin_machine *m)
{
	compute_result(m, AND, get_rm(m, m->size), get_register(m, reg_field(m), m->size));
}
static void test_accumulator(struct spin_machine *m)
{
	compute_result(m, AND, m->regs.rax, insn_immediate(m));
}

/* Shifts to the left and right; the others have flags of their own. */
static void run_shift(struct spin_machine *m)
{
	unsigned n = (m->insn.opcode < 0xd0 ? (unsigned)insn_immediate(m) : 1) &
		     (m->size == 8 ? 63 : 31);
	uint64_t value = get_rm(m, m->size), result = modrm_group(m) == 4 ? value << n : value >> n;

	if ((modrm_group(m) != 4 && modrm_group(m) != 5) || !n || n >= 8 * m->size)
		m->over = true;
	else
		set_result_flags(
			m, result,
			(modrm_group(m) == 4 ? value >> (8 * m->size - n) : value >> (n - 1)) & 1,
			false);
	set_rm(m, result);
}

/* BT and BTS of a bit that the instruction names. */
static void bit_test(struct spin_machine *m)
{
	unsigned bit = (unsigned)insn_immediate(m) & (8 * m->size - 1);
	uint64_t value = get_rm(m, m->size);

	m->regs.eflags = (m->regs.eflags & ~(uint64_t)EFLAGS_CF) | (value >> bit & 1);
	if (modrm_group(m) == 5)
		set_rm(m, value | UINT64_C(1) << bit);
	m->over |= modrm_group(m) != 4 && modrm_group(m) != 5;
}

/* ---- Moves ---- */

static void run_move(struct spin_machine *m)
{
	if (m->insn.opcode & 2)
		set_register(m, reg_field(m), m->size, get_rm(m, m->size));
	else
		set_rm(m, get_register(m, reg_field(m), m->size));
}

static void move_immediate(struct spin_machine *m) { set_rm(m, insn_immediate(m)); }

static void move_constant(struct spin_machine *m)
{
	set_register(m, low_register(m), m->size, insn_immediate(m));
}

/* MOVZX, MOVSX, MOVSXD. */
static void move_extended(struct spin_machine *m)
{
	unsigned from = m->insn.map == X86_MAP_1 ? 4 : m->insn.opcode & 1 ? 2 : 1;
	bool sign = m->insn.map == X86_MAP_1 || m->insn.opcode & 8;
	uint64_t value;

	value = get_rm(m, from);
	set_register(m, reg_field(m), m->size, sign ? sign_extended(value, from) : value);
}

/* CBW, CWDE, CDQE. */
static void extend_accumulator(struct spin_machine *m)
{
	set_register(m, X86_RAX, m->size, sign_extended(m->regs.rax, m->size / 2));
}

static void move_if(struct spin_machine *m)
{
	uint64_t value = get_rm(m, m->size);

	set_register(m, reg_field(m), m->size,
		     condition_holds(m) ? value : get_register(m, reg_field(m), m->size));
}

static void set_if(struct spin_machine *m) { set_rm(m, condition_holds(m)); }

static void load_address(struct spin_machine *m)
{
	set_register(m, reg_field(m), m->size, spin_address(m));
}

static void run_exchange(struct spin_machine *m)
{
	uint64_t rm = get_rm(m, m->size), reg = get_register(m, reg_field(m), m->size);

	set_rm(m, reg);
	set_register(m, reg_field(m), m->size, rm);
}

static void exchange_add(struct spin_machine *m)
{
	uint64_t rm = get_rm(m, m->size), reg = get_register(m, reg_field(m), m->size),
		 sum = compute_result(m, ADD, rm, reg);

	set_register(m, reg_field(m), m->size, rm);
	set_rm(m, sum);
}

static void compare_exchange(struct spin_machine *m)
{
	uint64_t rm = get_rm(m, m->size);

	compute_result(m, CMP, m->regs.rax, rm);
	if (m->regs.eflags & EFLAGS_ZF)
		set_rm(m, get_register(m, reg_field(m), m->size));
	else
		set_register(m, X86_RAX, m->size, rm);
}

static void push_register(struct spin_machine *m)
{
	push_value(m, *operand_register(&m->regs, low_register(m)));
}
static void push_immediate(struct spin_machine *m) { push_value(m, insn_immediate(m)); }
static void pop_register(struct spin_machine *m)
{
	*operand_register(&m->regs, low_register(m)) = pop_value(m);
}

static void run_leave(struct spin_machine *m)
{
	m->regs.rsp = m->regs.rbp;
	m->regs.rbp = pop_value(m);
}

/* ---- Branches ---- */

static void run_jump(struct spin_machine *m) { m->regs.rip += (uint64_t)m->insn.displacement; }

static void jump_if(struct spin_machine *m)
{
	m->ticks++;
	if (condition_holds(m))
		run_jump(m);
}

static void run_call(struct spin_machine *m)
{
	push_value(m, m->regs.rip);
	run_jump(m);
}

static void free_machine_pages(struct spin_machine *m) { m->regs.rip = pop_value(m); }

/* CALL and JMP through a register or memory, INC, DEC, PUSH. */
static void group_ff(struct spin_machine *m)
{
	uint64_t to;

	if (modrm_group(m) < 2) {
		run_increment(m);
		return;
	}
	m->size = WORD;
	to = get_rm(m, WORD);
	if (modrm_group(m) == 2 || modrm_group(m) == 6)
		push_value(m, modrm_group(m) == 2 ? m->regs.rip : to);
	if (modrm_group(m) == 2 || modrm_group(m) == 4)
		m->regs.rip = to;
	m->over |= modrm_group(m) != 2 && modrm_group(m) != 4 && modrm_group(m) != 6;
}

static void group_fe(struct spin_machine *m)
{
	if (modrm_group(m) < 2)
		run_increment(m);
	else
		m->over = true;
}

static void group_f6(struct spin_machine *m)
{
	if (modrm_group(m) < 2)
		compute_result(m, AND, get_rm(m, m->size), insn_immediate(m));
	else
		m->over = true;
}

static void run_nop(struct spin_machine *m) { (void)m; }

/* XCHG with the accumulator; with itself: PAUSE, and the instruction without effect. */
static void exchange_accumulator(struct spin_machine *m)
{
	uint64_t rax = m->regs.rax;

	if (low_register(m) == X86_RAX) {
		m->waits |= m->insn.prefix_f2_f3 == 0xf3;
	} else {
		set_register(m, X86_RAX, m->size, get_register(m, low_register(m), m->size));
		set_register(m, low_register(m), m->size, rax);
	}
}

/* LFENCE, MFENCE, SFENCE. */
static void run_fence(struct spin_machine *m) { m->over |= in_memory(m) || modrm_group(m) < 5; }

/* ---- Execution ---- */

static const struct spin_insn {
	uint8_t map, first, last;
	enum {
		BY_OPCODE,
		BYTES,
		WIDE
	} size; /* of its operands: bytes where the opcode is even; or these */
	void (*run)(struct spin_machine *);
} rows[] = {
	{X86_MAP_1, 0x00, 0x3f, BY_OPCODE, run_arithmetic},
	{X86_MAP_1, 0x50, 0x57, BY_OPCODE, push_register},
	{X86_MAP_1, 0x58, 0x5f, BY_OPCODE, pop_register},
	{X86_MAP_1, 0x63, 0x63, WIDE, move_extended},
	{X86_MAP_1, 0x68, 0x68, BY_OPCODE, push_immediate},
	{X86_MAP_1, 0x6a, 0x6a, BY_OPCODE, push_immediate},
	{X86_MAP_1, 0x70, 0x7f, BY_OPCODE, jump_if},
	{X86_MAP_1, 0x80, 0x83, BY_OPCODE, arithmetic_immediate},
	{X86_MAP_1, 0x84, 0x85, BY_OPCODE, run_test},
	{X86_MAP_1, 0x86, 0x87, BY_OPCODE, run_exchange},
	{X86_MAP_1, 0x88, 0x8b, BY_OPCODE, run_move},
	{X86_MAP_1, 0x8d, 0x8d, WIDE, load_address},
	{X86_MAP_1, 0x90, 0x97, WIDE, exchange_accumulator},
	{X86_MAP_1, 0x98, 0x98, WIDE, extend_accumulator},
	{X86_MAP_1, 0xa8, 0xa9, BY_OPCODE, test_accumulator},
	{X86_MAP_1, 0xb0, 0xb7, BYTES, move_constant},
	{X86_MAP_1, 0xb8, 0xbf, WIDE, move_constant},
	{X86_MAP_1, 0xc0, 0xc1, BY_OPCODE, run_shift},
	{X86_MAP_1, 0xc3, 0xc3, BY_OPCODE, free_machine_pages},
	{X86_MAP_1, 0xc6, 0xc7, BY_OPCODE, move_immediate},
	{X86_MAP_1, 0xc9, 0xc9, BY_OPCODE, run_leave},
	{X86_MAP_1, 0xd0, 0xd1, BY_OPCODE, run_shift},
	{X86_MAP_1, 0xe8, 0xe8, BY_OPCODE, run_call},
	{X86_MAP_1, 0xe9, 0xe9, BY_OPCODE, run_jump},
	{X86_MAP_1, 0xeb, 0xeb, BY_OPCODE, run_jump},
	{X86_MAP_1, 0xf6, 0xf7, BY_OPCODE, group_f6},
	{X86_MAP_1, 0xfe, 0xfe, BY_OPCODE, group_fe},
	{X86_MAP_1, 0xff, 0xff, BY_OPCODE, group_ff},
	{X86_MAP_0F, 0x1e, 0x1f, BY_OPCODE, run_nop},
	{X86_MAP_0F, 0x40, 0x4f, WIDE, move_if},
	{X86_MAP_0F, 0x80, 0x8f, BY_OPCODE, jump_if},
	{X86_MAP_0F, 0x90, 0x9f, BYTES, set_if},
	{X86_MAP_0F, 0xae, 0xae, BY_OPCODE, run_fence},
	{X86_MAP_0F, 0xb0, 0xb1, BY_OPCODE, compare_exchange},
	{X86_MAP_0F, 0xb6, 0xb7, WIDE, move_extended},
	{X86_MAP_0F, 0xba, 0xba, WIDE, bit_test},
	{X86_MAP_0F, 0xbe, 0xbf, WIDE, move_extended},
	{X86_MAP_0F, 0xc0, 0xc1, BY_OPCODE, exchange_add},
};

static const struct spin_insn *find_spin_insn(const struct x86_insn *insn)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].map == insn->map && rows[i].first <= insn->opcode &&
		    insn->opcode <= rows[i].last)
			return &rows[i];
	return NULL;
}

/* The instruction at pc. */
static const struct decoded *decode_insn(struct spin_machine *m, uint64_t pc)
{
	struct decoded *d = &m->decoded[pc % DECODED];
	size_t n;

	if (d->pc == pc)
		return d;
	*d = (struct decoded){.pc = pc};
	n = m->reader->code(m->reader->arg, pc, d->bytes, BT_INSN_MAX);
	if (!x86_decode(d->bytes, n, &d->insn) && !(d->insn.traits & X86_OUTSIDE))
		d->row = find_spin_insn(&d->insn);
	return d;
}

static void run_insn(struct spin_machine *m)
{
	const struct decoded *d = decode_insn(m, m->regs.rip);

	if (!d->row) {
		m->over = true;
		return;
	}
	m->insn = d->insn;
	m->bytes = d->bytes;
	m->pc = d->pc;
	m->size = m->insn.rex & 8 ? 8 : m->insn.prefix_66 ? 2 : 4;
	if (d->row->size == BYTES || (d->row->size == BY_OPCODE && !(m->insn.opcode & 1)))
		m->size = 1;
	m->regs.rip = m->pc + m->insn.len;
	visit_memory(m, 0);
	d->row->run(m);
}

static void keep_state(struct spin_machine *m)
{
	struct state *s = &m->states[m->returns];

	s->regs = m->regs;
	for (size_t i = 0; i < m->word_count; i++)
		s->memory[i] = m->words[i].is;
}

/* Whether it did the same before the middle of the returns as after it. */
static bool halves_are_alike(const struct spin_machine *m)
{
	size_t half = m->returned[m->returns / 2];

	return m->visit_count == 2 * half &&
	       !memcmp(m->visits, m->visits + half, half * sizeof m->visits[0]);
}

static bool is_flags(unsigned i)
{
	return i == offsetof(struct bt_regs, eflags) / sizeof(uint64_t);
}

/* Whether a value is the same in the middle and at the end, or has grown by the same *step in both
 * halves, from the beginning over the middle to the end. */
static bool is_steady(uint64_t begin, uint64_t middle, uint64_t end, uint64_t *step)
{
	*step = end - middle;
	return !*step || *step == middle - begin;
}

/* The same was done in both halves, of which the first began as spin->at says. */
static enum spin_kind kind_of_round(const struct spin_machine *m, struct spin *spin)
{
	const struct state *middle = &m->states[m->returns / 2], *end = &m->states[m->returns];
	enum spin_kind kind = SPIN_FIXED;
	uint64_t step;

	if (!m->waits)
		return SPIN_NOT;
	spin->ticks = m->ticks / 2;
	spin->word_count = 0;
	for (unsigned i = 0; i < BT_REG_COUNT; i++) {
		if (!is_steady(bt_regs_get(&spin->at, i), bt_regs_get(&middle->regs, i),
			       bt_regs_get(&end->regs, i), &step) &&
		    !is_flags(i))
			return SPIN_NOT;
		kind = step ? SPIN_COUNTS : kind;
		bt_regs_set(&spin->step, i, step);
	}
	for (size_t i = 0; i < m->word_count; i++) {
		if (!is_steady(m->words[i].was, middle->memory[i], end->memory[i], &step) ||
		    (step && spin->word_count == SPIN_WORDS))
			return SPIN_NOT;
		kind = step ? SPIN_COUNTS : kind;
		if (step)
			spin->words[spin->word_count++] =
				(struct spin_word){m->words[i].addr, m->words[i].was, step};
	}
	return kind;
}

/* whole: a loop that counts may be part of a longer round, which changes nothing. */
static enum spin_kind find_spin(struct spin_machine *m, bool whole, struct spin *spin)
{
	enum spin_kind kind;

	while (m->returns < RETURNS) {
		run_insn(m);
		if (m->over)
			return SPIN_NOT;
		if (m->regs.rip != spin->at.rip)
			continue;
		m->returned[++m->returns] = m->visit_count;
		keep_state(m);
		if (m->returns % 2 || !halves_are_alike(m))
			continue;
		kind = kind_of_round(m, spin);
		if (kind == SPIN_FIXED || !whole)
			return kind;
	}
	return SPIN_NOT;
}

/* glibc's free(3) is slow for 64 KiB or more: each look at a task took 7 us longer. */
_Static_assert(sizeof(struct spin_machine) < 65536, "RETURNS, VISITS and WORDS are too large");

void spin_look(const struct bt_regs *regs, const struct spin_reader *reader, bool whole,
	       struct spin *spin)
{
	struct spin_machine *m = malloc(sizeof *m);

	*spin = (struct spin){.kind = SPIN_NOT, .at = *regs};
	if (!m)
		return;
	m->reader = reader;
	m->regs = *regs;
	m->word_count = m->visit_count = m->returns = 0;
	m->ticks = 0;
	for (size_t i = 0; i < DECODED; i++)
		m->decoded[i].pc = i + 1; /* an address of another slot: the slot is free */
	m->waits = m->over = false;
	spin->kind = find_spin(m, whole, spin);
	free(m);
}

static bool counts_on(uint64_t before, uint64_t now, uint64_t step, uint64_t step_now,
		      uint64_t rounds)
{
	return step == step_now && now - before == step * rounds;
}

bool spin_goes_on(const struct spin *before, const struct spin *now)
{
	uint64_t ticks = now->tick - before->tick, rounds = now->ticks ? ticks / now->ticks : 0;

	if (before->kind != SPIN_COUNTS || now->kind != SPIN_COUNTS ||
	    now->ticks != before->ticks || rounds * now->ticks != ticks ||
	    now->word_count != before->word_count)
		return false;
	for (unsigned i = 0; i < BT_REG_COUNT; i++)
		if (!is_flags(i) &&
		    !counts_on(bt_regs_get(&before->at, i), bt_regs_get(&now->at, i),
			       bt_regs_get(&before->step, i), bt_regs_get(&now->step, i), rounds))
			return false;
	for (size_t i = 0; i < now->word_count; i++) {
		const struct spin_word *was = &before->words[i], *is = &now->words[i];

		if (was->addr != is->addr ||
		    !counts_on(was->at, is->at, was->step, is->step, rounds))
			return false;
	}
	return true;
}
