// SPDX-License-Identifier: MIT
/* ticking LETTER ROUNDS (an alarm each millisecond of its own processor time for b, each two for c, none for a; the kernel rounds that up to its
 * tick): the same work whatever the alarms that interrupt it: their handler has no conditional branch, so ticks are the same, too. By the clock
 * a slow recorder would have the next alarm before it is done with this one. tests/e2e/engine_history.py */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile unsigned long alarms;
static volatile unsigned long sink;
static char here[512], there[512];

static void on_alarm(int signo)
{
	(void)signo;
	alarms++;
}

__attribute__((noinline)) static unsigned leaf(unsigned x) { return x * 3 + 1; }

__attribute__((noinline)) static unsigned other(unsigned x) { return leaf(leaf(x)) ^ x; }

__attribute__((noinline)) static unsigned deep(unsigned n) { return n ? deep(n - 1) + leaf(n) : 7; }

/* Transfers without a conditional between them, direct and indirect. */
__attribute__((noinline)) static unsigned chain(unsigned x)
{
	unsigned (*volatile f)(unsigned) = x & 1 ? leaf : other;

	return f(f(f(other(x))));
}

int main(int argc, char **argv)
{
	long every = argc > 1 ? (*argv[1] - 'a') * 1000 : 0; /* no conditional that depends on it */
	unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 0) : 1000;
	struct itimerval timer = {{0, every}, {0, every}};
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	unsigned x = 1;

	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &timer, NULL);
	for (unsigned long i = 0; i < rounds; i++) {
		x = chain(x) + deep(x & 7);
		if (x & 16)
			memmove(there, here, x & 511);
		sink += x;
	}
	_exit(0);
}
