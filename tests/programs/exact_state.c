// SPDX-License-Identifier: MIT
/* exact_state NAME: what a program sees of itself: registers at faults, addresses on its stack, contexts, segment bases, limits. Prints the
 * same wherever it runs; addresses are shown relative to its own code. tests/e2e/engine_signals.py */
#include <asm/prctl.h>
#include <cpuid.h>
#include <errno.h>
#include <execinfo.h>
#include <fenv.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

extern const char __executable_start[], etext[];

static sigjmp_buf back;
static uint64_t before_rsp;

/* An address of the program's code as an offset, others as they are. */
static const char *place(uint64_t at)
{
	static char text[4][32];
	static int next;
	char *to = text[next++ % 4];

	if (at >= (uintptr_t)__executable_start && at < (uintptr_t)etext)
		snprintf(to, sizeof text[0], "code+%llx", (unsigned long long)(at - (uintptr_t)__executable_start));
	else
		snprintf(to, sizeof text[0], "%llx", (unsigned long long)at);
	return to;
}

/* Everything of the frame that does not depend on where the stack is. */
static void on_fault(int signo, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

	printf("signal %d code %d addr %s rip %s flags %llx", signo, info->si_code, place((uintptr_t)info->si_addr), place((uint64_t)r[REG_RIP]),
	       (unsigned long long)r[REG_EFL] & 0xed5);
	if (r[REG_RSP])
		printf(" rsp %+lld", (long long)r[REG_RSP] - (long long)before_rsp);
	/* The kernel leaves in them what the last trap was where it is none itself: for a recorded program, one of the recorder's. */
	if (signo != SIGSYS && (uint64_t)r[REG_RIP] < 1ull << 47)
		printf(" trap %lld error %llx", r[REG_TRAPNO], (unsigned long long)r[REG_ERR]);
	printf(" rax %llx rcx %llx rdx %llx r11 %llx r15 %llx", (unsigned long long)r[REG_RAX], (unsigned long long)r[REG_RCX],
	       (unsigned long long)r[REG_RDX], (unsigned long long)r[REG_R11], (unsigned long long)r[REG_R15]);
	if (before_rsp - (uint64_t)r[REG_RSP] - 1 < 64)
		printf(" pushed %s", place(*(uint64_t *)r[REG_RSP]));
	putchar('\n');
	siglongjmp(back, 1);
}

static void catch_faults(void)
{
	static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
		sigaction(signals[i], &action, NULL);
}

/* The instructions run with known registers and flags. */
#define FAULT(text) do { \
	if (!sigsetjmp(back, 1)) \
		__asm__ volatile("movq %%rsp, %0\n\tmovl $1, %%eax\n\tmovl $2, %%ecx\n\tmovl $3, %%edx\n\tmovabsq $0x1111111111111111, %%r11\n\tmovl $15, %%r15d\n\tcmpl $2, %%eax\n\t" text \
				 : "=m"(before_rsp)::"rax", "rcx", "rdx", "rbx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc"); \
	else \
		break; \
	puts("no fault"); \
} while (0)

static void int3(void) { FAULT("int3"); }
static void long_int3(void) { FAULT(".byte 0xcd, 3"); }
static void ud2(void) { FAULT("ud2"); }
static void divide(void)
{
	FAULT("xorl %%edx, %%edx; xorl %%ebx, %%ebx; divl %%ebx");
	FAULT("movl $-1, %%edx; movl $-1, %%ebx; movl $0x80000000, %%eax; idivl %%ebx");
	FAULT("pushq $0; divq (%%rsp)");
}

static void fpe_sse(void)
{
	feenableexcept(FE_DIVBYZERO);
	FAULT("xorps %%xmm0, %%xmm0; pcmpeqd %%xmm1, %%xmm1; psrld $25, %%xmm1; cvtdq2ps %%xmm1, %%xmm1; divps %%xmm0, %%xmm1");
	fedisableexcept(FE_ALL_EXCEPT);
}

/* An exception that is pending is raised by the next comparison, which rewrites all flags. */
static void x87_compare(void)
{
#define COMPARE(text) do { \
	FAULT("fninit; pushq $0x37b; fldcw (%%rsp); popq %%rbx; fldz; fld1; movl $1000, %%ecx\n" \
	      "3: " text "; jp 4f\n4: decl %%ecx; jz 9f; cmpl $500, %%ecx; jne 5f; fdiv %%st(1), %%st\n" \
	      "5: movl $0x55, %%eax; subb $0x55, %%al; stc; jz 3b\n9:"); \
	__asm__ volatile("fninit"); \
} while (0)
	COMPARE("fcomi %%st(1), %%st");
	COMPARE("fucomi %%st(1), %%st");
	COMPARE("fcomip %%st(1), %%st; fld1");
	COMPARE("fucomip %%st(1), %%st; fld1");
}

