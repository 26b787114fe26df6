/* SPDX-License-Identifier: MIT */
/* What the decoder says of registers and flags, against this machine's processor: instructions with
 * register operands are run, and run again with other values in all that they are said not to
 * depend on. */
#include "tests/unit/unit.h"

#include <cpuid.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

#include "lib/array_size.h"
#include "tests/unit/x86_oracle.h"

#define SEED 20240608u
#define ARENA                                                                                    \
	0x20000000ul /* below 2 GB: reached by absolute addresses, so that no register is needed \
		      */

enum {
	REGISTERS = 16,
	MAX_SHOWN = 30,
	FLAGS_ALWAYS = 0x202, /* IF and the bit that is always 1 */
};

struct state {
	uint64_t reg[REGISTERS], flags;
};

/* The vector registers before each run, as XRSTOR takes them. */
struct vectors {
	_Alignas(64) uint8_t bytes[16384];
};

/* At ARENA: what the code below reads and writes. */
struct arena {
	struct vectors vectors;
	struct state in, out;
	uint64_t host_rsp;
	uint64_t stack[512];
	uint8_t code[1024];
	uint8_t *slot; /* where the instruction goes, in code */
	uint8_t *back; /* behind it */
};

struct cpu {
	struct arena *arena;
	uint64_t random;
	size_t run, faulted, wrong;
	const char *name;
};

static sigjmp_buf fault;

static void on_fault(int signo) { siglongjmp(fault, signo); }

static uint8_t *put(uint8_t *at, const void *bytes, size_t n)
{
	memcpy(at, bytes, n);
	return at + n;
}

static uint8_t *put_address(uint8_t *at, const void *address)
{
	uint32_t low = (uint32_t)(uintptr_t)address;

	return put(at, &low, sizeof low);
}

/* mov reg,[address] (8b) or mov [address],reg (89) */
static uint8_t *put_move(uint8_t *at, uint8_t opcode, unsigned reg, const void *address)
{
	const uint8_t bytes[] = {(uint8_t)(0x48 | reg >> 3 << 2), opcode,
				 (uint8_t)((reg & 7) << 3 | 4), 0x25};

	return put_address(put(at, bytes, sizeof bytes), address);
}

/* A function: saves what its caller needs, loads `in`, the slot, stores `out`. */
static void emit(struct arena *a)
{
	static const uint8_t save[] = {0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57};
	static const uint8_t restore[] = {0x41, 0x5f, 0x41, 0x5e, 0x41,
					  0x5d, 0x41, 0x5c, 0x5d, 0x5b};
	static const uint8_t clean[] = {0xfc, 0xdb, 0xe3}; /* cld, fninit */
	static const uint8_t all_components[] = {0x83, 0xc8, 0xff,
						 0x83, 0xca, 0xff}; /* or eax,-1; or edx,-1 */
	uint8_t *at = put(a->code, save, sizeof save);

	at = put_move(at, 0x89, X86_RSP, &a->host_rsp);
	at = put(at, all_components, sizeof all_components);
	at = put_address(put(at, "\x48\x0f\xae\x2c\x25", 5), &a->vectors); /* xrstor64 [vectors] */
	at = put_address(put(at, "\xff\x34\x25", 3), &a->in.flags);        /* push [in.flags] */
	*at++ = 0x9d;                                                      /* popf */
	for (unsigned r = 0; r < REGISTERS; r++)
		at = put_move(at, 0x8b, r, &a->in.reg[r]);
	a->slot = at;
	a->back = at + 32;
	at = a->back;
	for (unsigned r = 0; r < REGISTERS; r++)
		at = put_move(at, 0x89, r, &a->out.reg[r]);
	at = put_move(at, 0x8b, X86_RSP, &a->host_rsp);
	*at++ = 0x9c;                                                /* pushf */
	at = put_address(put(at, "\x8f\x04\x25", 3), &a->out.flags); /* pop [out.flags] */
	at = put(put(at, clean, sizeof clean), restore, sizeof restore);
	*at++ = 0xc3;
	assert_true(at <= a->code + sizeof a->code);
}

static void put_instruction(struct arena *a, const uint8_t *bytes, unsigned len)
{
	uint8_t *at = put(a->slot, bytes, len);

	*at = 0xeb; /* jmp back */
	at[1] = (uint8_t)(a->back - at - 2);
}

