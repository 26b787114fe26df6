// SPDX-License-Identifier: MIT
/* sent_faults NAME: signals that look like faults and were raised by no instruction: sent by the program to itself with what a fault's siginfo
 * says, as crash handlers do that let the default action end the process; and raised by the kernel at a sigreturn whose frame is damaged. Each prints what must
 * be the same recorded. Without NAME: the names. tests/e2e/engine_signals.py */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	FROM_KERNEL = 0x80, /* SI_KERNEL */
	XSAVE_HEADER = 512, /* Intel SDM volume 1, 13.4.2: XSTATE_BV, XCOMP_BV, eight bytes each */
};

static volatile sig_atomic_t handled, code_seen;
static int damage;
static long *volatile no_long;

static void handle(int signo, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

	sigaction(signo, &action, NULL);
}

static void note(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)context;
	handled++;
	code_seen = info->si_code;
}

static void send(const siginfo_t *info)
{
	siginfo_t copy = *info;

	syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), info->si_signo, &copy);
}

/* Each comes, at once, and says what it said. */
static int handled_each(void)
{
	static const struct {
		int signo, code;
	} rows[] = {{SIGSEGV, SEGV_MAPERR}, {SIGSEGV, FROM_KERNEL}, {SIGILL, ILL_ILLOPN}, {SIGFPE, FPE_INTDIV},
		    {SIGBUS, FROM_KERNEL},  {SIGTRAP, FROM_KERNEL}, {SIGTRAP, 6 /* TRAP_PERF */}};

	for (int round = 0; round < 50; round++)
		for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
			siginfo_t info = {.si_signo = rows[i].signo, .si_code = rows[i].code};

			info.si_addr = (void *)0x1234;
			handle(rows[i].signo, note);
			handled = code_seen = 0;
			send(&info);
			if (handled != 1 || code_seen != rows[i].code)
				printf("round %d: signal %d with code %d: %d times, code %d\n", round, rows[i].signo, rows[i].code, handled, code_seen);
		}
	puts("all sent");
	return 0;
}

static int run_child(void)
{
	int status = 0;
	pid_t child = vfork();

	if (!child)
		_exit(3);
	return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : -1;
}

/* Blocked, they wait until the program asks for them, while it computes, makes calls and processes. */
static int blocked_each(void)
{
	static const struct {
		int signo, code;
	} rows[] = {{SIGSEGV, SEGV_MAPERR}, {SIGSEGV, FROM_KERNEL}, {SIGILL, ILL_ILLOPN}, {SIGFPE, FPE_INTDIV}, {SIGBUS, FROM_KERNEL},
		    {SIGTRAP, 4 /* TRAP_HWBKPT */}, {SIGTRAP, 6 /* TRAP_PERF */}};
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		siginfo_t info = {.si_signo = rows[i].signo, .si_code = rows[i].code}, got = {0};
		const struct timespec at_once = {0};
		int child, signo;

		info.si_addr = (void *)0x1234;
		send(&info);
		child = run_child();
		free(malloc(1 << 20));
		signo = sigtimedwait(&all, &got, &at_once);
		if (signo == SIGTRAP) /* the recorder has had to send it once more */
			got.si_code = 0;
		printf("child %d, signal %d, code %d, then %d\n", child, signo, got.si_code, sigtimedwait(&all, NULL, &at_once));
	}
	return 0;
}

static struct {
	int signo, code;
} came[16];
static volatile sig_atomic_t came_count;

static void list(int signo, siginfo_t *info, void *context)
{
	(void)context;
	came[came_count].signo = signo;
	came[came_count++].code = info->si_code;
}

