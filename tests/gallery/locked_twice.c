// SPDX-License-Identifier: MIT
// A function that locks calls another one that does.
#include <pthread.h>
#include <stdio.h>

struct counter {
	pthread_mutex_t lock;
	long value;
};

static long counter_get(struct counter *counter)
{
	long value;

	pthread_mutex_lock(&counter->lock); // HERE
	value = counter->value;
	pthread_mutex_unlock(&counter->lock);
	return value;
}

static void counter_add(struct counter *counter, long what)
{
	pthread_mutex_lock(&counter->lock);
	counter->value = counter_get(counter) + what;
	pthread_mutex_unlock(&counter->lock);
}

int main(void)
{
	struct counter counter = { PTHREAD_MUTEX_INITIALIZER, 0 };

	counter_add(&counter, 1);
	printf("%ld\n", counter.value);
	return 0;
}
