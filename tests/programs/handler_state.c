// SPDX-License-Identifier: MIT
/* handler_state NAME: what handlers are asked for with, find in their frames and change there: children that nobody waits for, an alternative
 * stack that is taken away meanwhile, flags that no kernel knows, floating point and vectors. Prints the same wherever it runs.
 * tests/e2e/engine_signals.py */
#include <cpuid.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

enum {
	STACK = 1 << 16,
};

static void handle(int signo, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};

	sigaction(signo, &action, NULL);
}

/* Children that nobody waits for --------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t told, told_code, told_status;

static void on_child(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)context;
	told++;
	told_code = info->si_code;
	told_status = info->si_status;
}

static void wait_for_children(const char *how, int n)
{
	int status = 0, first = 0;
	pid_t pid, got;

	fflush(stdout);
	told = told_code = told_status = 0;
	for (int i = 0; i < n; i++) {
		pid = fork();
		if (!pid) {
			usleep((useconds_t)i * 3000);
			_exit(3 + i);
		}
		if (!i)
			first = pid;
	}
	do
		got = wait(&status);
	while (got < 0 && errno == EINTR);
	printf("%s: %s %d status %x, ", how, got < 0 ? "none" : got == first ? "the first" : "another", got < 0 ? errno : 0, (unsigned)status);
	if (n > 1) /* how often, and of which, depends on who is faster */
		printf("told %s\n", told ? "yes" : "no");
	else
		printf("told %d, code %d status %d\n", told, told_code, told_status);
	while (wait(NULL) > 0)
		;
}

static void no_child_wait(void)
{
	struct sigaction action = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT};
	pid_t pid;
	int status;

	wait_for_children("plain", 1);
	handle(SIGCHLD, on_child, SA_NOCLDWAIT);
	wait_for_children("told", 1);
	wait_for_children("told of three", 3);
	sigaction(SIGCHLD, NULL, &action);
	printf("flags %x\n", (unsigned)action.sa_flags & ~0x4000000u); /* SA_RESTORER: the library's */
	action = (struct sigaction){.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT};
	sigaction(SIGCHLD, &action, NULL);
	wait_for_children("not told", 1);
	wait_for_children("not told of two", 2);
	signal(SIGCHLD, SIG_IGN);
	wait_for_children("ignored", 1);
	handle(SIGCHLD, on_child, 0);
	wait_for_children("handled", 1);
	/* One that only stops. */
	handle(SIGCHLD, on_child, SA_NOCLDSTOP | SA_RESTART);
	told = 0;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		raise(SIGSTOP);
		_exit(9);
	}
	waitpid(pid, &status, WUNTRACED);
	printf("stopped %x, told %d\n", (unsigned)status, told);
	kill(pid, SIGCONT);
	waitpid(pid, &status, 0);
	printf("ended %x, told %d\n", (unsigned)status, told);
}

/* An alternative stack that is taken away while a handler runs on it ------------------------------------------------------------------ */

static char stacks[2][STACK];
static sigjmp_buf back;
static int depth;
static bool nests, changes, leaves;

static const char *which(const void *at)
{
	for (int i = 0; i < 2; i++)
		if ((const char *)at >= stacks[i] && (const char *)at < stacks[i] + STACK)
			return i ? "second" : "first";
	return at ? "other" : "none";
}

static void show_stack(const char *where)
{
	stack_t s;

	sigaltstack(NULL, &s);
	printf("%s: %s, flags %x, %d bytes\n", where, which(s.ss_sp), (unsigned)s.ss_flags, (int)s.ss_size);
}

