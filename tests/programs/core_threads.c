// SPDX-License-Identifier: MIT
/* Three threads compute while the first one dies of a null pointer and leaves a core file. tests/e2e/engine_written.py, behaviour.py */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum {
	THREADS = 3,
};

static atomic_int up;
static volatile double values[THREADS * 16];

static void *compute(void *arg)
{
	volatile double *value = arg;

	up++;
	for (*value = 1.5;;)
		*value *= 1.0001;
}

int main(void)
{
	pthread_t thread;
	int *volatile nowhere = NULL;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread, NULL, compute, (void *)&values[i * 16]);
	while (up < THREADS)
		;
	usleep(20000);
	__asm__ volatile("movq %0, %%xmm9\n\tfldpi" : : "r"(0x1122334455667788) : "xmm9");
	return *nowhere;
}
