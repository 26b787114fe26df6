/* Each way to save the address of the x87 instruction that was executed last, and how signal handlers see it. Says of each whose it is:
 * none (0), one of the program's own, or another's; and what else the processor writes near it. With "crash": dies behind such an
 * instruction, with a second thread. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <fenv.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { CANARY = 0xa5, AREA = 1600, ROUNDS = 2 };

extern const char __executable_start[], etext[];
static _Alignas(64) unsigned char area[AREA];
static sigjmp_buf back;

static uint64_t number(size_t at, size_t n)
{
	uint64_t v = 0;

	memcpy(&v, area + at, n);
	return v;
}

/* Of the address's n lowest bytes. */
static const char *whose(uint64_t addr, size_t n)
{
	uint64_t mask = n == 8 ? UINT64_MAX : (1ull << 8 * n) - 1, start = (uintptr_t)__executable_start, end = (uintptr_t)etext;

	if (!addr)
		return "none";
	if (!((addr ^ 0xa5a5a5a5a5a5a5a5) & mask))
		return "not written";
	return ((addr - start) & mask) < end - start ? "own" : "another's";
}

/* Behind the x87 instruction, which is in another fragment, and in the same: flags are alive, rcx and r11 known. */
#define SAVE(text, mask) do { \
	for (int round = 0; round < ROUNDS; round++) { \
		memset(area, fill, sizeof area); \
		__asm__ volatile("fninit; fldpi; jmp 1f; 1: movq %0, %%rbx; movq %0, %%r11; movq %0, %%r12; movq %0, %%r13; xorl %%ecx, %%ecx; movl %1, %%eax; xorl %%edx, %%edx; stc\n\t" \
				 text "\n\tjc 2f; ud2; 2: jrcxz 3f; ud2; 3: cmp %0, %%r11; je 4f; ud2; 4: cmpl %1, %%eax; je 5f; ud2; 5:" \
				 ::"r"(area), "i"(mask) : "rax", "rbx", "rcx", "rdx", "r11", "r12", "r13", "memory", "cc", "st"); \
		__asm__ volatile("fninit"); \
	} \
} while (0)

/* The state begins at start; its n bytes at `at` are the address; so many behind them are the same everywhere. */
static void tell(const char *text, size_t start, size_t at, size_t n, size_t behind)
{
	printf("%s: %s;", text, whose(number(start + at, n), n));
	for (size_t i = 0; i < behind; i++)
		printf(" %02x", area[start + at + n + i]);
	printf(" control %lx\n", (unsigned long)number(start, 2));
}

#define TELL(text, mask, start, at, n, behind) do { \
	SAVE(text, mask); \
	tell(text, start, at, n, behind); \
} while (0)

static void environments(int fill)
{
	TELL("fnstenv (%%rbx)", 0, 0, 12, 4, 0);
	TELL("fnstenv 16(%%rbx)", 0, 16, 12, 4, 0);
	TELL("fnstenv 1024(%%r12)", 0, 1024, 12, 4, 0);
	TELL("fnstenv (%%r13, %%rcx, 4)", 0, 0, 12, 4, 0);
	TELL("fnstenv (%%r11)", 0, 0, 12, 4, 0);
	TELL("fnstenv area(%%rip)", 0, 0, 12, 4, 0);
	TELL(".byte 0x66; fnstenv (%%rbx)", 0, 0, 6, 2, 2);
	TELL(".byte 0x66, 0x48, 0xd9, 0x33", 0, 0, 12, 4, 0); /* fnstenv (%rbx) */
	TELL("fnsave (%%r11)", 0, 0, 12, 4, 0);
	TELL(".byte 0x66; fnsave area(%%rip)", 0, 0, 6, 2, 2);
}

static void states(int fill)
{
	TELL("fxsave (%%rbx)", 0, 0, 8, 4, 4);
	TELL("fxsave64 (%%rbx)", 0, 0, 8, 8, 0);
	TELL("fxsave64 area(%%rip)", 0, 0, 8, 8, 0);
	TELL("fxsave64 64(%%r11, %%rcx, 8)", 0, 64, 8, 8, 0);
}

