// SPDX-License-Identifier: MIT
/* written_signals NAME: code in writable pages, beside stacks and below them, and signals: masks, frames, the program's own faults. Each case counts
 * what comes out wrong. tests/e2e/engine_written.py */
#include <signal.h>
#include <stdatomic.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "written.inc"

/* The Sig* lines of /proc/self/status are what the program has made them. */
static long signal_state(uint64_t blocked, uint64_t caught, uint64_t ignored)
{
	char line[256];
	long found = 0;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof line, f)) {
		unsigned long long v;

		found += sscanf(line, "SigBlk: %llx", &v) == 1 && v == blocked;
		found += sscanf(line, "SigCgt: %llx", &v) == 1 && (v & 1 << 10) == caught;
		found += sscanf(line, "SigIgn: %llx", &v) == 1 && (v & 1 << 10) == ignored;
	}
	if (f)
		fclose(f);
	return found != 3;
}

static long with_signals_blocked(void)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	unsigned char *page = warm(1);
	sigset_t all;
	long bad = 0;

	sigaction(SIGSEGV, &action, NULL);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (int i = 0; i < TIMES; i++) {
		encode(page, i);
		bad += call(page, 1) != i + 1;
	}
	bad += signal_state(0xfffffffffffbfeff & ~(1ull << 31 | 1ull << 32), 1 << 10, 0) && signal_state(0xfffffffe7ffbfeff, 1 << 10, 0);
	kill(getpid(), SIGSEGV); /* waits */
	for (int i = 0; i < TIMES; i++) {
		encode(page, i);
		bad += call(page, 1) != i + 1;
	}
	bad += faults != 0;
	action.sa_sigaction = NULL;
	action.sa_flags = 0;
	action.sa_handler = SIG_IGN;
	sigaction(SIGSEGV, &action, NULL); /* and is gone */
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	return bad;
}

static long with_faults_ignored(void)
{
	unsigned char *page = warm(1);
	long bad = 0;

	signal(SIGSEGV, SIG_IGN);
	for (int i = 0; i < TIMES; i++) {
		encode(page, i);
		bad += call(page, 1) != i + 1;
	}
	bad += signal_state(0, 0, 1 << 10);
	signal(SIGSEGV, SIG_DFL);
	return bad;
}

/* A fault of the program's while it blocks SIGSEGV kills it, whatever handler there is. */
static long blocked_fault(void)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	unsigned char *page = warm(1);
	pid_t child;
	int status;

	sigaction(SIGSEGV, &action, NULL);
	child = fork();
	if (!child) {
		sigset_t one;

		sigemptyset(&one);
		sigaddset(&one, SIGSEGV);
		sigprocmask(SIG_BLOCK, &one, NULL);
		encode(page, 5);
		if (call(page, 1) != 6)
			_exit(1);
		*(volatile char *)8 = 1;
		_exit(2);
	}
	return waitpid(child, &status, 0) != child || !WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV;
}

static unsigned char *signal_page;
static volatile sig_atomic_t handled;

static void use_page(int signo)
{
	encode(signal_page, signo);
	handled += call(signal_page, 0) == signo;
}

/* The frame is written to a page whose code has run. */
static long stack_beside_code(void)
{
	enum { STACK = 16 };
	unsigned char *area = pages(STACK);
	struct sigaction action = {.sa_handler = use_page, .sa_flags = SA_ONSTACK};
	stack_t stack = {.ss_sp = area, .ss_size = STACK * PAGE};
	long bad = 0;

	signal_page = area;
	bad += sigaltstack(&stack, NULL) != 0;
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < TIMES; i++) {
		for (int k = 0; k < STACK; k++) {
			encode(area + k * PAGE + 128, i);
			bad += call(area + k * PAGE + 128, 1) != i + 1;
		}
		raise(SIGUSR1);
	}
	return bad + (handled != TIMES);
}

