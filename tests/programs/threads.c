// SPDX-License-Identifier: MIT
/* threads NAME: one thread crashes, or acts, while another is blocked and a third one spins. tests/e2e/trees.py */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long *volatile no_long;
static atomic_int ready;
static atomic_long spins;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *wait_for_lock(void *unused)
{
	(void)unused;
	atomic_fetch_add(&ready, 1);
	pthread_mutex_lock(&lock);
	return NULL;
}

__attribute__((noinline)) static void spin(void)
{
	for (;;)
		atomic_fetch_add(&spins, 1);
}

static void *spin_for_ever(void *unused)
{
	(void)unused;
	atomic_fetch_add(&ready, 1);
	spin();
	return NULL;
}

__attribute__((noinline)) static void write_through(long *where)
{
	*where = 1; /* @thread-crash */
}

static void *crash_when_ready(void *unused)
{
	(void)unused;
	while (atomic_load(&ready) < 3 || atomic_load(&spins) < 10)
		usleep(1000);
	write_through(no_long);
	return NULL;
}

static void crash(void)
{
	pthread_t blocked, spinning, crashing;

	pthread_mutex_lock(&lock);
	pthread_create(&blocked, NULL, wait_for_lock, NULL);
	pthread_create(&spinning, NULL, spin_for_ever, NULL);
	pthread_create(&crashing, NULL, crash_when_ready, NULL);
	atomic_fetch_add(&ready, 1); /* no longer in clone, where no caller can be seen */
	pthread_join(crashing, NULL);
}

/* The initial thread ends first; the process lives until the last one. */
static void *outlive(void *unused)
{
	(void)unused;
	usleep(50000);
	puts("outlived");
	exit(7);
}

static void leader_ends(void)
{
	pthread_t other;

	pthread_create(&other, NULL, outlive, NULL);
	/* Not pthread_exit: it loads libgcc_s, a million instructions. */
	syscall(SYS_exit, 0);
}

/* Another thread than the leader calls execve: it takes over the leader's id. */
static char **next_program;

static void *become(void *unused)
{
	(void)unused;
	execv(next_program[0], next_program);
	_exit(95);
}

static void thread_execs(void)
{
	pthread_t other, spinning;

	pthread_create(&spinning, NULL, spin_for_ever, NULL);
	pthread_create(&other, NULL, become, NULL);
	pthread_join(other, NULL);
}

/* execs-beside WHAT CHILDREN: in each child a thread calls execve, a little later each time, while another one spins and the leader
 * spins, makes system calls, changes mappings or ends, at once or by unwinding. Tells how those ended that did not so as the new program does. */
static int pause_length;

static void *become_seven(void *unused)
{
	volatile int passed = 0;

	while (passed < pause_length)
		passed++;
	execl(next_program[-2], "threads", "seven", (char *)unused);
	_exit(95);
}

static void lead(const char *what)
{
	pthread_t other, spinning;

	alarm(60);
	pthread_create(&spinning, NULL, spin_for_ever, NULL);
	pthread_create(&other, NULL, become_seven, NULL);
	if (!strcmp(what, "ends"))
		syscall(SYS_exit, 0);
	if (!strcmp(what, "unwinds"))
		pthread_exit(NULL);
	for (;;) {
		if (!strcmp(what, "calls"))
			syscall(SYS_getppid);
		else if (!strcmp(what, "maps"))
			munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
	}
}

static void execs_beside(void)
{
	enum {
		STEP = 40000,
	};
	int children = atoi(next_program[1]), status;

	for (int i = 0; i < children; i++) {
		pid_t pid = fork();

		pause_length = i * STEP;
		if (pid == 0)
			lead(next_program[0]);
		waitpid(pid, &status, 0);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
			printf("child %d: %#x\n", i, (unsigned)status);
	}
}

static void seven(void) { exit(7); }

static void *count(void *unused)
{
	(void)unused;
	for (int i = 0; i < 300; i++) {
		pthread_mutex_lock(&lock);
		spins++;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void counters(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, count, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("%ld\n", spins);
}

/* The whole process leaves while one thread spins and one is blocked. */
static void exit_group(void)
{
	pthread_t blocked, spinning;

	pthread_mutex_lock(&lock);
	pthread_create(&blocked, NULL, wait_for_lock, NULL);
	pthread_create(&spinning, NULL, spin_for_ever, NULL);
	while (atomic_load(&ready) < 2)
		usleep(1000);
	exit(8);
}

static const struct {
	const char *name;
	void (*run)(void);
} table[] = {
	{"crash", crash},
	{"leader-ends", leader_ends},
	{"thread-execs", thread_execs},
	{"execs-beside", execs_beside},
	{"seven", seven},
	{"counters", counters},
	{"exit-group", exit_group},
};

int main(int argc, char **argv)
{
	next_program = argv + 2;
	for (size_t i = 0; argc > 1 && i < sizeof(table) / sizeof(*table); i++)
		if (!strcmp(argv[1], table[i].name)) {
			table[i].run();
			return 0;
		}
	return 2;
}
