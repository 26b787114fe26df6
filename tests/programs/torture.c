// SPDX-License-Identifier: MIT
/* torture NAME [COUNT [LONGEST]]: signals as fast as timers allow, while registers hold known values at every instruction. What is
 * printed does not depend on when they come. Each handler sets the next alarm, 20 to LONGEST microseconds later: with a steady interval a
 * recorder that needs longer for a signal would see nothing but handlers. tests/e2e/engine_signals.py */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

extern const char __executable_start[], etext[];

static volatile sig_atomic_t alarms, wrong_rip, depth, deepest;
static long wanted = 300, longest = 400;
static uint64_t randomness = 1;
static sigjmp_buf back;

static void on(int signo, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = flags | SA_SIGINFO};

	sigaction(signo, &action, NULL);
}

/* The next alarm. */
static void set_alarm(void)
{
	struct itimerval timer = {.it_value = {.tv_usec = 20}};

	randomness = randomness * 6364136223846793005 + 1442695040888963407;
	timer.it_value.tv_usec += (long)((randomness >> 33) % (uint64_t)longest);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void no_more_alarms(void)
{
	struct itimerval none = {0};

	setitimer(ITIMER_REAL, &none, NULL);
}

static void alternative_stack(void)
{
	static char memory[1 << 16];
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};

	sigaltstack(&stack, NULL);
}

/* The program is static: all of its code lies between these. */
static void check_rip(const ucontext_t *context)
{
	uintptr_t rip = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];

	if (rip < (uintptr_t)__executable_start || rip >= (uintptr_t)etext)
		wrong_rip++;
}