/* The code has run there before the stack is one. */
static long stack_over_code(void)
{
	enum { STACK = 16 };
	unsigned char *area = pages(STACK);
	struct sigaction action = {.sa_handler = use_page, .sa_flags = SA_ONSTACK};
	stack_t stack = {.ss_sp = area, .ss_size = STACK * PAGE};
	long bad = 0;

	signal_page = pages(1);
	for (int k = 0; k < STACK; k++) {
		encode(area + k * PAGE + 64, k);
		for (int i = 0; i < TIMES; i++)
			bad += call(area + k * PAGE + 64, i) != i + k;
	}
	bad += sigaltstack(&stack, NULL) != 0;
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	return bad + (handled != 1);
}

/* The heap, where code may be without another call, shrinks and grows again: other pages at the same place. */
static long heap_again(void)
{
	unsigned char *heap = sbrk(0);
	long bad = personality((unsigned long)personality(0xffffffff) | READ_IMPLIES_EXEC) < 0;

	heap = (unsigned char *)(((uintptr_t)heap + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
	for (int i = 0; i < TIMES; i++) {
		bad += brk(heap + 4 * PAGE) != 0;
		encode(heap + 2 * PAGE, i);
		bad += call(heap + 2 * PAGE, i) != 2L * i;
		encode(heap + 2 * PAGE, i + 1);
		bad += call(heap + 2 * PAGE, i) != 2L * i + 1;
		bad += brk(heap + PAGE) != 0;
	}
	return bad;
}

/* A frame on a stack that the program has switched to, below which lies code that has run. */
static long switched_stack(void)
{
	enum { STACK = 16 };
	static unsigned char *area;
	static ucontext_t back, there;
	struct sigaction action = {.sa_handler = use_page};
	static long bad;

	signal_page = warm(1);
	sigaction(SIGUSR1, &action, NULL);
	area = pages(STACK);
	for (int i = 0; i < TIMES; i++) {
		for (int k = 0; k < STACK - 1; k++) {
			encode(area + k * PAGE + 128, i);
			bad += call(area + k * PAGE + 128, 1) != i + 1;
		}
		getcontext(&there);
		there.uc_stack.ss_sp = area;
		there.uc_stack.ss_size = STACK * PAGE - 2048;
		there.uc_link = &back;
		makecontext(&there, (void (*)(void))raise, 1, SIGUSR1);
		swapcontext(&back, &there);
	}
	return bad + (handled != TIMES);
}

static unsigned char *frame_stack;

static void take_other_stack(int signo, siginfo_t *info, void *context)
{
	ucontext_t *ucontext = context;

	(void)signo;
	(void)info;
	ucontext->uc_stack = (stack_t){.ss_sp = frame_stack, .ss_size = 16 * PAGE};
}

static void count_it(int signo)
{
	(void)signo;
	handled++;
}

/* The alternate stack is one with code, which a handler's return has made it. */
static long stack_by_sigreturn(void)
{
	struct sigaction action = {.sa_sigaction = take_other_stack, .sa_flags = SA_SIGINFO};
	long bad = 0;

	frame_stack = warm(16);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	action = (struct sigaction){.sa_handler = count_it, .sa_flags = SA_ONSTACK};
	sigaction(SIGUSR2, &action, NULL);
	for (int i = 0; i < TIMES; i++) {
		encode(frame_stack + 15 * PAGE, i);
		bad += call(frame_stack + 15 * PAGE, 1) != i + 1;
		raise(SIGUSR2);
	}
	return bad + (handled != TIMES);
}

static const struct row rows[] = {
	{"with-signals-blocked", with_signals_blocked}, {"with-faults-ignored", with_faults_ignored},
	{"blocked-fault", blocked_fault}, {"stack-beside-code", stack_beside_code}, {"stack-over-code", stack_over_code},
	{"heap-again", heap_again}, {"switched-stack", switched_stack}, {"stack-by-sigreturn", stack_by_sigreturn},
};

int main(int argc, char **argv) { return run_case(argc, argv, rows, sizeof rows / sizeof rows[0]); }