static void on_stack(int signo, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	stack_t second = {.ss_sp = stacks[1], .ss_size = STACK};

	printf("signal %d at depth %d runs on: %s; frame: %s, flags %x\n", signo, depth, which(&u), which(u->uc_stack.ss_sp), (unsigned)u->uc_stack.ss_flags);
	show_stack("  meanwhile");
	if (info->si_code > 0) /* the fault below */
		u->uc_mcontext.gregs[REG_RIP] += 3;
	if (depth++)
		return;
	if (changes)
		printf("  another: %d\n", sigaltstack(&second, NULL));
	if (nests)
		raise(SIGUSR2);
	if (leaves)
		siglongjmp(back, 1);
}

static void autodisarm(void)
{
	stack_t first = {.ss_sp = stacks[0], .ss_size = STACK, .ss_flags = (int)SS_AUTODISARM}, small = first;

	handle(SIGUSR1, on_stack, SA_ONSTACK);
	handle(SIGUSR2, on_stack, SA_ONSTACK);
	handle(SIGSEGV, on_stack, SA_ONSTACK);
	small.ss_size = 100;
	printf("%d ", sigaltstack(&small, NULL));
	printf("%d\n", errno);
	for (int i = 0; i < 8; i++) {
		nests = i & 1;
		changes = i & 2;
		leaves = i & 4;
		printf("set: %d\n", sigaltstack(&first, NULL));
		show_stack("before");
		depth = 0;
		if (!sigsetjmp(back, 1))
			raise(SIGUSR1);
		show_stack("behind");
	}
	sigaltstack(&first, NULL);
	for (int i = 0; i < 3; i++) {
		depth = 1;
		__asm__ volatile(".byte 0xc6, 0x00, 0x01" ::"a"(8) : "memory"); /* movb $1, (%rax) */
		show_stack("behind a fault");
	}
	fflush(stdout);
	if (!fork()) {
		show_stack("child");
		depth = 1;
		raise(SIGUSR1);
		show_stack("child, behind");
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
}

/* Flags that are set, and what the kernel says are ---------------------------------------------------------------------------------- */

/* The kernel's own form: a library adds flags. */
struct kernel_action {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

static void unknown_flags(void)
{
	static const int signals[] = {SIGUSR1, SIGSEGV, SIGTRAP, SIGCHLD, SIGILL, 40};
	struct kernel_action action, before;
	struct sigaction known;

	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
		unsigned long kept = 0, other = 0;

		for (int bit = 0; bit < 33; bit++) {
			unsigned long flags = bit < 32 ? 1ul << bit : 0xffffffff;

			action = (struct kernel_action){.handler = on_child, .flags = flags};
			syscall(SYS_rt_sigaction, signals[i], &action, NULL, 8);
			syscall(SYS_rt_sigaction, signals[i], NULL, &before, 8);
			kept |= bit < 32 ? before.flags & flags : 0;
			other |= before.flags & ~flags;
			syscall(SYS_rt_sigaction, signals[i], &action, &before, 8);
			other |= before.flags & ~flags;
			if (bit == 32)
				printf("signal %d: of all %lx", signals[i], before.flags);
		}
		printf(", one by one %lx, others %lx\n", kept, other);
	}
	/* Such a handler runs as others do. */
	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
		handle(signals[i], on_child, 0x400 | 0x800 | 0x1000); /* SA_UNSUPPORTED, SA_EXPOSE_TAGBITS, one of nobody's */
		sigaction(signals[i], NULL, &known);
		told = 0;
		raise(signals[i]);
		printf("signal %d: flags %x, told %d\n", signals[i], (unsigned)known.sa_flags & ~0x4000000u, told);
	}
}

/* Floating point and vectors -------------------------------------------------------------------------------------------------------- */

enum {
	SOFTWARE = 464, /* bytes of the frame's state: what the kernel says of the rest: a number, the size, the state components */
	HEADER = 512,	/* the state components that are in use */
	MAGIC = 0x46505853,
	AVX = 4, /* a state component: the upper halves of ymm0 to ymm15 */
};

struct state {
	uint8_t vector[32];
	uint32_t mxcsr;
	uint16_t control;
};

