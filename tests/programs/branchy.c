// SPDX-License-Identifier: MIT
/* branchy THREADS ROUNDS: threads that begin at once, take many branches and stay; then one of them crashes. tests/e2e/history.py */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static unsigned long rounds;
static pthread_barrier_t done;
static atomic_ulong sum;

static void *work(void *crashes)
{
	unsigned x = 12345;

	pthread_barrier_wait(&done);
	for (unsigned long i = 0; i < rounds; i++) {
		x = x * 1103515245u + 12345u;
		if (x & 0x10000)
			atomic_fetch_add_explicit(&sum, i, memory_order_relaxed);
	}
	pthread_barrier_wait(&done);
	if (crashes)
		*(volatile int *)NULL = 1;
	pthread_barrier_wait(&done);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1;

	rounds = argc > 2 ? strtoul(argv[2], NULL, 0) : 100000;
	pthread_barrier_init(&done, NULL, threads);
	for (unsigned i = 1; i < threads; i++) {
		pthread_t t;

		pthread_create(&t, NULL, work, NULL);
	}
	work(main);
	return 0;
}