/* Unblocked at once with others, which are told of behind them. */
static int with_others(void)
{
	static const struct {
		int signo, code;
	} rows[] = {{SIGSEGV, SEGV_MAPERR}, {SIGSEGV, FROM_KERNEL}, {SIGILL, ILL_ILLOPN}, {SIGFPE, FPE_INTDIV}, {SIGBUS, FROM_KERNEL}, {SIGTRAP, 6 /* TRAP_PERF */}};
	const int others[] = {SIGHUP, SIGUSR1, SIGTERM, SIGRTMIN + 1, SIGRTMIN + 1, SIGRTMIN + 2};
	const size_t n = sizeof others / sizeof others[0];
	struct sigaction action = {.sa_sigaction = list, .sa_flags = SA_SIGINFO};

	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < n; i++)
		sigaction(others[i], &action, NULL);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		sigaction(rows[i].signo, &action, NULL);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		for (size_t count = 1; count <= n; count++) {
			siginfo_t info = {.si_signo = rows[i].signo, .si_code = rows[i].code};

			sigprocmask(SIG_BLOCK, &action.sa_mask, NULL);
			came_count = 0;
			for (size_t k = 0; k < count; k++)
				sigqueue(getpid(), others[k], (union sigval){.sival_int = (int)k});
			send(&info);
			sigprocmask(SIG_UNBLOCK, &action.sa_mask, NULL);
			printf("%zu others:", count);
			for (int k = 0; k < came_count; k++)
				printf(" %d (%d)", came[k].signo, came[k].code);
			puts("");
		}
	return 0;
}

/* As a crash handler does it. */
static void send_again(int signo, siginfo_t *info, void *context)
{
	(void)context;
	puts("sent again");
	fflush(stdout);
	signal(signo, SIG_DFL);
	send(info);
}

static int fault_again(void)
{
	handle(SIGSEGV, send_again);
	*no_long = 1;
	return 0;
}

static int trap_again(void)
{
	handle(SIGTRAP, send_again);
	__asm__ volatile("int3");
	puts("went on");
	return 0;
}

static void damage_frame(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	char *state = (char *)uc->uc_mcontext.fpregs;

	(void)signo;
	(void)info;
	switch (damage) {
	case 0:
		uc->uc_mcontext.fpregs->mxcsr = UINT32_MAX;
		break;
	case 1:
		state[XSAVE_HEADER + 8 + 8] = 1; /* reserved */
		break;
	case 2:
		uc->uc_mcontext.fpregs = (void *)16;
		break;
	default:
		uc->uc_mcontext.fpregs = (void *)(state + 8); /* not aligned */
		break;
	}
}

static void say_fault(int signo, siginfo_t *info, void *context)
{
	(void)context;
	printf("signal %d, code %d\n", signo, info->si_code);
	fflush(stdout);
	_exit(4);
}

static int damaged_frame(int how)
{
	damage = how / 2;
	if (how % 2)
		handle(SIGSEGV, say_fault);
	handle(SIGUSR1, damage_frame);
	raise(SIGUSR1);
	puts("went on");
	return 0;
}

static int frame_mxcsr(void) { return damaged_frame(0); }
static int frame_mxcsr_handled(void) { return damaged_frame(1); }
static int frame_header(void) { return damaged_frame(2); }
static int frame_header_handled(void) { return damaged_frame(3); }
static int frame_pointer(void) { return damaged_frame(4); }
static int frame_pointer_handled(void) { return damaged_frame(5); }
static int frame_unaligned(void) { return damaged_frame(6); }
static int frame_unaligned_handled(void) { return damaged_frame(7); }

static const struct {
	const char *name;
	int (*run)(void);
} cases[] = {
	{"handled-each", handled_each},
	{"blocked-each", blocked_each},
	{"with-others", with_others},
	{"fault-again", fault_again},
	{"trap-again", trap_again},
	{"frame-mxcsr", frame_mxcsr},
	{"frame-mxcsr-handled", frame_mxcsr_handled},
	{"frame-header", frame_header},
	{"frame-header-handled", frame_header_handled},
	{"frame-pointer", frame_pointer},
	{"frame-pointer-handled", frame_pointer_handled},
	{"frame-unaligned", frame_unaligned},
	{"frame-unaligned-handled", frame_unaligned_handled},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		if (argc < 2)
			puts(cases[i].name);
		else if (!strcmp(argv[1], cases[i].name))
			return cases[i].run();
	}
	return argc < 2 ? 0 : 2;
}
