/* SPDX-License-Identifier: MIT */
/* The processor's word on addresses: instructions are run with registers that make them fault, and
 * si_addr must lie in the operand at the address that disasm_address gives. */
#include "tests/unit/unit.h"

#include <asm/prctl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "decoder/model/disasm.h"
#include "lib/array_size.h"

/* Nothing can be read or written here. Low enough for addresses of 32 bits, and below the shadow
 * memory of sanitizers. */
#define HOLE      0x60000000u
#define HOLE_SIZE 0x10000000u

/* What the signal handlers need; they have no other argument. */
static struct {
	ucontext_t normal;    /* where to go on after the fault */
	struct bt_regs start; /* registers to run the code with */
	uint64_t fault;       /* si_addr */
	uint64_t fault_rip;
} now;

/* clang-format off */
#define GENERAL(X) \
	X(r15, REG_R15) X(r14, REG_R14) X(r13, REG_R13) X(r12, REG_R12) X(rbp, REG_RBP) \
	X(rbx, REG_RBX) X(r11, REG_R11) X(r10, REG_R10) X(r9, REG_R9) X(r8, REG_R8) \
	X(rax, REG_RAX) X(rcx, REG_RCX) X(rdx, REG_RDX) X(rsi, REG_RSI) X(rdi, REG_RDI) \
	X(rip, REG_RIP) X(rsp, REG_RSP)
/* clang-format on */

static void on_begin(int signo, siginfo_t *info, void *context)
{
	ucontext_t *c = context;
	(void)signo;
	(void)info;

	memcpy(&now.normal, c, sizeof now.normal);
#define X(name, number) c->uc_mcontext.gregs[number] = (greg_t)now.start.name;
	GENERAL(X)
#undef X
}

static void on_fault(int signo, siginfo_t *info, void *context)
{
	ucontext_t *c = context;
	(void)signo;

	now.fault = (uint64_t)(uintptr_t)info->si_addr;
	now.fault_rip = (uint64_t)c->uc_mcontext.gregs[REG_RIP];
#define X(name, number) c->uc_mcontext.gregs[number] = now.normal.uc_mcontext.gregs[number];
	GENERAL(X)
#undef X
}

/* Called by the test itself: cmocka has handlers of its own between group and test. */
static int set_up(void **stack_memory)
{
	struct sigaction begin = {.sa_sigaction = on_begin, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};

	*stack_memory = stack.ss_sp;
	return sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &begin, NULL) ||
	       sigaction(SIGSEGV, &fault, NULL) ||
	       syscall(SYS_arch_prctl, ARCH_SET_GS, (unsigned long)HOLE + 0x10000);
}

#define CODE(...) .bytes = {__VA_ARGS__}, .len = sizeof((const uint8_t[]){__VA_ARGS__})

