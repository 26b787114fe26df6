// SPDX-License-Identifier: MIT
/* left_running stopped|signals|place: makes itself one that nobody may look into, so that its recorder has to leave it: while its threads are in the midst
 * of something, having been stopped and continued; while signals come, which it counts; before begin_here() is called. tests/e2e/out_of_sight.py */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

enum {
	THREADS = 3,
	SIGNALS = 1500,
	STOPPED = 600000000, /* of the time stamp counter: a fifth of a second or so */
};

static atomic_int over, got, tid;
static atomic_ulong last;

static unsigned compute(unsigned sum)
{
	for (int i = 0; i < 200; i++)
		sum = sum % 3 ? sum * 7 : sum + 1;
	return sum;
}

/* Whichever runs first behind the stop. Without calls: the others are to be in the midst of what they compute. */
static void *hide_behind_stop(void *arg)
{
	unsigned sum = 1;

	while (!over) {
		unsigned long now, before;

		sum = compute(sum);
		now = __rdtsc();
		before = atomic_exchange(&last, now);
		if (before && now - before > STOPPED && !atomic_exchange(&over, 1))
			prctl(PR_SET_DUMPABLE, 0);
	}
	return (char *)arg + sum % 1;
}

static int stopped(void)
{
	pthread_t threads[THREADS];
	pid_t self = getpid();

	if (!fork()) {
		usleep(700000);
		kill(self, SIGSTOP);
		usleep(600000);
		kill(self, SIGCONT);
		_exit(0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, hide_behind_stop, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	puts("went on");
	return 0;
}

static void count(int signo)
{
	got += signo == SIGRTMIN;
}

static void *wait_for_signals(void *arg)
{
	unsigned sum = 1;

	tid = gettid();
	while (!over)
		sum = compute(sum);
	return (char *)arg + sum % 1;
}

static int signals(void)
{
	siginfo_t info = {.si_code = SI_QUEUE};
	pid_t self = getpid(), child;
	pthread_t thread;

	signal(SIGRTMIN, count);
	pthread_create(&thread, NULL, wait_for_signals, NULL);
	while (!tid)
		usleep(100);
	child = fork();
	for (int i = 0; !child && i < SIGNALS; i++) {
		while (syscall(SYS_rt_tgsigqueueinfo, self, tid, SIGRTMIN, &info) && errno == EAGAIN)
			usleep(100);
		usleep(300);
	}
	if (!child)
		_exit(0);
	usleep(250000);
	prctl(PR_SET_DUMPABLE, 0);
	waitpid(child, NULL, 0);
	while (got < SIGNALS) /* the last ones may be on their way; lost ones are not: then it does not end */
		usleep(1000);
	over = 1;
	pthread_join(thread, NULL);
	printf("%d signals\n", got);
	return 0;
}

__attribute__((noinline)) int begin_here(void)
{
	puts("here");
	return 0;
}

static int place(void)
{
	prctl(PR_SET_DUMPABLE, 0);
	return begin_here();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} rows[] = {{"stopped", stopped}, {"signals", signals}, {"place", place}};

	for (size_t i = 0; argc > 1 && i < sizeof rows / sizeof rows[0]; i++)
		if (!strcmp(argv[1], rows[i].name))
			return rows[i].run();
	return 2;
}