/* Leaves nothing of what the interrupted code had in registers that a call may change. */
static void dirty(void)
{
	__asm__ volatile("movq $-1, %%rax; movq %%rax, %%rcx; movq %%rax, %%rdx; movq %%rax, %%rsi; movq %%rax, %%rdi; movq %%rax, %%r8; movq %%rax, %%r9\n"
			 "movq %%rax, %%r10; movq %%rax, %%r11; pcmpeqd %%xmm0, %%xmm0; movaps %%xmm0, %%xmm7; movaps %%xmm0, %%xmm15; fninit; fldpi; fstp %%st\n"
			 "addq %%rax, %%rax"
			 ::: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0", "xmm7", "xmm15", "cc", "memory");
}

static void on_alarm(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	check_rip(context);
	alarms++;
	set_alarm();
	dirty();
}

/* All sixteen registers, rsp among them, flags and vector registers hold what was put there. Returns the number of wrong ones. */
static long registers_round(void)
{
	uint64_t bad = 0;

	__asm__ volatile("pushq %%rbp\n"
			 "movq %%rsp, %%rbp\n"
			 "pushq %%rbx\n"
			 "movabsq $0x1111111111111111, %%rax; movabsq $0x2222222222222222, %%rbx; movabsq $0x3333333333333333, %%rcx\n"
			 "movabsq $0x4444444444444444, %%rdx; movabsq $0x5555555555555555, %%rsi; movabsq $0x6666666666666666, %%rdi\n"
			 "movabsq $0x8888888888888888, %%r8; movabsq $0x9999999999999999, %%r9; movabsq $0xaaaaaaaaaaaaaaaa, %%r10\n"
			 "movabsq $0xbbbbbbbbbbbbbbbb, %%r11; movabsq $0xcccccccccccccccc, %%r12; movabsq $0xdddddddddddddddd, %%r13\n"
			 "movabsq $0xeeeeeeeeeeeeeeee, %%r14; movq %%r11, %%xmm3; movq %%r14, %%xmm15; xorl %%r15d, %%r15d\n"
			 /* Flags: carry and overflow kept through a chain of instructions that leave them, or set them anew. */
			 "stc\n"
			 ".rept 8\n"
			 "jnc 1f; leaq 1(%%r15), %%r15; jmp 2f; 1: leaq 100(%%r15), %%r15; 2: incq %%r11; decq %%r11; movq %%r11, %%xmm4; jc 3f; ud2; 3:\n"
			 "call 4f; jmp 5f; 4: jnc 6f; ret; 6: ud2; 5: pushq %%r10; popq %%r10; jc 7f; ud2; 7:\n"
			 ".endr\n"
			 "movq %%r12, -16(%%rbp)\n" /* below the stack pointer, where nobody else may write */
			 "lahf; testb $1, %%ah; jz 9f; subq $8, %%r15; jnz 9f\n"
			 "movabsq $0x2222222222222222, %%r15; cmpq %%r15, %%rbx; jne 9f\n"
			 "addq $0x11111111, %%r15; subq $0x11111111, %%r15; cmpq %%rbx, %%r15; jne 9f\n"
			 "movabsq $0x3333333333333333, %%rbx; cmpq %%rbx, %%rcx; jne 9f\n"
			 "movabsq $0x4444444444444444, %%rcx; cmpq %%rcx, %%rdx; jne 9f\n"
			 "movabsq $0x5555555555555555, %%rcx; cmpq %%rcx, %%rsi; jne 9f\n"
			 "movabsq $0x6666666666666666, %%rcx; cmpq %%rcx, %%rdi; jne 9f\n"
			 "movabsq $0x8888888888888888, %%rcx; cmpq %%rcx, %%r8; jne 9f\n"
			 "movabsq $0x9999999999999999, %%rcx; cmpq %%rcx, %%r9; jne 9f\n"
			 "movabsq $0xaaaaaaaaaaaaaaaa, %%rcx; cmpq %%rcx, %%r10; jne 9f\n"
			 "movabsq $0xbbbbbbbbbbbbbbbb, %%rcx; cmpq %%rcx, %%r11; jne 9f; movq %%xmm3, %%rdx; cmpq %%rcx, %%rdx; jne 9f\n"
			 "movabsq $0xcccccccccccccccc, %%rcx; cmpq %%rcx, %%r12; jne 9f; cmpq -16(%%rbp), %%r12; jne 9f\n"
			 "movabsq $0xdddddddddddddddd, %%rcx; cmpq %%rcx, %%r13; jne 9f\n"
			 "movabsq $0xeeeeeeeeeeeeeeee, %%rcx; cmpq %%rcx, %%r14; jne 9f; movq %%xmm15, %%rdx; cmpq %%rcx, %%rdx; jne 9f\n"
			 "xorl %%eax, %%eax; jmp 10f\n"
			 "9: movl $1, %%eax\n"
			 "10: popq %%rbx; popq %%rbp\n"
			 : "=a"(bad)::"rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm3", "xmm4", "xmm15", "cc", "memory");
	return (long)bad;
}

static void rounds(void)
{
	long bad = 0;

	while (alarms < wanted)
		bad += registers_round();
	printf("%ld rounds came out wrong, %d addresses were not the program's\n", bad, (int)wrong_rip);
}

static void registers(void)
{
	on(SIGALRM, on_alarm, SA_RESTART);
	set_alarm();
	rounds();
}

static void registers_on_alternative_stack(void)
{
	alternative_stack();
	on(SIGALRM, on_alarm, SA_RESTART | SA_ONSTACK);
	set_alarm();
	rounds();
}

/* Nested: the handler lets itself be interrupted until it is so deep; deeper where alarms come faster than it returns, but no more of them
 * than are wanted. */
static void on_nested(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	check_rip(context);
	if (++alarms < wanted)
		set_alarm();
	if (++depth > deepest)
		deepest = depth;
	if (depth < 5) {
		long seen = alarms;

		while (alarms == seen && alarms < wanted)
			if (registers_round())
				abort();
	}
	depth--;
	dirty();
}

static void nested(void)
{
	on(SIGALRM, on_nested, SA_NODEFER | SA_RESTART);
	set_alarm();
	rounds();
	printf("depth %s\n", deepest >= 5 ? "reached" : "not reached");
}

/* Out of handlers by siglongjmp, whose mask goes back. */
static void on_jump(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	check_rip(context);
	alarms++;
	set_alarm();
	siglongjmp(back, 1);
}

static void jumps(void)
{
	static volatile long bad;
	sigset_t now;

	on(SIGALRM, on_jump, 0);
	sigsetjmp(back, 1);
	sigprocmask(SIG_BLOCK, NULL, &now);
	bad += sigismember(&now, SIGALRM);
	if (!alarms)
		set_alarm();
	while (alarms < wanted)
		bad += registers_round();
	no_more_alarms(); /* one of them would come back here */
	printf("%ld wrong\n", bad);
}

/* The handler edits the interrupted registers: the loop below waits for that. */
static void on_edit(int signo, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)signo;
	(void)info;
	check_rip(context);
	alarms++;
	set_alarm();
	if (r[REG_RBX] == 0x1234567 && r[REG_R15] == 0x7654321) {
		r[REG_R11] = 0x77;
		r[REG_RAX] = 0x88;
		r[REG_RCX] = 0x99;
		r[REG_R14] = 0xaa;
		r[REG_RBX] = 0;
	}
}

