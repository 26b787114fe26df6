// SPDX-License-Identifier: MIT
// A worker takes from a queue that another one has emptied meanwhile.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
	struct job *next;
	int number;
};

struct queue {
	pthread_mutex_t lock;
	struct job *first;
	long sum;
};

static struct job *queue_take(struct queue *queue)
{
	struct job *job;

	pthread_mutex_lock(&queue->lock);
	job = queue->first;
	queue->first = job->next; // HERE
	pthread_mutex_unlock(&queue->lock);
	return job;
}

static void *worker(void *argument)
{
	struct queue *queue = argument;

	for (int i = 0; i < 3; i++) {
		struct job *job = queue_take(queue);

		queue->sum += job->number;
		free(job);
	}
	return NULL;
}

int main(void)
{
	struct queue queue = { PTHREAD_MUTEX_INITIALIZER, NULL, 0 };
	pthread_t threads[2];

	for (int i = 0; i < 5; i++) {
		struct job *job = malloc(sizeof *job);

		job->number = i;
		job->next = queue.first;
		queue.first = job;
	}
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, worker, &queue);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%ld\n", queue.sum);
	return 0;
}
