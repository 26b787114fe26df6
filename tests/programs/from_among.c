// SPDX-License-Identifier: MIT
/* from_among fork|vfork|thread: a thread calls place() while another one makes children, or threads, without end. Prints how many children did
 * not end as they should. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS = 100 };

static volatile int stop;
static int wrong;

void place(int i);
__attribute__((noinline)) void place(int i) { __asm__ volatile("" ::"r"(i) : "memory"); }

static void note_end(pid_t child)
{
	int status = 0;

	wrong += waitpid(child, &status, 0) != child || status != 0x300;
}

static void *fork_on(void *unused)
{
	while (!stop) {
		pid_t child = fork();

		if (!child)
			_exit(3);
		note_end(child);
	}
	return unused;
}

static void *vfork_on(void *unused)
{
	while (!stop) {
		pid_t child = vfork();

		if (!child) {
			usleep(500);
			_exit(3);
		}
		note_end(child);
	}
	return unused;
}

static void *nothing(void *unused) { return unused; }

static void *create_on(void *unused)
{
	pthread_t thread;

	while (!stop)
		wrong += pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL);
	return unused;
}

static void *call_place(void *unused)
{
	usleep(20000);
	for (int i = 0; i < CALLS; i++)
		place(i);
	return unused;
}

int main(int argc, char **argv)
{
	void *(*what)(void *) = argc < 2 ? NULL : !strcmp(argv[1], "fork") ? fork_on : !strcmp(argv[1], "vfork") ? vfork_on : create_on;
	pthread_t threads[2];

	if (!what || pthread_create(&threads[0], NULL, what, NULL) || pthread_create(&threads[1], NULL, call_place, NULL))
		return 2;
	pthread_join(threads[1], NULL);
	stop = 1;
	pthread_join(threads[0], NULL);
	printf("%d wrong\n", wrong);
	return 0;
}
