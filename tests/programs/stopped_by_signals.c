// SPDX-License-Identifier: MIT
/* stopped_by_signals ROUNDS: one thread blocks SIGTRAP and computes, the other handles it and makes indirect calls. In each round the process is sent a
 * SIGTRAP, stopped at once and continued: both must go on. Prints how many rounds were well, and whether each SIGTRAP was handled. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	LATEST_US = 300, /* between SIGTRAP and SIGSTOP */
	PATIENCE_MS = 10000,
};

static volatile struct {
	unsigned long one, other, handled;
} *seen;

static unsigned long triple(unsigned long x) { return x * 3 + 1; }
static unsigned long flip(unsigned long x) { return x ^ 0x55; }
static unsigned long add(unsigned long x) { return x + 7; }
static unsigned long halve(unsigned long x) { return x >> 1; }
static unsigned long (*volatile table[])(unsigned long) = {triple, flip, add, halve};

static void nap(long us)
{
	struct timespec t = {.tv_nsec = us * 1000};

	while (nanosleep(&t, &t))
		;
}

/* A nap would be longer. */
static void wait_awake(long us)
{
	struct timespec began, now;

	clock_gettime(CLOCK_MONOTONIC, &began);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - began.tv_sec) * 1000000 + (now.tv_nsec - began.tv_nsec) / 1000 < us);
}

static void on_trap(int signo)
{
	(void)signo;
	seen->handled++;
}

static void *call(void *unused)
{
	sigset_t set;

	(void)unused;
	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	for (unsigned long x = 1;; seen->other++) {
		x = table[x & 3](x);
		x = table[x >> 2 & 3](x);
	}
	return NULL;
}

static int both_go_on(void)
{
	unsigned long one = seen->one, other = seen->other;

	for (int i = 0; i < PATIENCE_MS; i++) {
		if (seen->one != one && seen->other != other)
			return 1;
		nap(1000);
	}
	return 0;
}

static int stop_and_continue(pid_t pid, int rounds)
{
	unsigned long handled;
	int well = 0;

	while (!seen->other)
		nap(1000);
	for (int i = 0; i < rounds && both_go_on(); i++) {
		handled = seen->handled;
		kill(pid, SIGTRAP);
		wait_awake(i * 7 % LATEST_US);
		kill(pid, SIGSTOP);
		nap(1500);
		kill(pid, SIGCONT);
		for (int n = 0; n < PATIENCE_MS && seen->handled == handled; n++)
			nap(1000);
		well += both_go_on() && seen->handled == handled + 1;
	}
	printf("%d of %d\n", well, rounds);
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 0, status;
	struct sigaction handle = {.sa_handler = on_trap, .sa_flags = SA_RESTART};
	pthread_t thread;
	sigset_t set;
	pid_t child;

	seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGTRAP, &handle, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	child = fork();
	if (!child)
		_exit(stop_and_continue(getppid(), rounds));
	pthread_create(&thread, NULL, call, NULL);
	while (!waitpid(child, &status, WNOHANG))
		for (int i = 0; i < 1000000; i++)
			seen->one++;
	return 0;
}
