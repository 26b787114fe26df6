// SPDX-License-Identifier: MIT
// Two threads count without a lock, under ThreadSanitizer.
#include <pthread.h>
#include <stdio.h>

struct statistics {
	long requests;
	long errors;
};

static struct statistics statistics;

static void count_request(struct statistics *all)
{
	all->requests++; // HERE
}

static void *serve(void *argument)
{
	for (int i = 0; i < 100; i++)
		count_request(argument);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, serve, &statistics);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%ld\n", statistics.requests);
	return 0;
}