static const struct state before_edit = {"low half before.upper h. before", 0x9f80, 0x37f}, edited = {"LOW HALF BEHIND.UPPER H. BEHIND", 0x3f80, 0xa7f};
static struct state in_frame;
static volatile int looping;
static uint32_t upper_at;
static bool has_avx;
static long wait_us = 2000;

/* One after the other, and later each time that one came too early: where handlers take long, a steady timer would leave no time for
 * anything else. */
static void alarm_soon(void)
{
	const struct itimerval soon = {.it_value.tv_sec = wait_us / 1000000, .it_value.tv_usec = wait_us % 1000000};

	setitimer(ITIMER_REAL, &soon, NULL);
}

static void edit(int signo, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	struct _libc_fpstate *f = u->uc_mcontext.fpregs;
	char *bytes = (char *)f;
	uint32_t magic;
	uint64_t components;

	(void)info;
	if (signo == SIGALRM && !looping) { /* in the library, say */
		wait_us *= 2;
		alarm_soon();
		return;
	}
	memcpy(&magic, bytes + SOFTWARE, sizeof magic);
	memcpy(&components, bytes + SOFTWARE + 8, sizeof components);
	in_frame = (struct state){.mxcsr = f->mxcsr, .control = f->cwd};
	memcpy(in_frame.vector, &f->_xmm[0], 16);
	f->mxcsr = edited.mxcsr;
	f->cwd = edited.control;
	memcpy(&f->_xmm[0], edited.vector, 16);
	if (magic == MAGIC && components & AVX && has_avx) {
		memcpy(in_frame.vector + 16, bytes + upper_at, 16);
		memcpy(bytes + upper_at, edited.vector + 16, 16);
		memcpy(&components, bytes + HEADER, sizeof components);
		components |= AVX;
		memcpy(bytes + HEADER, &components, sizeof components);
	}
	if (signo == SIGILL)
		u->uc_mcontext.gregs[REG_RIP] += 2;
}

static void show_state(const char *where, const struct state *s, bool upper)
{
	printf("%s: %.16s %.16s %x %x\n", where, s->vector, upper ? (const char *)s->vector + 16 : "", s->mxcsr, s->control);
}

/* Where LOAD has set up ymm0 or xmm0, COMES lets a signal come, and STORE reads it again. */
#define EDITED(load, comes, store)                                                                                                        \
	__asm__ volatile("ldmxcsr %[mxcsr]; fldcw %[control]; " load "; " comes "; " store "; stmxcsr %[mxcsr_then]; fnstcw %[control_then]\n" \
			 "ldmxcsr %[usual]; fninit"                                                                                        \
			 : [then] "=m"(then.vector), [mxcsr_then] "=m"(then.mxcsr), [control_then] "=m"(then.control), [looping] "+m"(looping) \
			 : [now] "m"(before_edit.vector), [mxcsr] "m"(before_edit.mxcsr), [control] "m"(before_edit.control),             \
			   [usual] "m"(usual_mxcsr), [pid] "b"(getpid()), [kill] "i"(SYS_kill), [signo] "i"(SIGUSR1)                      \
			 : "rax", "rcx", "rdi", "rsi", "r11", "xmm0", "cc", "memory")

#define WITH_SIGNAL(name, comes)                                                                                              \
	static void name(const char *text)                                                                                    \
	{                                                                                                                     \
		struct state then = {0};                                                                                      \
                                                                                                                              \
		if (has_avx) {                                                                                                \
			EDITED("vmovdqu %[now], %%ymm0", comes, "vmovdqu %%ymm0, %[then]");                                   \
			show_state(text, &in_frame, true);                                                                    \
			show_state("  behind", &then, true);                                                                  \
			memset(&then, 0, sizeof then);                                                                        \
			EDITED("vmovdqu %[now], %%ymm0; vzeroupper", comes, "vmovdqu %%ymm0, %[then]"); /* none is in use */  \
		} else {                                                                                                      \
			EDITED("movdqu %[now], %%xmm0", comes, "movdqu %%xmm0, %[then]");                                     \
		}                                                                                                             \
		show_state(text, &in_frame, false);                                                                           \
		show_state("  behind", &then, has_avx);                                                                       \
	}

