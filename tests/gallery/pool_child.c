// SPDX-License-Identifier: MIT
// A tool with a pool of threads gives up while they still wait; a script has called it.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t work;
	int jobs;
};

static struct pool pool = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };

static void *worker(void *unused)
{
	pthread_mutex_lock(&pool.lock);
	while (pool.jobs == 0)
		pthread_cond_wait(&pool.work, &pool.lock);
	pthread_mutex_unlock(&pool.lock);
	return unused;
}

static void check_input(const char *name)
{
	if (!strchr(name, '.')) {
		fprintf(stderr, "pool_child: %s has no ending\n", name);
		exit(5); // HERE
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	for (int i = 1; i < argc; i++)
		check_input(argv[i]);
	return 0;
}
