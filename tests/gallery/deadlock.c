// SPDX-License-Identifier: MIT
// Two accounts, locked in two orders.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct account {
	pthread_mutex_t lock;
	long balance;
};

static struct account checking = { PTHREAD_MUTEX_INITIALIZER, 100 };
static struct account savings = { PTHREAD_MUTEX_INITIALIZER, 100 };
static pthread_barrier_t both;

static void transfer(struct account *from, struct account *to, long amount)
{
	pthread_mutex_lock(&from->lock);
	pthread_barrier_wait(&both); // so that it happens each time
	pthread_mutex_lock(&to->lock); // HERE
	from->balance -= amount;
	to->balance += amount;
	pthread_mutex_unlock(&to->lock);
	pthread_mutex_unlock(&from->lock);
}

static void *monthly_saving(void *unused)
{
	transfer(&checking, &savings, 10);
	return unused;
}

static void *rent(void *unused)
{
	transfer(&savings, &checking, 50);
	return unused;
}

int main(void)
{
	pthread_t threads[2];

	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&threads[0], NULL, monthly_saving, NULL);
	pthread_create(&threads[1], NULL, rent, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%ld %ld\n", checking.balance, savings.balance);
	return 0;
}