static void parts(int fill)
{
	unsigned a, b = 0, c = 0, d;

	__cpuid(1, a, b, c, d);
	if (!(c & bit_OSXSAVE))
		return;
	TELL("xsave (%%rbx)", 3, 0, 8, 4, 4);
	TELL("xsave64 (%%r11)", 3, 0, 8, 8, 0);
	TELL("xsave64 area(%%rip)", 3, 0, 8, 8, 0);
	TELL("xsave64 (%%rbx)", 2, 0, 8, 8, 0);
	__cpuid_count(0xd, 1, a, b, c, d);
	if (a & 1) {
		TELL("xsaveopt (%%rbx)", 3, 0, 8, 4, 4);
		TELL("xsaveopt64 area(%%rip)", 3, 0, 8, 8, 0);
	}
	if (a & 2) {
		TELL("xsavec (%%r13, %%rcx)", 3, 0, 8, 4, 4);
		TELL("xsavec64 area(%%rip)", 3, 0, 8, 8, 0);
		TELL("xsavec64 (%%r12)", 2, 0, 8, 8, 0);
	}
}

/* What is not saved is not written. */
static void untouched(void)
{
	unsigned a, b = 0, c, d;

	__cpuid_count(0xd, 1, a, b, c, d);
	if (!(a & 2))
		return;
	for (int mask = 2; mask < 4; mask++) {
		memset(area, CANARY, sizeof area);
		__asm__ volatile("fninit; xsavec64 (%0)" ::"r"(area), "a"(mask), "d"(0) : "memory");
		/* A processor may have the unit in use all the same. */
		printf("nothing to save, mask %d: %s\n", mask, number(512, 1) & 1 || number(8, 8) == 0xa5a5a5a5a5a5a5a5 ? "not written" : "written");
	}
}

static uint64_t frame_address(const void *context)
{
	return ((const ucontext_t *)context)->uc_mcontext.fpregs->rip;
}

static void on_signal(int signo, siginfo_t *info, void *context)
{
	uint64_t addr = frame_address(context);

	(void)info;
	printf("signal %d: %s\n", signo, whose(addr, 8));
	if (signo != SIGUSR1)
		siglongjmp(back, 1);
}

static void handle(void)
{
	static const int signals[] = {SIGUSR1, SIGSEGV, SIGFPE};
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};

	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
		sigaction(signals[i], &action, NULL);
}

static void frames(void)
{
	handle();
	__asm__ volatile("fldpi; fstp %%st(0)" ::: "st");
	raise(SIGUSR1);
	if (!sigsetjmp(back, 1))
		__asm__ volatile("fldpi; fstp %%st(0); movl %%eax, 8" ::: "st", "memory");
	__asm__ volatile("fninit");
	feenableexcept(FE_DIVBYZERO);
	if (!sigsetjmp(back, 1))
		__asm__ volatile("fldz; fld1; fdiv %%st(1), %%st; fstp %%st(0); fstp %%st(0); fwait" ::: "st");
	__asm__ volatile("fninit");
}

/* The parent's last x87 instruction is the child's, too. */
static void child(void)
{
	pid_t pid;

	fflush(stdout);
	__asm__ volatile("fldpi; fstp %%st(0)" ::: "st");
	pid = fork();
	if (!pid) {
		__asm__ volatile("fnstenv (%0)" ::"r"(area) : "memory");
		tell("in the child", 0, 12, 4, 0);
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	__asm__ volatile("fnstenv (%0)" ::"r"(area) : "memory");
	tell("in the parent", 0, 12, 4, 0);
}

static void relative_to_fs(void)
{
	static __thread unsigned char env[28];

	__asm__ volatile("fldpi; fstp %%st(0); fnstenv %0" : "=m"(env)::"st");
	memcpy(area, env, sizeof env);
	tell("of the thread's own", 0, 12, 4, 0);
}

/* In code that may change. */
static void written(void)
{
	static const uint8_t code[] = {0xd9, 0xeb, 0xdd, 0xd8, 0xd9, 0x37, 0xc3}; /* fldpi; fstp st(0); fnstenv [rdi]; ret */
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(page, code, sizeof code);
	((void (*)(void *))(uintptr_t)page)(area);
	printf("in written code: %s\n", !number(12, 4) ? "none" : number(12, 4) == (uint32_t)(uintptr_t)page + 2 ? "own" : "another's");
}

/* A core file has what all threads did last. */
static void *pause_behind_x87(void *ready)
{
	__asm__ volatile("fldpi; fstp %%st(0)" ::: "st");
	sem_post(ready);
	pause();
	return NULL;
}

static void crash(void)
{
	pthread_t thread;
	sem_t ready;

	sem_init(&ready, 0, 0);
	if (pthread_create(&thread, NULL, pause_behind_x87, &ready))
		return;
	sem_wait(&ready);
	__asm__ volatile("fldpi; fstp %%st(0); movl %%eax, 8" ::: "st", "memory");
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "crash")) {
		crash();
		return 1;
	}
	environments(CANARY);
	states(CANARY);
	parts(0);
	parts(CANARY);
	untouched();
	frames();
	child();
	relative_to_fs();
	written();
	return 0;
}