static void null_call(void)
{
	FAULT("xorl %%eax, %%eax; call *%%rax");
	FAULT("xorl %%r11d, %%r11d; call *%%r11");
	FAULT("pushq $0; call *(%%rsp)");
	FAULT("call *0x10");
	FAULT("movl $0x1230, %%ecx; call *%%rcx");
}

static void wild_call(void)
{
	FAULT("movabsq $0x8000000000001234, %%rax; call *%%rax");
	FAULT("movabsq $0x0000800000000000, %%r11; call *%%r11");
	FAULT("movabsq $0xdeadbeefdeadbeef, %%rcx; pushq %%rcx; call *(%%rsp)");
}

static void wild_jump(void)
{
	FAULT("movabsq $0x8000000000001234, %%rax; jmp *%%rax");
	FAULT("movabsq $0xffff7fffffffffff, %%rcx; jmp *%%rcx");
	FAULT("movabsq $0xdeadbeefdeadbeef, %%r11; movq %%r11, -64(%%rsp); jmp *-64(%%rsp)");
}

static void wild_return(void)
{
	FAULT("movabsq $0x8000000000001234, %%rax; pushq %%rax; ret");
	FAULT("movabsq $0x8000000000001234, %%rax; pushq %%rax; ret $16");
	FAULT("pushq $0x1230; ret");
	FAULT("pushq $0; ret $8");
}

static void null_jump(void)
{
	FAULT("xorl %%eax, %%eax; jmp *%%rax");
	FAULT("movl $0x1230, %%r11d; jmp *%%r11");
	FAULT("pushq $0x1230; jmp *(%%rsp)");
	FAULT("movabsq $0x123456789000, %%rax; jmp *%%rax");
}

static void bad_load(void)
{
	FAULT("movq 0x1230, %%rax");
	FAULT("movabsq $0x8000000000000000, %%rcx; movq (%%rcx), %%r11");
	FAULT("xorl %%ecx, %%ecx; addq (%%rcx), %%r11");
	FAULT("movl $0x40, %%ecx; vmovdqu (%%rcx), %%xmm1");
	FAULT("xorl %%esi, %%esi; movl $4, %%ecx; rep lodsb");
	FAULT("popq 0x20");
	FAULT("pushq 0x20");
}

static void bad_store(void)
{
	FAULT("movq %%r11, 0x1230");
	FAULT("movl $1, 1f(%%rip); 1: nop");
	FAULT("lock addl $1, 0x20");
	FAULT("xorl %%edi, %%edi; movl $4, %%ecx; rep stosq");
	FAULT("movq %%rsp, %%rbx; xorl %%esp, %%esp; pushq %%rax");
	FAULT("movaps %%xmm0, -7(%%rsp)");
}

static void privileged(void)
{
	FAULT("hlt");
	FAULT("cli");
	FAULT("outb %%al, %%dx");
	FAULT("movq %%cr0, %%rax");
	FAULT("int $0x20");
	FAULT("wbinvd");
	/* Those that the kernel emulates, where they fault; and what is behind them, where that does. */
	FAULT("movl $8, %%ebx; sgdt (%%rbx); jmp 1f; 1: nop");
	FAULT("movl $8, %%ebx; str (%%rbx); syscall");
	FAULT("movl $8, %%ebx; smsw (%%rbx); pushfq; popq %%rax");
	FAULT("movl $8, %%ebx; sidt (%%rbx); popfq");
	FAULT(".byte 0xf0; sidt -64(%%rsp); jmp 1f; 1: nop");
	FAULT("cli; syscall");
	FAULT("sti; pushfq; popq %%rax");
	FAULT("sgdt -64(%%rsp); ud2");
	FAULT("sgdt -64(%%rsp); int3");
	FAULT("sldt %%bx; str %%bx; movl $8, %%ebx; smsw -64(%%rsp); jmp *%%rbx");
}

/* LOCK where it may not be, of instructions that the engine rewrites, or before which it may use the flags. */
static void locked(void)
{
	FAULT("jmp 2f; 1: .byte 0xf0; ret; 2: call 1b");
	FAULT(".byte 0xf0; jmp 1f; 1: nop");
	FAULT(".byte 0xf0; ja 1f; 1: nop");
	FAULT(".byte 0xf0; jecxz 1f; 1: nop");
	FAULT(".byte 0xf0; call 1f; 1: nop");
	FAULT("leaq 1f(%%rip), %%rax; .byte 0xf0; jmp *%%rax; 1: nop");
	FAULT(".byte 0xf0; leaq 1f(%%rip), %%rax; 1: nop");
	FAULT(".byte 0xf0; cpuid");
	FAULT("movl $200, %%ecx; 1: nop; .byte 0xf0; xorl %%eax, %%eax; stc; decl %%ecx; jnz 1b");
	FAULT("movl $200, %%ecx; 1: nop; .byte 0xf0; cmpl %%eax, -64(%%rsp); stc; decl %%ecx; jnz 1b");
}