/* Runs it from `in`; returns 0 or the signal. */
static int run(struct arena *a, const struct state *in, struct state *out)
{
	void (*code)(void);
	uint8_t *entry = a->code;
	int signo = sigsetjmp(fault, 0); /* SA_NODEFER: the mask is as it was */

	if (signo) {
		__asm__ volatile("cld\n\tfninit" ::: "cc");
		return signo;
	}
	a->in = *in;
	memcpy(&code, &entry, sizeof code);
	code();
	*out = a->out;
	return 0;
}

static uint64_t rflags_of(unsigned set)
{
	return FLAGS_ALWAYS | (set & X86_CF ? 1 : 0) | (set & X86_PF ? 4 : 0) |
	       (set & X86_AF ? 0x10 : 0) | (set & X86_ZF ? 0x40 : 0) | (set & X86_SF ? 0x80 : 0) |
	       (set & X86_OF ? 0x800 : 0);
}

static unsigned set_of(uint64_t rflags)
{
	return (rflags & 1 ? X86_CF : 0) | (rflags & 4 ? X86_PF : 0) |
	       (rflags & 0x10 ? X86_AF : 0) | (rflags & 0x40 ? X86_ZF : 0) |
	       (rflags & 0x80 ? X86_SF : 0) | (rflags & 0x800 ? X86_OF : 0);
}

/* Never a valid address: not canonical, or in page 0. Small ones so that divisions end well. */
static void random_state(struct cpu *c, struct state *s, unsigned keep)
{
	for (unsigned r = 0; r < REGISTERS; r++) {
		uint64_t value = unit_random(&c->random), kind = unit_random(&c->random) % 4;

		if (!(keep >> r & 1))
			s->reg[r] = kind == 0   ? value % 64
				    : kind == 1 ? value % 4096
						: (value & INT64_MAX) | 1ull << 62;
	}
	s->reg[X86_RSP] = (uintptr_t)&c->arena->stack[256];
}

static void wrong(struct cpu *c, const uint8_t *bytes, const struct x86_insn *x, const char *what,
		  unsigned set)
{
	const char *name = x86_oracle_name(bytes, x->len);

	if (c->wrong++ >= MAX_SHOWN || name == c->name)
		return;
	c->name = name;
	fprintf(stderr, "%s: %s %#x (registers %#x, reads %#x, writes %#x):", name, what, set,
		x->regs, x->flags_read, x->flags_written);
	for (unsigned i = 0; i < x->len; i++)
		fprintf(stderr, " %02x", bytes[i]);
	fprintf(stderr, "\n");
}

static unsigned changed(const struct state *a, const struct state *b)
{
	unsigned set = 0;

	for (unsigned r = 0; r < REGISTERS; r++)
		if (a->reg[r] != b->reg[r])
			set |= X86_BIT(r);
	return set;
}

/* Other flags than those it reads: no register and no flag that it writes may come out different.
 */
static void other_flags(struct cpu *c, const uint8_t *bytes, const struct x86_insn *x,
			const struct state *in, const struct state *out)
{
	struct state other = *in, got;
	unsigned set;

	other.flags = in->flags ^ rflags_of(X86_ARITHMETIC & ~x->flags_read) ^ FLAGS_ALWAYS;
	if (run(c->arena, &other, &got)) {
		wrong(c, bytes, x, "faults with other flags", 0);
		return;
	}
	set = changed(out, &got);
	if (set)
		wrong(c, bytes, x, "a flag that it is not said to read changes registers", set);
	set = (set_of(out->flags) ^ set_of(got.flags)) & x->flags_written &
	      ~x86_oracle_undefined(bytes, x->len);
	if (set)
		wrong(c, bytes, x, "does not always write", set);
}

/* Other values in the registers that it is said not to touch: they keep them, and nothing else
 * changes. */
