/* SPDX-License-Identifier: MIT */
/* Handlers whose frame has no room on the stack; the kernel sends SIGSEGV in their place. The argument
 * says how, and how many bytes the stack has.
 *   deep: without end, of a SIGSEGV whose handler has no stack of its own
 *   sent: a signal is sent, whose handler would return
 *   waits: a call waits, and a timer's signal breaks it off; "again": its handler asks for the call
 *     to be made again (SA_RESTART)
 *   apart: a signal is sent, whose handler has an alternate stack, of which the lower page cannot be
 *     written; SIGSEGV's handler has none
 * Where SIGSEGV has a stack of its own its handler prints the result of the call that was broken off,
 * and the words that the kernel has written of the frame. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGE = 4096 };

static char other_stack[1 << 16], *stack;

static int call_deeper(volatile int *n)
{
	volatile int here[200] = {*n + 1};

	return call_deeper(here) + here[7];
}

static void come_too_deep(int signo)
{
	(void)signo;
	_exit(3);
}

static void return_at_once(int signo) { (void)signo; }

static void tell_frame(int signo, siginfo_t *info, void *context)
{
	const ucontext_t *c = context;
	const unsigned long *words = (const unsigned long *)(void *)stack;
	unsigned long sum = 0;
	unsigned count = 0;
	char line[128];
	int n;

	/* Not byte by byte: each instruction may be a step. */
	for (size_t i = 0; i < PAGE / sizeof *words; i++) {
		sum = sum * 31 + words[i];
		count += words[i] != 0;
	}
	n = snprintf(line, sizeof line, "signal %d, code %d, rax %lld, %u words with sum %016lx\n", signo,
		     info->si_code, c->uc_mcontext.gregs[REG_RAX], count, sum);
	if (write(1, line, (size_t)n) != n)
		_exit(2);
	_exit(4);
}

/* Makes a system call with the stack pointer at sp. No result: the signal's frame has no room. */
static void call_on(char *sp, long nr, long a, long b, long c)
{
	__asm__ volatile("mov %0, %%rsp\n\tsyscall\n\thlt"
			 :
			 : "r"(sp), "a"(nr), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[1] : "";
	const size_t room = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	const struct itimerval soon = {.it_value = {.tv_usec = 20000}};
	const stack_t own = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
	struct sigaction a = {.sa_handler = return_at_once};
	int pipes[2], zero = 0;
	char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || mprotect(pages, PAGE, PROT_NONE) || pipe(pipes) || room > PAGE)
		return 1;
	stack = pages + PAGE;
	if (!strcmp(how, "deep")) {
		signal(SIGSEGV, come_too_deep);
		return call_deeper(&zero);
	}
	if (!strcmp(how, "again"))
		a.sa_flags = SA_RESTART;
	if (!strcmp(how, "apart")) {
		const stack_t low = {.ss_sp = pages, .ss_size = PAGE + room};

		a.sa_flags = SA_ONSTACK;
		sigaction(SIGUSR1, &a, NULL);
		a = (struct sigaction){.sa_sigaction = tell_frame, .sa_flags = SA_SIGINFO};
		sigaction(SIGSEGV, &a, NULL);
		sigaltstack(&low, NULL);
		kill(getpid(), SIGUSR1);
		return 1;
	}
	sigaction(SIGUSR1, &a, NULL);
	sigaction(SIGALRM, &a, NULL);
	if (argc > 3) {
		a = (struct sigaction){.sa_sigaction = tell_frame, .sa_flags = SA_SIGINFO | SA_ONSTACK};
		sigaltstack(&own, NULL);
		sigaction(SIGSEGV, &a, NULL);
	}
	if (!strcmp(how, "sent"))
		call_on(stack + room, SYS_kill, getpid(), SIGUSR1, 0);
	setitimer(ITIMER_REAL, &soon, NULL);
	call_on(stack + room, SYS_read, pipes[0], (long)pages, 1);
	return 1;
}
