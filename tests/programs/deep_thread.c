// SPDX-License-Identifier: MIT
/* deep_thread SHALLOW DEEP KIB: so many threads wait in a small frame, and so many in one of so many KiB; when all do, it aborts.
 * tests/e2e/stacks.py */
#include <alloca.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static sem_t waiting;
static size_t large;

__attribute__((noinline)) static int leaf(volatile char *p)
{
	sem_post(&waiting);
	pause();
	return *p;
}

__attribute__((noinline)) static int in_frame_of(size_t size)
{
	char *frame = alloca(size);

	memset(frame, 1, size);
	return leaf(frame) + frame[size - 1];
}

__attribute__((noinline)) static int begin(size_t size) { return in_frame_of(size) + 1; }

static void *shallow(void *arg)
{
	(void)arg;
	return (void *)(long)begin(16);
}

static void *deep(void *arg)
{
	(void)arg;
	return (void *)(long)begin(large);
}

int main(int argc, char **argv)
{
	int counts[2] = {argc > 3 ? atoi(argv[1]) : 0, argc > 3 ? atoi(argv[2]) : 1};
	pthread_t thread;

	large = (size_t)(argc > 3 ? atoi(argv[3]) : 300) << 10;
	sem_init(&waiting, 0, 0);
	for (int i = 0; i < counts[0] + counts[1]; i++)
		if (pthread_create(&thread, NULL, i < counts[0] ? shallow : deep, NULL))
			return 99;
	for (int i = 0; i < counts[0] + counts[1]; i++)
		sem_wait(&waiting);
	abort();
}