static void other_registers(struct cpu *c, const uint8_t *bytes, const struct x86_insn *x,
			    const struct state *in, const struct state *out)
{
	struct state other = *in, got;
	unsigned set = changed(in, out) & ~(unsigned)x->regs;

	if (set)
		wrong(c, bytes, x, "changes registers", set);
	random_state(c, &other, x->regs);
	if (run(c->arena, &other, &got)) {
		wrong(c, bytes, x, "faults with other registers", 0);
		return;
	}
	set = (changed(out, &got) & x->regs) | (changed(&other, &got) & ~(unsigned)x->regs);
	if (set)
		wrong(c, bytes, x, "depends on other registers, or changes them", set);
	set = set_of(out->flags) ^ set_of(got.flags);
	if (set)
		wrong(c, bytes, x, "its flags depend on other registers", set);
}

/* What gives another answer each time, waits, or changes what this process needs. */
static bool has_memory_operand(const struct x86_insn *x, const uint8_t *bytes)
{
	return x->traits & X86_SEGMENT || (x->modrm_at && bytes[x->modrm_at] < 0xc0);
}

static bool is_unrepeatable(const struct x86_insn *x, const uint8_t *bytes)
{
	unsigned modrm = x->modrm_at ? bytes[x->modrm_at] : 0;

	if (x->map != X86_MAP_0F)
		return false;
	switch (x->opcode) {
	case 0x31: /* rdtsc */
	case 0xa2: /* cpuid shows which processor it ran on */
	case 0xc7: /* rdrand, rdseed, rdpid */
		return true;
	case 0x01: /* rdtscp, monitorx, mwaitx; xgetbv 1 shows what is in use */
		return modrm != 0xee;
	case 0xae: /* wrfsbase, umonitor, umwait, tpause, incssp */
		return x->prefix_66 || x->prefix_f2_f3;
	default:
		return false;
	}
}

static void check(struct cpu *c, const uint8_t *bytes)
{
	struct x86_insn x, theirs;
	struct state in, out;

	if (x86_decode(bytes, BT_INSN_MAX, &x) || x86_oracle(bytes, BT_INSN_MAX, &theirs))
		return;
	if (x.traits & X86_OUTSIDE || x.class != BT_INSN_PLAIN || has_memory_operand(&x, bytes) ||
	    is_unrepeatable(&x, bytes))
		return;
	put_instruction(c->arena, bytes, x.len);
	for (unsigned i = 0; i < 2; i++) {
		random_state(c, &in, 0);
		in.flags = rflags_of((unsigned)unit_random(&c->random) & X86_ARITHMETIC);
		if (run(c->arena, &in, &out)) {
			c->faulted++;
			continue;
		}
		c->run++;
		other_flags(c, bytes, &x, &in, &out);
		other_registers(c, bytes, &x, &in, &out);
	}
}

static void finish_bytes(struct cpu *c, uint8_t *bytes, size_t from)
{
	while (from < BT_INSN_MAX)
		bytes[from++] = (uint8_t)unit_random(&c->random);
}

static void legacy(struct cpu *c, unsigned prefix, unsigned map, unsigned opcode, unsigned modrm)
{
	static const uint8_t prefixes[][2] = {{0},    {0x48},       {0x66},       {0xf3}, {0xf2},
					      {0x45}, {0xf3, 0x48}, {0x66, 0x41}, {0x40}};
	static const uint8_t lengths[] = {0, 1, 1, 1, 1, 1, 2, 2, 1};
	static const char *const escapes[] = {"", "\x0f", "\x0f\x38", "\x0f\x3a"};
	uint8_t bytes[BT_INSN_MAX], *at = put(bytes, prefixes[prefix], lengths[prefix]);

	at = put(at, escapes[map], strlen(escapes[map]));
	*at++ = (uint8_t)opcode;
	*at++ = (uint8_t)modrm;
	finish_bytes(c, bytes, (size_t)(at - bytes));
	check(c, bytes);
}

static void vex(struct cpu *c, unsigned map, unsigned pp, unsigned opcode, unsigned modrm)
{
	uint64_t r = unit_random(&c->random);
	uint8_t vvvv = r & 1 ? 0x78 : (uint8_t)(r & 0x78);
	uint8_t bytes[BT_INSN_MAX] = {0xc4, (uint8_t)((r >> 8 & 0xe0) | map),
				      (uint8_t)((r >> 16 & 0x80) | vvvv | (r >> 24 & 4) | pp),
				      (uint8_t)opcode, (uint8_t)modrm};

	finish_bytes(c, bytes, 5);
	check(c, bytes);
}