static const uint32_t usual_mxcsr = 0x1f80;
WITH_SIGNAL(by_call, "movl %[pid], %%edi; movl %[signo], %%esi; movl %[kill], %%eax; syscall")
WITH_SIGNAL(at_fault, "ud2")

/* Anywhere in a loop, which only the handler ends. */
#define LOOP "movl $1, %[looping]; 1: movq %%xmm0, %%rax; cmpq %[now], %%rax; je 1b; movl $0, %[looping]"

static void in_loop(void)
{
	struct state then = {0};

	alarm_soon();
	if (has_avx)
		EDITED("vmovdqu %[now], %%ymm0", LOOP, "vmovdqu %%ymm0, %[then]");
	else
		EDITED("movdqu %[now], %%xmm0", LOOP, "movdqu %%xmm0, %[then]");
	show_state("behind a loop", &then, has_avx);
}

static void edited_state(void)
{
	unsigned a, c, d;

	has_avx = __builtin_cpu_supports("avx");
	if (has_avx)
		__cpuid_count(0xd, 2, a, upper_at, c, d);
	handle(SIGUSR1, edit, 0);
	handle(SIGILL, edit, 0);
	handle(SIGALRM, edit, SA_RESTART);
	for (int i = 0; i < 5; i++) {
		by_call("by a call");
		at_fault("at a fault");
	}
	for (int i = 0; i < 20; i++)
		in_loop();
}

/* Flags where an alarm comes ------------------------------------------------------------------------------------------------------- */

enum {
	FLAGS_OF_LOOP = 0x95, /* of 0 less 1: SF AF PF CF */
	FLAGS_ARITHMETIC = 0x8d5,
	ALARMS = 100,
};

extern const char loop_begin[], loop_end[];
static volatile uint64_t alarms_left = ALARMS;
static volatile int other_flags;

/* After 1 to 8 ms, another time each time. */
static void alarm_later(void)
{
	struct itimerval when = {.it_value.tv_usec = 1000 + (suseconds_t)(alarms_left * 997 % 7000)};

	setitimer(ITIMER_REAL, &when, NULL);
}

static void look_at_flags(int signo, siginfo_t *info, void *context)
{
	const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t rip = (uint64_t)r[REG_RIP];

	(void)signo;
	(void)info;
	other_flags += rip >= (uintptr_t)loop_begin && rip < (uintptr_t)loop_end && (r[REG_EFL] & FLAGS_ARITHMETIC) != FLAGS_OF_LOOP;
	if (--alarms_left)
		alarm_later();
}

/* They are the same everywhere in the loop, which makes some stops of the recorder necessary between two alarms: an alarm that comes during one
 * is told behind it. */
static __attribute__((noinline)) void flags_at_alarm(void)
{
	handle(SIGALRM, look_at_flags, SA_RESTART);
	alarm_later();
	__asm__ volatile("movl $1, %%eax; xorl %%edx, %%edx; cmpl %%eax, %%edx\n"
			 "loop_begin: cmpl %%eax, %%edx; movq %[left], %%rcx; jrcxz loop_end; jmp loop_begin\n"
			 "loop_end:"
			 :
			 : [left] "m"(alarms_left)
			 : "rax", "rcx", "rdx", "cc", "memory");
	printf("%d alarms with other flags\n", other_flags);
}

static const struct {
	const char *name;
	void (*run)(void);
} table[] = {
	{"no-child-wait", no_child_wait}, {"autodisarm", autodisarm}, {"unknown-flags", unknown_flags}, {"edited-state", edited_state},
	{"flags-at-alarm", flags_at_alarm},
};

int main(int argc, char **argv)
{
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