static void edits(void)
{
	long bad = 0;

	on(SIGALRM, on_edit, 0);
	set_alarm();
	while (alarms < wanted) {
		uint64_t r11, rax, rcx, r14;

		__asm__ volatile("xorl %%r11d, %%r11d; movl $0x7654321, %%r15d; movl $0x1234567, %%ebx\n" /* from the last one on it may be edited */
				 "1: leaq (%%rbx), %%r12; xchgq %%r12, %%r13; testq %%rbx, %%rbx; jnz 1b\n"
				 "movq %%r11, %0; movq %%r14, %3"
				 : "=&r"(r11), "=&a"(rax), "=&c"(rcx), "=&d"(r14)::"rbx", "r11", "r12", "r13", "r14", "r15", "cc", "memory");
		bad += r11 != 0x77 || rax != 0x88 || rcx != 0x99 || r14 != 0xaa;
	}
	printf("%ld wrong\n", bad);
}

/* The handler moves the interrupted program elsewhere. */
static volatile long landed;

static void on_move(int signo, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)signo;
	(void)info;
	check_rip(context);
	alarms++;
	set_alarm();
	if (r[REG_RBX] == 0x1234567)
		r[REG_RIP] = r[REG_R12];
}

static void moves(void)
{
	on(SIGALRM, on_move, 0);
	set_alarm();
	while (alarms < wanted) {
		__asm__ volatile("movl $0x1234567, %%ebx; leaq 2f(%%rip), %%r12; 1: incq %%rax; jmp 1b; 2: xorl %%ebx, %%ebx; incq %0" : "+m"(landed)::"rax", "rbx", "r12", "cc");
		if (landed < 0)
			break;
	}
	printf("landed %s\n", landed > 0 ? "there" : "nowhere");
}

/* String instructions are interrupted between iterations and go on. */
static void strings(void)
{
	static unsigned char from[60000], to[60000];
	long bad = 0;

	for (size_t i = 0; i < sizeof from; i++)
		from[i] = (unsigned char)(i * 7);
	on(SIGALRM, on_alarm, 0);
	set_alarm();
	for (unsigned int round = 0; alarms < wanted; round++) {
		void *d = to, *s = from;
		size_t n = sizeof from;

		from[round % sizeof from] ^= 0x55;
		__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n)::"memory");
		bad += n || d != to + sizeof to || s != from + sizeof from || memcmp(from, to, sizeof to);
	}
	printf("%ld wrong\n", bad);
}

/* System calls: interrupted ones are restarted or fail with EINTR, never anything else; rcx and r11 are as the kernel leaves them. */
static void calls(void)
{
	int ends[2];
	long bad = 0, done = 0;
	char byte = 1;

	on(SIGALRM, on_alarm, SA_RESTART);
	if (pipe(ends))
		exit(3);
	set_alarm();
	while (alarms < wanted) {
		uint64_t rcx, r11, next, result;

		bad += write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1 || byte != 1;
		__asm__ volatile("syscall; 1: leaq 1b(%%rip), %3; movq %%r11, %2"
				 : "=a"(result), "=&c"(rcx), "=&r"(r11), "=&r"(next)
				 : "a"(SYS_getppid)
				 : "r11", "memory", "cc");
		bad += rcx != next || (r11 & 0xffff0002) != 2 || (long)result != getppid();
		done++;
	}
	printf("%ld wrong, %s\n", bad, done ? "some done" : "none done");
}

static void sleeps(void)
{
	long interrupted = 0, other = 0;

	on(SIGALRM, on_alarm, 0);
	set_alarm();
	while (alarms < wanted) {
		struct timespec length = {.tv_nsec = 5000000};
		int result = nanosleep(&length, &length);

		interrupted += result < 0 && errno == EINTR;
		other += result < 0 && errno != EINTR;
	}
	printf("%s, %ld otherwise\n", interrupted ? "interrupted" : "never interrupted", other);
}

/* Several threads, each with a timer of its own that signals it. */
static _Thread_local volatile long own_alarms;
static _Thread_local timer_t own_timer;

static void set_own_timer(void)
{
	struct itimerspec when = {.it_value = {.tv_nsec = 20000 + own_alarms * 7919 % (longest * 1000)}};

	timer_settime(own_timer, 0, &when, NULL);
}

