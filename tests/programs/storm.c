// SPDX-License-Identifier: MIT
/* storm NAME: signals that come while a program is stepped, at any instruction. What is printed does not depend on when.
 * tests/e2e/signals.py */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	ENOUGH = 40
};

static volatile sig_atomic_t count;

static void note(int signo)
{
	(void)signo;
	count++;
}

static void every(int which, long microseconds)
{
	struct itimerval timer = {.it_interval = {.tv_usec = microseconds}, .it_value = {.tv_usec = microseconds}};

	setitimer(which, &timer, NULL);
}

/* A sum that must come out right however often it is interrupted. */
static unsigned long compute(void)
{
	unsigned long x = 1;

	while (count < ENOUGH)
		for (int i = 0; i < 50; i++)
			x = x * 6364136223846793005UL + 1442695040888963407UL, x ^= x >> 33;
	return x != 0;
}

static void timer(int which, int signo)
{
	struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};

	sigaction(signo, &action, NULL);
	every(which, 3000);
	printf("%lu\n", compute());
}

static void alarm_storm(void) { timer(ITIMER_REAL, SIGALRM); }
static void profile_storm(void) { timer(ITIMER_PROF, SIGPROF); }

/* Calls that must not be seen to be interrupted. */
static void restarted_reads(void)
{
	struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
	int ends[2], bad = 0;
	char byte;

	if (pipe(ends))
		exit(3);
	fflush(stdout);
	if (fork() == 0) {
		for (int i = 0; i < 20; i++) {
			usleep(10000);
			if (write(ends[1], "x", 1) != 1)
				_exit(4);
		}
		_exit(0);
	}
	sigaction(SIGALRM, &action, NULL);
	every(ITIMER_REAL, 4000);
	for (int i = 0; i < 20; i++)
		bad += read(ends[0], &byte, 1) != 1;
	every(ITIMER_REAL, 0);
	while (wait(NULL) < 0 && errno == EINTR)
		;
	printf("%d bad, signals %d\n", bad, count > 0);
}

/* A sleep goes on where it was (restart_syscall). */
static void restarted_sleep(void)
{
	struct timespec length = {.tv_nsec = 300 * 1000 * 1000}, before, after;

	clock_gettime(CLOCK_MONOTONIC, &before);
	fflush(stdout);
	if (fork() == 0) {
		usleep(50000);
		kill(getppid(), SIGSTOP);
		usleep(50000);
		kill(getppid(), SIGCONT);
		_exit(0);
	}
	printf("%d ", nanosleep(&length, NULL));
	clock_gettime(CLOCK_MONOTONIC, &after);
	printf("%d\n", (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000 >= 299);
	wait(NULL);
}

static void suspended(void)
{
	sigset_t block, none;

	signal(SIGUSR1, note);
	sigemptyset(&none);
	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	sigprocmask(SIG_BLOCK, &block, NULL);
	kill(getpid(), SIGUSR1);
	printf("%d ", (int)count);
	printf("%d ", sigsuspend(&none));
	printf("%d\n", (int)count);
}

static void by_descriptor(void)
{
	struct signalfd_siginfo info;
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTRAP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, 0);
	kill(getpid(), SIGUSR1);
	kill(getpid(), SIGTRAP);
	for (int i = 0; i < 2; i++)
		if (read(fd, &info, sizeof(info)) == sizeof(info))
			printf("%u %d\n", info.ssi_signo, info.ssi_code);
}

static volatile sig_atomic_t order[8], orders;

static void note_order(int signo)
{
	order[orders++] = signo;
}

/* Several at once: delivered in the kernel's order, each handler on top of the one before. */
static void several(void)
{
	sigset_t all;

	for (int signo = SIGRTMIN; signo < SIGRTMIN + 3; signo++)
		signal(signo, note_order);
	signal(SIGUSR1, note_order);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (int signo = SIGRTMIN + 2; signo >= SIGRTMIN; signo--)
		kill(getpid(), signo);
	kill(getpid(), SIGUSR1);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	for (int i = 0; i < orders; i++)
		printf("%d ", (int)order[i]);
	printf("\n");
}

static sigjmp_buf back;

static void leave(int signo)
{
	(void)signo;
	siglongjmp(back, 1);
}

static void jump_out(void)
{
	volatile int jumps = 0;

	signal(SIGALRM, leave);
	sigsetjmp(back, 1);
	if (jumps++ < 10) {
		struct itimerval soon = {.it_value = {.tv_usec = 2000}};

		setitimer(ITIMER_REAL, &soon, NULL);
		for (;;)
			;
	}
	printf("%d\n", (int)jumps);
}

static void *send_many(void *thread)
{
	for (int i = 0; i < 200; i++)
		pthread_kill(*(pthread_t *)thread, SIGUSR1);
	return NULL;
}

static void between_threads(void)
{
	pthread_t self = pthread_self(), other;

	signal(SIGUSR1, note);
	pthread_create(&other, NULL, send_many, &self);
	pthread_join(other, NULL);
	printf("%d\n", count > 0);
}

static void queue_value(int signo, siginfo_t *info, void *context)
{
	(void)context;
	printf("%d %d %d %d\n", signo, info->si_code, info->si_value.sival_int, info->si_pid == getpid());
}

static void queued(void)
{
	struct sigaction action = {.sa_sigaction = queue_value, .sa_flags = SA_SIGINFO};
	union sigval value = {.sival_int = 4711};

	sigaction(SIGRTMIN + 1, &action, NULL);
	sigqueue(getpid(), SIGRTMIN + 1, value);
}

static void child_ends(void)
{
	struct sigaction action = {.sa_handler = note, .sa_flags = SA_NOCLDSTOP};

	sigaction(SIGCHLD, &action, NULL);
	fflush(stdout);
	for (int i = 0; i < 5; i++) {
		if (fork() == 0)
			_exit(0);
		while (wait(NULL) < 0)
			;
	}
	printf("%d\n", (int)count);
}

/* An ignored SIGCHLD leaves no children to wait for. */
static void children_ignored(void)
{
	signal(SIGCHLD, SIG_IGN);
	fflush(stdout);
	if (fork() == 0)
		_exit(0);
	printf("%d ", wait(NULL));
	printf("%d\n", errno == ECHILD);
}

static const struct {
	const char *name;
	void (*run)(void);
} table[] = {
	{"alarms", alarm_storm},
	{"profiling", profile_storm},
	{"restarted-reads", restarted_reads},
	{"restarted-sleep", restarted_sleep},
	{"suspended", suspended},
	{"by-descriptor", by_descriptor},
	{"several", several},
	{"jump-out", jump_out},
	{"between-threads", between_threads},
	{"queued", queued},
	{"child-ends", child_ends},
	{"children-ignored", children_ignored},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		if (argc == 1)
			puts(table[i].name);
		else if (!strcmp(argv[1], table[i].name)) {
			table[i].run();
			return 0;
		}
	}
	return argc == 1 ? 0 : 2;
}