/* An instruction and the number of its operand that faults. */
static const struct row {
	uint8_t bytes[BT_INSN_MAX];
	size_t len, operand;
} rows[] = {
	{CODE(0x48, 0x8b, 0x43, 0x10), 0},                   /* mov rax, [rbx+0x10] */
	{CODE(0x89, 0x4c, 0xd5, 0xf0), 0},                   /* mov [rbp+rdx*8-0x10], ecx */
	{CODE(0x43, 0x0f, 0xb6, 0x44, 0x05, 0x00), 0},       /* movzx eax, byte ptr [r13+r8] */
	{CODE(0x67, 0x8b, 0x04, 0x4b), 0},                   /* mov eax, [ebx+ecx*2] */
	{CODE(0x65, 0x8b, 0x42, 0x04), 0},                   /* mov eax, gs:[rdx+4] */
	{CODE(0x65, 0x67, 0x8b, 0x42, 0xfc), 0},             /* mov eax, gs:[edx-4] */
	{CODE(0x8b, 0x04, 0x25, 0x00, 0x00, 0x00, 0x61), 0}, /* mov eax, [0x61000000] */
	{CODE(0x50), 0},                                     /* push rax */
	{CODE(0x66, 0x50), 0},                               /* push ax */
	{CODE(0x9c), 0},                                     /* pushf */
	{CODE(0xff, 0x33), 0},                               /* push [rbx] */
	{CODE(0xff, 0x74, 0x24, 0x08), 0},                   /* push [rsp+8] */
	{CODE(0x58), 0},                                     /* pop rax */
	{CODE(0xc9), 0},                                     /* leave */
	{CODE(0xc8, 0x10, 0x00, 0x00), 0},                   /* enter 16, 0 */
	{CODE(0xc3), 0},                                     /* ret */
	{CODE(0xe8, 0x00, 0x00, 0x00, 0x00), 0},             /* call behind itself */
	{CODE(0xff, 0x13), 0},                               /* call [rbx] */
	{CODE(0xff, 0xd3), 0},                               /* call rbx */
	{CODE(0xff, 0x24, 0xcb), 0},                         /* jmp [rbx+rcx*8] */
	{CODE(0xd7), 0},                                     /* xlat */
	{CODE(0xaa), 0},                                     /* stosb */
	{CODE(0xf3, 0x48, 0xab), 0},                         /* rep stosq */
	{CODE(0xac), 0},                                     /* lodsb */
	{CODE(0xf3, 0xa4), 1},                   /* rep movsb: the source is read first */
	{CODE(0x48, 0x0f, 0xa3, 0x33), 0},       /* bt [rbx], rsi */
	{CODE(0x0f, 0xab, 0x13), 0},             /* bts [rbx], edx */
	{CODE(0x4c, 0x0f, 0xb3, 0x3b), 0},       /* btr [rbx], r15, which is negative */
	{CODE(0x66, 0x0f, 0xa3, 0x03), 0},       /* bt word ptr [rbx], ax */
	{CODE(0xf0, 0x48, 0x0f, 0xb1, 0x0b), 0}, /* lock cmpxchg [rbx], rcx */
	{CODE(0x0f, 0x10, 0x03), 0},             /* movups xmm0, [rbx] */
	{CODE(0xdd, 0x03), 0},                   /* fld qword ptr [rbx] */
	{CODE(0x0f, 0xae, 0x03), 0},             /* fxsave [rbx] */
};

static void run(const struct row *r, uint8_t *page, struct disasm *d)
{
	memset(page, 0xcc, 4096);
	memcpy(page, r->bytes, r->len);
	now.start = (struct bt_regs){
		.rax = 0x1122334455668040,
		.rbx = HOLE + 0x100000,
		.rcx = 0x1000,
		.rdx = 0x2000,
		.rsi = HOLE + 0x200000,
		.rdi = HOLE + 0x300000,
		.rbp = HOLE + 0x400000,
		.rsp = HOLE + 0x500000,
		.r8 = 0x3000,
		.r9 = HOLE,
		.r10 = HOLE,
		.r11 = HOLE,
		.r12 = HOLE,
		.r13 = HOLE + 0x600000,
		.r14 = HOLE,
		.r15 = (uint64_t)-1000,
		.rip = (uint64_t)(uintptr_t)page,
		.gs_base = HOLE + 0x10000,
	};
	assert_int_equal(disasm_decode(d, r->bytes, r->len, now.start.rip), 0);
	now.fault = 0;
	raise(SIGUSR1);
}

static void the_operand_at_fault_has_the_address_of_the_fault(void **state)
{
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *stack, *hole = mmap((void *)(uintptr_t)HOLE, HOLE_SIZE, PROT_NONE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
				  -1, 0);
	(void)state;

	if (page == MAP_FAILED || hole != (void *)(uintptr_t)HOLE)
		skip();
	assert_int_equal(set_up(&stack), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[DISASM_TEXT_MAX];
		struct disasm d;
		uint64_t addr = 0;

		run(&rows[i], page, &d);
		disasm_text(&d, NULL, text, sizeof text);
		assert_true(rows[i].operand < d.memory_count);
		assert_true(disasm_address(&d, &d.memory[rows[i].operand], &now.start, &addr));
		/* Large operands (fxsave) may be touched at their end first. */
		if (now.fault - addr >= d.memory[rows[i].operand].size ||
		    now.fault_rip != now.start.rip)
			fail_msg("%s: faults at %#lx, operand at %#lx", text,
				 (unsigned long)now.fault, (unsigned long)addr);
	}
	munmap(page, 4096);
	munmap(hole, HOLE_SIZE);
	sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
	free(stack);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_operand_at_fault_has_the_address_of_the_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