/* A nested frame that copies what lies where it is pushed, and faults half-way: what it has pushed until then is that of one execution. */
static void enter_nested(void)
{
	uint64_t *page = mmap((void *)0x7fff90000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	for (uint64_t i = 0; i < 8; i++)
		page[i] = i;
	FAULT("movabsq $0x7fff90000028, %%rsp; movq %%rsp, %0; leaq -16(%%rsp), %%rbp; enter $0, $8");
	for (int i = 0; i < 8; i++)
		printf("%lx ", (unsigned long)page[i]);
	puts("");
}

/* Instructions that need a SIB byte, with a rip-relative operand: gathers with VEX and EVEX, TILELOADD. */
extern uint32_t operands[];

static void without_sib(void)
{
	FAULT(".byte 0xc4, 0xe2, 0x71, 0x90, 0x05; .long operands-(.+4)");
	FAULT(".byte 0x62, 0xf2, 0x7d, 0x09, 0x90, 0x05; .long operands-(.+4)");
	FAULT(".byte 0xc4, 0xe2, 0x7b, 0x4b, 0x05; .long operands-(.+4)");
}

/* Direct branches to where no page can be. */
static void astray(void)
{
	static const unsigned char code[] = {
		0xe9, 0xf0, 0xff, 0xff, 0x7f, [16] = 0xe8, 0xf0, 0xff, 0xff, 0x7f, [32] = 0x0f, 0x87, 0xf0, 0xff, 0xff, 0x7f, 0xc3, /* jmp; call; ja, ret */
		[48] = 0x0f, 0x86, 0xf0, 0xff, 0xff, 0x7f, /* jbe */
	};
	void *at = mmap((void *)0x7fff90000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (at == MAP_FAILED)
		exit(3);
	memcpy(at, code, sizeof code);
	mprotect(at, 4096, PROT_READ | PROT_EXEC);
	FAULT("movabsq $0x7fff90000000, %%rax; jmp *%%rax");
	FAULT("movabsq $0x7fff90000010, %%rax; jmp *%%rax");
	FAULT("movabsq $0x7fff90000020, %%rax; call *%%rax");
	FAULT("movabsq $0x7fff90000030, %%rax; jmp *%%rax");
}

/* rip-relative operands of instructions whose opcode is EVEX's or VEX's first byte; now and then with a prefix that would extend a base. */
uint32_t operands[8] __attribute__((aligned(16))) = {1, 2, 3, 4, 5, 6, 7, 8};

static uint64_t answer(void) { return 42; }

/* String instructions that compare, and come to the end of what is mapped: in loops, with flags that live on. */
static void string_compare(void)
{
	char *at = mmap((void *)0x10000000, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	mprotect(at + 4096, 4096, PROT_NONE);
	FAULT("movl $0x10000f00, %%edi; xorl %%eax, %%eax; 1: scasb; jne 2f; incl %%ecx; stc; jmp 3f; 3: jmp 1b; 2:");
	FAULT("movl $0x10000800, %%edi; xorl %%eax, %%eax; 1: scasl; jne 2f; incl %%ecx; jnz 1b; 2:");
	FAULT("movl $0x10000c00, %%edi; movl $0x10000800, %%esi; movl $5000, %%ebx; 1: cmpsb; jne 2f; addl $1, %%eax; decl %%ebx; jnz 1b; 2:");
	FAULT("movl $0x10000800, %%edi; movl $0x10000c00, %%esi; movl $0x7fffffff, %%eax; 1: cmpsq; leal 1(%%rax), %%eax; je 1b");
	FAULT("movl $0x10000ff9, %%edi; movl $1, %%ebx; 1: addl $0x7fffffff, %%eax; scasw; incl %%ebx; jmp 1b");
	munmap(at, 8192);
}

/* A fault behind a jump is that of the instruction that the jump leads to. */
static void after_jump(void)
{
	for (int i = 0; i < 3; i++) {
		FAULT("movl $0x1238, %%eax; jmp 1f; ud2; 1: movl $1, (%%rax)");
		FAULT("xorl %%edx, %%edx; xorl %%ebx, %%ebx; jmp 1f; ud2; 1: divl %%ebx");
		FAULT("movl $0x1238, %%ebx; jmp 1f; ud2; 2: movl (%%rbx), %%eax; 1: jmp 2b");
		FAULT("movl $0x1238, %%ebx; jmp 1f; ud2; 1: addl $1, %%eax; jmp 2f; ud2; 2: jmp 3f; ud2; 3: lock incl (%%rbx)");
		FAULT("jmp 1f; ud2; 1: ud2");
	}
}

/* Indirect calls in as many bytes as an instruction can have; their operand lies below 4 GB. */
static void long_branches(void)
{
	static uint64_t (*const target[2])(void) = {answer, answer};
	uint64_t sum = 0, got;

	for (int i = 0; i < 5; i++) {
		__asm__ volatile("movl %k1, %%eax; subq $128, %%rsp; .byte 0x67, 0x67, 0x67, 0x67, 0x67, 0x67, 0x67, 0x67, 0x67, 0xff, 0x90; .long 8; addq $128, %%rsp"
				 : "=&a"(got) : "b"(target) : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
		sum += got;
	}
	printf("%d\n", (int)sum);
}

/* What LOOPcc does with a prefix that has no meaning there is the processor's to say (AMD: another condition). */
#define LOOP(prefix, opcode) do { \
	uint64_t count = (uint64_t)n, taken = 1; \
	__asm__ volatile("cmpl $1, %k2; .byte " prefix opcode ", 2; jmp 1f; jmp 2f; 1: xorl %k1, %k1; 2:" \
			 : "+c"(count), "+a"(taken) : "r"(zero) : "cc"); \
	printf(" %d/%d", (int)taken, (int)count); \
} while (0)

static void loop_prefix(void)
{
	for (int zero = 0; zero < 2; zero++)
		for (int n = 1; n < 4; n++) {
			LOOP("", "0xe0");
			LOOP("0xf3,", "0xe0");
			LOOP("0xf2,", "0xe0");
			LOOP("", "0xe1");
			LOOP("0xf3,", "0xe1");
			LOOP("0xf2,", "0xe1");
			LOOP("0xf3,", "0xe2");
			LOOP("0xf2,", "0xe2");
			LOOP("0xf3,", "0xe3");
			puts("");
		}
}

/* The same with prefixes that would extend an index, in as many bytes as an instruction can have and one less, and with fs, whose base is 16
 * for as long. */
static uint64_t prefixed_operands(uint64_t i)
{
	static uint64_t (*const target)(void) = answer;
	uint64_t values[6] = {0}, base;

	__asm__ volatile(".byte 0x4a, 0x8b, 0x05; .long operands-(.+4)\n" /* mov operands(%%rip), %%rax */
			 "movq %%rax, %0"
			 : "=m"(values[0])::"rax");
	__asm__ volatile(".byte 0x2e, 0x2e, 0x2e, 0x48, 0x81, 0x05; .long operands-(.+8); .long 3\n"   /* addq $3, operands(%%rip) */
			 ".byte 0x2e, 0x2e, 0x2e, 0x2e, 0x48, 0x81, 0x2d; .long operands-(.+8); .long 3\n" /* subq $3, operands(%%rip) */
			 "setc %0; movq operands(%%rip), %%rax; movq %%rax, %1"
			 : "+m"(values[1]), "=m"(values[2])::"rax", "memory", "cc");
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile(".byte 0xc4, 0xa1, 0x7a, 0x6f, 0x05; .long 8+operands-(.+4)\n" /* vmovdqu 8+operands(%%rip), %%xmm0 */
				 "vmovq %%xmm0, %0"
				 : "=m"(values[3])::"xmm0");
	syscall(SYS_arch_prctl, ARCH_GET_FS, &base);
	__asm__ volatile("movl %5, %%eax; movl %6, %%edi; movl $16, %%esi; syscall\n"
			 "movq %%fs:operands(%%rip), %%rax; movq %%rax, %0\n"
			 "subq $128, %%rsp; .byte 0x64, 0xff, 0x15; .long %c3-16-(.+4); addq $128, %%rsp; movq %%rax, %1\n" /* call *%%fs:target(%%rip) */
			 "movl %5, %%eax; movl %6, %%edi; movq %4, %%rsi; syscall"
			 : "=m"(values[4]), "=m"(values[5])
			 : "m"(values), "i"(&target), "b"(base), "i"(SYS_arch_prctl), "i"(ARCH_SET_FS)
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
	for (int k = 0; k < 6; k++)
		i = i * 31 + values[k];
	return i;
}

static void rip_relative(void)
{
	uint32_t out[4], sum = 0;

	for (int i = 0; i < 20000; i++) {
		__asm__ volatile("movd %1, %%xmm0; punpckldq operands(%%rip), %%xmm0; pinsrw $3, 4+operands(%%rip), %%xmm0; movdqu %%xmm0, %0"
				 : "=m"(out) : "r"(i) : "xmm0");
		if (i % 1000 == 0) /* pinsrw $2, operands(%rip), %xmm0 */
			__asm__ volatile("leaq 16+operands(%%rip), %%r8; .byte 0x66, 0x41, 0x0f, 0xc4, 0x05; .long operands-(.+5); .byte 2\n"
					 "movdqu %%xmm0, %0" : "=m"(out)::"xmm0", "r8");
		sum = sum * 31 + out[0] + out[1] * 3 + out[2] * 5 + out[3] * 7;
		sum += (uint32_t)(i % 1000 ? 0 : prefixed_operands((uint64_t)i));
	}
	printf("%x\n", sum);
}

/* 32-bit code, reached by a far call; a signal's handler is called there, and returns to it. */
uint64_t low_stack[512], high_rsp;
struct {
	uint32_t offset;
	uint16_t selector;
} __attribute__((packed)) far_entry;
extern const char entry_32[];

__asm__(".pushsection .text; .code32; entry_32: xorl %eax, %eax; movl $100, %ecx\n"
	"1: incl %eax; testb $1, %cl; jz 2f; incl %eax; 2: decl %ecx; jnz 1b\n"
	"pushl %ecx; popl %edx; call 3f; ud2; addl $1000, %eax; lret\n"
	"3: addl $7, %eax; ret; .code64; .popsection");

static void on_ud2(int signo, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

	printf("signal %d rip %+lld rax %lld cs %x\n", signo, r[REG_RIP] - (long long)(uintptr_t)entry_32, r[REG_RAX], (unsigned)(r[REG_CSGSFS] & 0xffff));
	r[REG_RIP] += 2;
	(void)info;
}

static void code_32(void)
{
	struct sigaction action = {.sa_sigaction = on_ud2, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	unsigned result;

	sigaction(SIGILL, &action, NULL);
	far_entry.offset = (uint32_t)(uintptr_t)entry_32;
	far_entry.selector = 0x23; /* __USER32_CS */
	for (int i = 0; i < 3; i++) {
		__asm__ volatile("movq %%rsp, high_rsp(%%rip); leaq 4096+low_stack(%%rip), %%rsp; lcall *far_entry(%%rip); movq high_rsp(%%rip), %%rsp"
				 : "=a"(result)::"rcx", "rdx", "rbx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc");
		printf("%u\n", result);
	}
}

static int stay_on_one_cpu(void)
{
	cpu_set_t may, one;
	int cpu = 0;

	sched_getaffinity(0, sizeof may, &may);
	while (!CPU_ISSET(cpu, &may))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof one, &one);
	return cpu;
}

/* The two other calls of that page, each with another's arguments, and one that faults in the kernel. */
static void vsyscall_others(void)
{
	int (*const volatile gettimeofday_there)(struct timeval *, struct timezone *) = (int (*)(struct timeval *, struct timezone *))0xffffffffff600000;
	int (*const volatile getcpu_there)(unsigned *, unsigned *, void *) = (int (*)(unsigned *, unsigned *, void *))0xffffffffff600800;
	int cpu = stay_on_one_cpu(), wrong = 0;

	for (int i = 0; i < 50; i++) {
		struct timeval before, now = {0}, after;
		struct timezone zone = {.tz_minuteswest = -7}, zone_here = {.tz_minuteswest = -8};
		unsigned other_cpu = ~0u, node = ~0u, node_here;

		gettimeofday(&before, &zone_here);
		wrong += gettimeofday_there(&now, &zone) != 0;
		gettimeofday(&after, NULL);
		wrong += timercmp(&now, &before, <) || timercmp(&after, &now, <) || zone.tz_minuteswest != zone_here.tz_minuteswest;
		wrong += getcpu_there(&other_cpu, &node, NULL) != 0 || syscall(SYS_getcpu, NULL, &node_here, NULL);
		wrong += other_cpu != (unsigned)cpu || node != node_here;
	}
	printf("%d wrong\n", wrong);
	FAULT("movabsq $0xffffffffff600000, %%rax; movl $8, %%edi; xorl %%esi, %%esi; call *%%rax");
	FAULT("movabsq $0xffffffffff600800, %%rax; movl $8, %%edi; xorl %%esi, %%esi; xorl %%edx, %%edx; call *%%rax");
}

/* The old way to ask for the time, where the kernel has it. */
static void vsyscall(void)
{
	long now, called;

	/* Not one of its entries. */
	FAULT("movabsq $0xffffffffff600404, %%rax; call *%%rax");
	if (sigsetjmp(back, 1))
		return;
	__asm__ volatile("movq %%rsp, %0; movabsq $0xffffffffff600400, %%rax; xorl %%edi, %%edi; call *%%rax; movq %%rax, %1"
			 : "=m"(before_rsp), "=r"(called)::"rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
	FAULT("pushq $8; movabsq $0xffffffffff600000, %%rax; xorl %%edi, %%edi; xorl %%esi, %%esi; jmp *%%rax");
	now = time(NULL);
	puts(now - called < 10 && now >= called ? "the time" : "another time");
	vsyscall_others();
}

static int has_transactions(void)
{
	unsigned a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_RTM;
}

/* Transactions of TSX: where the processor has none each of the four instructions is an illegal one, or begins none. */
static void transactions(void)
{
	unsigned plain = 0, given_up = 0, faulted = 0, inside = 0;
	uint32_t *volatile nowhere = (uint32_t *)8;

	FAULT("xbegin 1f; xend; 1:");
	FAULT("xtest");
	FAULT("xabort $5");
	FAULT("xend");
	/* What they go on with when they are given up. */
	for (int i = 0; i < 3; i++) {
		FAULT("xbegin 1f; xend; jmp 2f; 1: jnz 2f; nop; 2:");
		FAULT("movl $-1, %%eax; xbegin 1f; 1: cmpl $-1, %%eax; jne 2f; xend; 2:");
		FAULT("jmp 3f; 1: loop 2f; ud2; 3: xbegin 1b; xend; 2:");
		FAULT("xbegin 1f; xend; jmp 2f; 1: xbegin 3f; xend; jmp 2f; 3: jnz 2f; nop; 2:");
		FAULT("movl $-1, %%edi; xbegin 1f; xend; movl $39, %%eax; 1: syscall");
		FAULT("leaq -128(%%rsp), %%rsp; pushfq; xbegin 1f; xend; 1: popfq; leaq 128(%%rsp), %%rsp");
	}
	if (!has_transactions())
		return;
	/* What is done in one that is given up is undone, and its end is done by the way that each has for that: once in any case. */
	for (int i = 0; i < 1000; i++) {
		__asm__ volatile("xbegin 1f; addl $1, %0; xend; jmp 2f; 1: addl $1, %0; 2:" : "+m"(plain)::"rax", "cc", "memory");
		__asm__ volatile("xbegin 1f; addl $100, %0; xabort $7; 1: addl $1, %0" : "+m"(given_up)::"rax", "cc", "memory");
		__asm__ volatile("xbegin 1f; addl $100, %0; movl $1, (%1); xend; 1: addl $1, %0" : "+m"(faulted) : "r"(nowhere) : "rax", "cc", "memory");
		__asm__ volatile("xbegin 1f; xabort $9; 1: xtest; jz 2f; addl $1, %0; 2:" : "+m"(inside)::"rax", "cc", "memory");
	}
	printf("%u %u %u, inside %u\n", plain, given_up, faulted, inside);
}

static void gs_base(void)
{
	static uint64_t words[4] = {0x1234, 0x5678, 0x9abc, 0xdef0};
	unsigned long base = 0, value = 0;

	syscall(SYS_arch_prctl, ARCH_GET_GS, &base);
	printf("%lx", base);
	syscall(SYS_arch_prctl, ARCH_SET_GS, words);
	for (int i = 0; i < 3; i++) {
		__asm__ volatile("movq %%gs:8, %0; addq $1, %%gs:16" : "=r"(value)::"memory", "cc");
		getppid();
	}
	syscall(SYS_arch_prctl, ARCH_GET_GS, &base);
	printf(" %lx %lx %d\n", value, (unsigned long)words[2], base == (unsigned long)words);
	FAULT("movabsq $0x100000000000, %%rax; movq %%gs:(%%rax), %%rax");
	syscall(SYS_arch_prctl, ARCH_SET_GS, 0);
	FAULT("movq %%gs:0x20, %%rax");
}

static void fs_base(void)
{
	unsigned long base, other = 0, self;

	syscall(SYS_arch_prctl, ARCH_GET_FS, &base);
	__asm__ volatile("movq %%fs:0, %0" : "=r"(self));
	__asm__ volatile("movq %%fs:(%1), %0" : "=r"(other) : "r"(16ul));
	printf("%d %d\n", self == base, other == self);
}

/* Runs code of all kinds with a segment register loaded, then reads it; fs is put back for the C library. */
#define WITH_SELECTOR(segment)                                                                                                        \
	static unsigned with_##segment(unsigned selector, uint64_t base)                                                              \
	{                                                                                                                             \
		register uint64_t kept __asm__("r12") = base;                                                                         \
		unsigned found = selector;                                                                                            \
                                                                                                                                      \
		__asm__ volatile("leaq -128(%%rsp), %%rsp\n\t"                                                                        \
				 "movl %0, %%" #segment "\n\tmovl %2, %%eax\n\tsyscall\n\tmovl $5, %%ecx\n1:\tcall 2f\n\tloop 1b\n\t" \
				 "jmp 3f\n2:\tret\n3:\tcpuid\n\tmovl %2, %%eax\n\tsyscall\n\tmovl %%" #segment ", %0\n\t"             \
				 "xorl %%eax, %%eax\n\tmovl %%eax, %%" #segment "\n\t"                                                \
				 "movl %3, %%eax\n\tmovl %4, %%edi\n\tmovq %1, %%rsi\n\tsyscall\n\tleaq 128(%%rsp), %%rsp"            \
				 : "+r"(found)                                                                                        \
				 : "r"(kept), "i"(SYS_getpid), "i"(SYS_arch_prctl), "i"(ARCH_SET_FS)                                  \
				 : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r11", "cc", "memory");                                  \
		return found < 4 ? 0 : found;                                                                                         \
	}
WITH_SELECTOR(ds)
WITH_SELECTOR(es)
WITH_SELECTOR(fs)
WITH_SELECTOR(gs)

/* ptrace(2) sets no selectors but 0 and those that ask for ring 3; to load others is no fault. Of null ones each return from an interrupt
 * makes 0. */
static void selectors(void)
{
	static const unsigned loaded[] = {0, 1, 2, 3, 0x28, 0x29, 0x2a, 0x2b, 0x31, 0x33};
	uint64_t base;

	syscall(SYS_arch_prctl, ARCH_GET_FS, &base);
	for (size_t i = 0; i < sizeof loaded / sizeof loaded[0]; i++)
		printf("%x %x %x %x\n", with_ds(loaded[i], base), with_es(loaded[i], base), with_fs(loaded[i], base), with_gs(loaded[i], base));
}

/* A base in the kernel's half of the addresses, which no ptrace(2) request sets either. */
static void kernel_bases(void)
{
	enum {
		HAS_FSGSBASE = 2, /* AT_HWCAP2 */
	};
	const uint64_t high = 0xffff800000001000, none = 0;
	uint64_t own, fs, gs;

	if (!(getauxval(AT_HWCAP2) & HAS_FSGSBASE))
		return;
	__asm__ volatile("rdfsbase %0; wrfsbase %3; wrgsbase %3; movl %4, %%eax; syscall; movl $5, %%ecx; 1: call 2f; loop 1b; jmp 3f; 2: ret\n"
			 "3: movl %4, %%eax; syscall; rdfsbase %1; rdgsbase %2; wrfsbase %0; wrgsbase %5"
			 : "=&r"(own), "=&r"(fs), "=&r"(gs)
			 : "r"(high), "i"(SYS_getpid), "r"(none)
			 : "rax", "rcx", "r11", "cc", "memory");
	printf("%lx %lx\n", fs, gs);
}

/* CPUID with full registers and flags of all kinds: what it gives, and what it leaves alone. */
static void ask_processor(uint32_t leaf, uint32_t subleaf)
{
	uint64_t a = leaf | 0xabcdull << 32, b = ~0ull, c = subleaf | 0x1234ull << 32, d = ~0ull, set, flags;

	for (unsigned i = 0; i < 2; i++) {
		set = i ? 0x8d5 : 0; /* OF SF ZF AF PF CF */
		a = leaf | 0xabcdull << 32;
		c = subleaf | 0x1234ull << 32;
		__asm__ volatile("pushq %[set]; popfq; cpuid; pushfq; popq %[flags]"
				 : "+a"(a), "=&b"(b), "+c"(c), "=&d"(d), [flags] "=&r"(flags) : [set] "r"(set) : "cc", "memory");
		printf("%x.%x: %llx %llx %llx %llx%s\n", leaf, subleaf, (unsigned long long)a, (unsigned long long)b, (unsigned long long)c,
		       (unsigned long long)d, (flags & 0x8d5) == set ? "" : ", other flags");
	}
}

static void cpuid(void)
{
	static const uint32_t subleaves[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 63, 0x80000000, 0xffffffff};
	static const uint32_t first[] = {0, 0x80000000};

	stay_on_one_cpu(); /* some leaves number the processor */
	for (size_t i = 0; i < sizeof first / sizeof first[0]; i++)
		for (uint32_t leaf = first[i]; leaf <= __get_cpuid_max(first[i], NULL); leaf++)
			for (size_t k = 0; k < sizeof subleaves / sizeof subleaves[0]; k++)
				ask_processor(leaf, subleaves[k]);
}

/* Behind arch_prctl(ARCH_SET_CPUID) it traps, in a child, too. */
static void cpuid_trap(void)
{
	int status = 0;

	FAULT("xorl %%eax, %%eax; cpuid");
	if (syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0)) {
		puts("this processor's does not trap");
		return;
	}
	FAULT("xorl %%eax, %%eax; cpuid");
	FAULT("movl $4, %%eax; stc; cpuid");
	fflush(stdout);
	if (!fork()) {
		FAULT("movl $7, %%eax; cpuid");
		fflush(stdout);
		_exit(3);
	}
	wait(&status);
	printf("%x\n", (unsigned)status);
	syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1);
	FAULT("xorl %%eax, %%eax; cpuid");
}

static ucontext_t contexts[3];
static int trail[16], trails;

static void walk(int number)
{
	for (int i = 0; i < 4; i++) {
		trail[trails++] = number * 10 + i;
		swapcontext(&contexts[number], &contexts[3 - number]);
	}
}

static void swap_contexts(void)
{
	static char stacks[2][65536];

	for (int i = 1; i < 3; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i - 1];
		contexts[i].uc_stack.ss_size = sizeof stacks[0];
		contexts[i].uc_link = &contexts[0];
		makecontext(&contexts[i], (void (*)(void))walk, 1, i);
	}
	swapcontext(&contexts[0], &contexts[1]);
	for (int i = 0; i < trails; i++)
		printf("%d ", trail[i]);
	putchar('\n');
}

static __attribute__((noinline)) int descend(int n)
{
	void *frames[80];
	int count;

	if (n)
		return descend(n - 1) + 1;
	count = backtrace(frames, 80);
	for (int i = 0; i < count; i++)
		printf("%s ", place((uintptr_t)frames[i]));
	return count;
}

static void deep_backtrace(void) { printf("%d\n", descend(50)); }

/* The program's own filter: one call fails, another raises SIGSYS, whose frame says which. */
static void own_seccomp(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 77),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgrp, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		puts("no filters here");
		return;
	}
	printf("%ld ", syscall(SYS_getppid));
	printf("%d\n", errno);
	FAULT("movl $111, %%eax; syscall");
}

static void limits(void)
{
	struct rlimit limit;
	void *more;

	getrlimit(RLIMIT_STACK, &limit);
	printf("%d ", limit.rlim_cur >= 65536);
	limit.rlim_cur = limit.rlim_max = 1ul << 30;
	printf("%d ", setrlimit(RLIMIT_DATA, &limit));
	more = malloc(1 << 20);
	printf("%d ", more != NULL);
	more = malloc(2ul << 30);
	printf("%d\n", more != NULL);
}

/* The trap flag set by the program itself: each instruction traps once. */
static volatile int steps;
static uint64_t stepped[64];

static void on_step(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	if (steps < 64)
		stepped[steps] = (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	steps++;
}

static void single_step(void)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};

	sigaction(SIGTRAP, &action, NULL);
	__asm__ volatile("pushfq; orl $0x100, (%%rsp); popfq; nop; movl $3, %%ecx; 1: decl %%ecx; jnz 1b; call 2f; jmp 3f; 2: ret; 3: xorl %%eax, %%eax; cpuid\n"
			 "pushfq; andl $~0x100, (%%rsp); popfq; nop"
			 ::: "rax", "rbx", "rcx", "rdx", "cc", "memory");
	for (int i = 0; i < steps; i++)
		printf("%s ", place(stepped[i]));
	printf("%d\n", steps);
}

static const struct {
	const char *name;
	void (*run)(void);
} table[] = {
	{"int3", int3}, {"long-int3", long_int3}, {"ud2", ud2}, {"divide", divide}, {"fpe-sse", fpe_sse}, {"x87-compare", x87_compare}, {"null-call", null_call}, {"wild-call", wild_call},
	{"wild-jump", wild_jump}, {"wild-return", wild_return}, {"null-jump", null_jump}, {"bad-load", bad_load}, {"bad-store", bad_store},
	{"privileged", privileged}, {"vsyscall", vsyscall}, {"gs-base", gs_base}, {"fs-base", fs_base}, {"selectors", selectors}, {"kernel-bases", kernel_bases},
	{"contexts", swap_contexts}, {"transactions", transactions},
	{"deep-backtrace", deep_backtrace}, {"seccomp", own_seccomp}, {"limits", limits}, {"single-step", single_step},
	{"cpuid", cpuid}, {"cpuid-trap", cpuid_trap}, {"locked", locked}, {"enter-nested", enter_nested}, {"astray", astray}, {"rip-relative", rip_relative},
	{"string-compare", string_compare}, {"after-jump", after_jump}, {"long-branches", long_branches}, {"loop-prefix", loop_prefix},
	 {"without-sib", without_sib}, {"code-32", code_32},
};

int main(int argc, char **argv)
{
	static char memory[1 << 16];
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};

	sigaltstack(&stack, NULL);
	catch_faults();
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		if (argc < 2)
			puts(table[i].name);
		else if (!strcmp(argv[1], table[i].name)) {
			table[i].run();
			return 0;
		}
	}
	return argc < 2 ? 0 : 2;
}
