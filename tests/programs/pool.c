// SPDX-License-Identifier: MIT
/* pool: five threads wait in one place and two in another, and the first crashes. tests/e2e/report.py */
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

enum { WORKERS = 5, OTHERS = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, ready = PTHREAD_COND_INITIALIZER;
static int waiting;

static void *worker(void *arg)
{
	pthread_mutex_lock(&lock);
	waiting++;
	pthread_cond_signal(&ready);
	for (;;)
		pthread_cond_wait(&work, &lock);
	return arg;
}

static void *other(void *arg)
{
	int ends[2];
	char byte;

	if (pipe(ends))
		return NULL;
	pthread_mutex_lock(&lock);
	waiting++;
	pthread_cond_signal(&ready);
	pthread_mutex_unlock(&lock);
	return read(ends[0], &byte, 1) ? arg : NULL;
}

int main(void)
{
	volatile intptr_t nowhere = 16;
	pthread_t thread;

	for (int i = 0; i < WORKERS + OTHERS; i++)
		if (pthread_create(&thread, NULL, i == 1 || i == 4 ? other : worker, NULL))
			return 1;
	pthread_mutex_lock(&lock);
	while (waiting < WORKERS + OTHERS)
		pthread_cond_wait(&ready, &lock);
	pthread_mutex_unlock(&lock);
	sleep(1); /* all have come to where they wait */
	*(volatile int *)nowhere = 1;
	return 0;
}
