/* SPDX-License-Identifier: MIT */
/* frequent_alarms CASE COUNT: computes until a timer has sent so many signals, one each 20 us: more often than anybody who looks at each can bear. Says "ok".
 * frequent_alarms work ROUNDS: the same, but so many rounds, however many signals come. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	INTERVAL_US = 20,
	BEFORE = 3000000, /* rounds before the first: more than is kept of a history */
};

static volatile sig_atomic_t came, wanted;
static volatile unsigned long rounds;

static void handle(int signo)
{
	(void)signo;
	came = came + 1;
}

static void ignore(int signo) { (void)signo; }

static jmp_buf again;

static void jump(int signo)
{
	handle(signo);
	if (came < wanted)
		longjmp(again, 1);
}

/* As "silent" leaves its loop. */
static void handle_last(int signo)
{
	handle(signo);
	if (came < wanted)
		return;
	if (write(STDOUT_FILENO, "ok\n", 3) != 3)
		_exit(1);
	_exit(0);
}

static void compute(unsigned long n)
{
	static volatile unsigned x = 1;

	while (n-- && (!wanted || came < wanted)) {
		x = x * 1103515245 + 12345;
		if (x & 0x10000)
			rounds++;
	}
}

static void start_interval(int which)
{
	const struct itimerval interval = {{0, INTERVAL_US}, {0, INTERVAL_US}};

	if (setitimer(which, &interval, NULL))
		_exit(1);
}

static void start_timer(int signo)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signo};
	const struct itimerspec interval = {{0, INTERVAL_US * 1000}, {0, INTERVAL_US * 1000}};
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &interval, NULL))
		_exit(1);
}

static void of_interval(void) { start_interval(ITIMER_REAL); }
static void of_timer(void) { start_timer(SIGALRM); }

static void of_two(void)
{
	start_interval(ITIMER_REAL);
	start_timer(SIGUSR1);
}

/* Only the signal with the higher number counts: the kernel gives the other first. */
static void of_first(void)
{
	signal(SIGUSR1, ignore);
	of_two();
}

static void skip(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

/* Handlers of other signals end all the time. */
static void of_faults(void)
{
	struct sigaction action = {.sa_sigaction = skip, .sa_flags = SA_SIGINFO};

	sigaction(SIGILL, &action, NULL);
	start_interval(ITIMER_REAL);
	while (came < wanted)
		__asm__ volatile("ud2");
}

/* The handler does not block its own signal. */
static void of_nested(void)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART | SA_NODEFER};

	sigaction(SIGALRM, &action, NULL);
	start_interval(ITIMER_REAL);
}

/* The handler does not end. */
static void of_jumps(void)
{
	struct sigaction action = {.sa_handler = jump, .sa_flags = SA_NODEFER};

	sigaction(SIGALRM, &action, NULL);
	if (!setjmp(again))
		start_interval(ITIMER_REAL);
	compute(~0ul);
}

static sigjmp_buf masked;

static void jump_masked(int signo)
{
	handle(signo);
	if (came < wanted)
		siglongjmp(masked, 1);
}

/* siglongjmp() unblocks the signal on the handler's stack. */
static void of_mask(void)
{
	signal(SIGALRM, jump_masked);
	if (!sigsetjmp(masked, 1))
		start_interval(ITIMER_REAL);
	compute(~0ul);
}

/* It waits in a call, which each signal ends. */
static void of_waits(void)
{
	signal(SIGALRM, handle);
	start_interval(ITIMER_REAL);
	while (came < wanted)
		pause();
}

static void of_silent(void)
{
	signal(SIGALRM, handle_last);
	start_interval(ITIMER_REAL);
	for (;;)
		;
}

/* Nothing but system calls is interrupted. */
static void of_calls(void)
{
	signal(SIGALRM, handle_last);
	start_interval(ITIMER_REAL);
	__asm__ volatile("1: mov $39, %%eax\n\tsyscall\n\tjmp 1b" ::: "rax", "rcx", "r11", "memory"); /* getpid */
}

/* Its action is the default again each time, which ends the program, when it is off: none may come behind that. */
static void of_ends(void)
{
	const struct itimerval off = {0};
	int before;

	while (came < wanted) {
		signal(SIGALRM, handle);
		start_interval(ITIMER_REAL);
		before = came;
		while (came < before + 2)
			rounds++;
		if (setitimer(ITIMER_REAL, &off, NULL) || signal(SIGALRM, SIG_DFL) == SIG_ERR)
			_exit(1);
	}
}

static int pipe_ends[2];

/* All of its calls are made at stops. */
static void of_pipe(void)
{
	char byte = 0;

	if (pipe(pipe_ends))
		_exit(1);
	start_interval(ITIMER_REAL);
	while (came < wanted)
		if (write(pipe_ends[1], &byte, 1) != 1 || read(pipe_ends[0], &byte, 1) != 1)
			_exit(1);
}

static const struct row {
	const char *name;
	void (*function)(void);
} rows[] = {{"interval", of_interval}, {"timer", of_timer}, {"two", of_two}, {"first", of_first}, {"faults", of_faults}, {"nested", of_nested}, {"jumps", of_jumps}, {"mask", of_mask}, {"waits", of_waits}, {"ends", of_ends}, {"pipe", of_pipe}, {"silent", of_silent}, {"calls", of_calls}};

static int work(unsigned long count)
{
	start_interval(ITIMER_REAL);
	compute(count);
	puts("ok");
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};

	if (argc > 2 && !strcmp(argv[1], "work")) {
		sigaction(SIGALRM, &action, NULL);
		return work(strtoul(argv[2], NULL, 0));
	}
	compute(BEFORE);
	wanted = argc > 2 ? atoi(argv[2]) : 100;
	sigaction(SIGALRM, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (size_t i = 0; argc > 1 && i < sizeof rows / sizeof rows[0]; i++)
		if (!strcmp(argv[1], rows[i].name)) {
			rows[i].function();
			compute(~0ul);
			puts("ok");
			return 0;
		}
	return 1;
}