static void evex(struct cpu *c, unsigned map, unsigned pp, unsigned opcode, unsigned modrm)
{
	uint64_t r = unit_random(&c->random);
	uint8_t vvvv = r & 1 ? 0x78 : (uint8_t)(r & 0x78);
	uint8_t bytes[BT_INSN_MAX] = {0x62,
				      (uint8_t)((r >> 8 & 0xe0) | 0x10 | map),
				      (uint8_t)((r >> 16 & 0x80) | vvvv | 4 | pp),
				      (uint8_t)((r >> 24 & 0x60) | 8 | (r >> 32 & 3)),
				      (uint8_t)opcode,
				      (uint8_t)modrm};

	finish_bytes(c, bytes, 6);
	check(c, bytes);
}

/* Random xmm registers, floats among them; the rest as it is now. */
static void fill_vectors(struct cpu *c)
{
	struct vectors *v = &c->arena->vectors;
	unsigned a, b, size, d;

	__get_cpuid_count(0xd, 0, &a, &b, &size, &d);
	assert_true(size <= sizeof v->bytes);
	__asm__ volatile("xsave64 %0" : "+m"(*v) : "a"(-1), "d"(-1) : "memory");
	for (size_t i = 160; i < 416; i += 4) {
		float f = (float)(unit_random(&c->random) % 100);

		memcpy(v->bytes + i, &f, sizeof f);
	}
	v->bytes[512] |= 3; /* XSTATE_BV: x87 and SSE are there */
}

static bool has_xsave(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c & bit_OSXSAVE;
}

static void begin(struct cpu *c)
{
	struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK | SA_NODEFER};
	static const int signals[] = {SIGILL, SIGSEGV, SIGFPE, SIGBUS, SIGTRAP};
	stack_t stack = {.ss_size = 1 << 16};

	*c = (struct cpu){.random = SEED};
	c->arena = mmap((void *)ARENA, sizeof *c->arena, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_ptr_equal(c->arena, (void *)ARENA);
	fill_vectors(c);
	emit(c->arena);
	stack.ss_sp = test_malloc(stack.ss_size);
	assert_int_equal(sigaltstack(&stack, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		assert_int_equal(sigaction(signals[i], &action, NULL), 0);
}

static void end(struct cpu *c, const char *what)
{
	static const int signals[] = {SIGILL, SIGSEGV, SIGFPE, SIGBUS, SIGTRAP};
	stack_t stack, none = {.ss_flags = SS_DISABLE};

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		signal(signals[i], SIG_DFL);
	assert_int_equal(sigaltstack(&none, &stack), 0);
	test_free(stack.ss_sp);
	munmap(c->arena, sizeof *c->arena);
	printf("# %s: %zu run, %zu faulted, seed %u\n", what, c->run, c->faulted, SEED);
	assert_true(c->run > 1000);
	assert_int_equal(c->wrong, 0);
}

static void legacy_instructions_do_what_is_said(void **state)
{
	struct cpu c;

	(void)state;
	if (!has_xsave())
		skip();
	begin(&c);
	for (unsigned prefix = 0; prefix < 9; prefix++)
		for (unsigned map = 0; map < 4; map++)
			for (unsigned opcode = 0; opcode < 256; opcode++)
				for (unsigned modrm = 0xc0; modrm < 256; modrm++)
					legacy(&c, prefix, map, opcode, modrm);
	end(&c, "legacy");
}

static void vector_instructions_do_what_is_said(void **state)
{
	struct cpu c;

	(void)state;
	if (!has_xsave() || !__builtin_cpu_supports("avx2"))
		skip();
	begin(&c);
	for (unsigned map = 1; map < 7; map++)
		for (unsigned pp = 0; pp < 4; pp++)
			for (unsigned opcode = 0; opcode < 256; opcode++)
				for (unsigned modrm = 0xc0; modrm < 256; modrm++) {
					if (map < 4)
						vex(&c, map, pp, opcode, modrm);
					evex(&c, map, pp, opcode, modrm);
				}
	end(&c, "VEX and EVEX");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(legacy_instructions_do_what_is_said),
		cmocka_unit_test(vector_instructions_do_what_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
