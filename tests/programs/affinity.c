/* SPDX-License-Identifier: MIT */
/* What a program sees of the processors that it may use, and that what it sets stays. "MODE", or "compute SECONDS PROCESSES MODE": so
 * long it computes first. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void show(const char *who, pid_t pid)
{
	cpu_set_t set;
	int rc = sched_getaffinity(pid, sizeof set, &set);

	printf("%s:", who);
	for (int i = 0; !rc && i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			printf(" %d", i);
	printf("%s\n", rc ? strerror(errno) : "");
	fflush(stdout);
}

static int highest(void)
{
	cpu_set_t set;

	sched_getaffinity(0, sizeof set, &set);
	for (int i = CPU_SETSIZE; i--;)
		if (CPU_ISSET(i, &set))
			return i;
	return 0;
}

static void use(pid_t pid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(pid, sizeof set, &set))
		printf("cannot set: %s\n", strerror(errno));
}

static void *thread(void *arg)
{
	show(arg, 0);
	return NULL;
}

static void in_thread(char *who)
{
	pthread_t t;

	pthread_create(&t, NULL, thread, who);
	pthread_join(t, NULL);
}

static void see(void)
{
	pid_t child;

	show("initial", 0);
	show("by number", getpid());
	in_thread("thread");
	printf("online %ld\n", sysconf(_SC_NPROCESSORS_ONLN));
	fflush(stdout);
	child = fork();
	if (!child) {
		show("child", 0);
		show("its parent", getppid());
		_exit(0);
	}
	waitpid(child, NULL, 0);
	show("nobody", child);
}

/* As /proc has it. */
static void status(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[4096];

	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, "Cpus_allowed", 12))
			fputs(line, stdout);
}

/* A small set: fewer processors than the machine has is EINVAL. */
static void ask_badly(void)
{
	unsigned long bits[16] = {0};

	printf("length 1: %ld\n", syscall(SYS_sched_getaffinity, 0, 1, bits));
	printf("bad address: %ld\n", syscall(SYS_sched_getaffinity, 0, sizeof bits, 1));
	printf("nowhere: %d\n", sched_setaffinity(0, sizeof bits, (cpu_set_t *)bits));
}

static void set(void)
{
	int cpu = highest(), go[2];
	pid_t child;
	char c = 0;

	if (pipe(go))
		exit(1);
	child = fork();
	if (!child) {
		c = (char)(read(go[0], &c, 1) < 1);
		show("child that was set", 0);
		_exit(c);
	}
	use(0, cpu);
	show("set", 0);
	in_thread("its thread");
	show("child not yet", child);
	use(child, cpu);
	if (write(go[1], &c, 1) < 1)
		exit(1);
	waitpid(child, NULL, 0);
	child = fork();
	if (!child) {
		execl("/proc/self/exe", "affinity", "see", (char *)NULL);
		_exit(1);
	}
	waitpid(child, NULL, 0);
	for (int i = 0; i < 50; i++)
		if (sched_getcpu() != cpu)
			puts("on another processor");
	printf("stays\n");
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* In so many processes. */
static void compute(double how_long, int processes)
{
	double end = seconds() + how_long;
	pid_t child = processes > 1 ? fork() : -1;

	while (seconds() < end)
		for (volatile int i = 0; i < 100000; i++)
			;
	if (!child)
		_exit(0);
	if (child > 0)
		waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	if (argc >= 4 && !strcmp(argv[1], "compute")) {
		compute(atof(argv[2]), atoi(argv[3]));
		argv += 3;
		argc -= 3;
	}
	setvbuf(stdout, NULL, _IOFBF, 4096);
	if (argc > 1 && !strcmp(argv[1], "see"))
		see();
	else if (argc > 1 && !strcmp(argv[1], "set"))
		set();
	else if (argc > 1 && !strcmp(argv[1], "status"))
		status();
	else
		ask_badly();
	return 0;
}
