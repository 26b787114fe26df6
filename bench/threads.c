/* SPDX-License-Identifier: MIT */
/* threads COUNT: four threads that add to shared sums, each addition under one of three mutexes, a
 * little work between. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, SUMS = 3 };

struct shared {
	pthread_mutex_t lock[SUMS];
	uint64_t sum[SUMS];
	long count;
};

struct worker {
	struct shared *shared;
	uint64_t x;
};

static void *run(void *argument)
{
	struct worker *w = argument;

	for (long i = 0; i < w->shared->count; i++) {
		unsigned int at;

		for (int k = 0; k < 100; k++)
			w->x = w->x & 1 ? w->x * 3 + 1 : w->x / 2 + 77;
		at = (unsigned int)(i % SUMS);
		pthread_mutex_lock(&w->shared->lock[at]);
		w->shared->sum[at] += w->x;
		pthread_mutex_unlock(&w->shared->lock[at]);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct shared shared = {.count = argc == 2 ? atol(argv[1]) : 0};
	struct worker workers[THREADS];
	pthread_t threads[THREADS];

	for (int i = 0; i < SUMS; i++)
		pthread_mutex_init(&shared.lock[i], NULL);
	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){&shared, (uint64_t)i + 27};
		if (pthread_create(&threads[i], NULL, run, &workers[i]))
			return 1;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%llu\n", (unsigned long long)(shared.sum[0] + shared.sum[1] + shared.sum[2]));
	return 0;
}
