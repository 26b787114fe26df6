/* SPDX-License-Identifier: MIT */
/* herd COUNT: each of COUNT threads wakes all waiting threads, and waits, until all have come.
 * Prints their number. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int there;
static bool all_there;

static void *come(void *arg)
{
	pthread_mutex_lock(&mutex);
	there++;
	pthread_cond_broadcast(&changed);
	while (!all_there)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	return arg;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 400;
	pthread_t *threads = calloc((size_t)count, sizeof *threads);

	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, come, NULL))
			return 3;
	pthread_mutex_lock(&mutex);
	while (there < count)
		pthread_cond_wait(&changed, &mutex);
	all_there = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", there);
	return 0;
}