static void on_own(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	check_rip(context);
	own_alarms++;
	set_own_timer();
	dirty();
}

static void *thread_rounds(void *result)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 3};

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif
	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &event, &own_timer))
		exit(3);
	set_own_timer();
	while (own_alarms < wanted / 4)
		*(long *)result += registers_round();
	timer_delete(own_timer);
	return NULL;
}

static void threads(void)
{
	pthread_t thread[3];
	long bad[3] = {0};

	on(SIGRTMIN + 3, on_own, SA_RESTART);
	for (int i = 0; i < 3; i++)
		if (pthread_create(&thread[i], NULL, thread_rounds, &bad[i]))
			exit(3);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	printf("%ld wrong, %d addresses\n", bad[0] + bad[1] + bad[2], (int)wrong_rip);
}

/* Queued real-time signals come all, in order, with their values. */
static volatile long queued_sum, queued_order;

static void on_queued(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	check_rip(context);
	queued_order += info->si_value.sival_int != queued_sum + 1;
	queued_sum = info->si_value.sival_int;
}

static void queued(void)
{
	on(SIGRTMIN + 1, on_queued, 0);
	on(SIGALRM, on_alarm, SA_RESTART);
	set_alarm();
	for (int i = 1; i <= 400; i++) {
		sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = i});
		if (registers_round())
			abort();
	}
	printf("last %ld, %ld out of order\n", queued_sum, queued_order);
}

/* Faults while alarms come: both handlers see the program's registers. */
static volatile long faults_wrong;

static void on_fault(int signo, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)signo;
	faults_wrong += info->si_addr != (void *)0x1230 || r[REG_RAX] != 0x1230 || r[REG_R11] != 0x4567 || r[REG_RIP] != r[REG_RDX];
	r[REG_RIP] += 3; /* the length of movq %rax, (%rax) */
}

static void faults(void)
{
	on(SIGSEGV, on_fault, 0);
	on(SIGALRM, on_alarm, 0);
	set_alarm();
	while (alarms < wanted)
		__asm__ volatile("movl $0x1230, %%eax; movl $0x4567, %%r11d; leaq 1f(%%rip), %%rdx; 1: movq %%rax, (%%rax); cmpl $0x4567, %%r11d; je 2f; ud2; 2:"
				 ::: "rax", "rdx", "r11", "cc", "memory");
	printf("%ld wrong\n", faults_wrong);
}

/* A page of code that is written and run by turns, now and then in a handler: a recorder's calls to protect it are interrupted, too. */
static unsigned char *jit_page;
static volatile long jit_wrong;

static int jit_call(unsigned char *at, int value)
{
	at[0] = 0xb8; /* mov $value, %eax; ret */
	memcpy(at + 1, &value, sizeof value);
	at[5] = 0xc3;
	return ((int (*)(void))(void *)at)();
}

static void on_jit_alarm(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	(void)context;
	alarms++;
	if (alarms % 3 == 0)
		jit_wrong += jit_call(jit_page + 64, (int)alarms) != (int)alarms;
	set_alarm();
}

static void written_code(void)
{
	int value = 0;

	jit_page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	on(SIGALRM, on_jit_alarm, 0);
	set_alarm();
	while (alarms < 3 * wanted) {
		for (int i = 0; i < 5; i++, value++)
			jit_wrong += jit_call(jit_page, value) != value;
		for (volatile int wait = 0; wait < 1000; wait++)
			; /* else the page is soon no longer protected */
	}
	printf("%ld wrong\n", jit_wrong);
}

static const struct {
	const char *name;
	void (*run)(void);
} table[] = {
	{"registers", registers}, {"alternative-stack", registers_on_alternative_stack}, {"nested", nested}, {"jumps", jumps}, {"edits", edits},
	{"moves", moves}, {"strings", strings}, {"calls", calls}, {"sleeps", sleeps}, {"threads", threads}, {"queued", queued}, {"faults", faults},
	{"written-code", written_code},
};

int main(int argc, char **argv)
{
	if (argc > 2)
		wanted = atol(argv[2]);
	if (argc > 3)
		longest = atol(argv[3]);
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		if (argc < 2)
			puts(table[i].name);
		else if (!strcmp(argv[1], table[i].name)) {
			table[i].run();
			no_more_alarms();
			return 0;
		}
	}
	return argc < 2 ? 0 : 2;
}
