// SPDX-License-Identifier: MIT
/* Three threads spin until a fourth has made its system calls. tests/e2e/pmu.py */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int done;

static void *spin(void *unused)
{
	(void)unused;
	while (!atomic_load_explicit(&done, memory_order_relaxed))
		;
	return NULL;
}

static void *call(void *unused)
{
	(void)unused;
	for (int i = 0; i < 200; i++)
		syscall(SYS_getppid);
	atomic_store(&done, 1);
	return NULL;
}

int main(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, i < 3 ? spin : call, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
