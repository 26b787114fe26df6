// SPDX-License-Identifier: MIT
// The worker waits without looking whether the work has come already.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct mailbox {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	int letters;
};

static struct mailbox box = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };

static void mailbox_put(struct mailbox *mailbox)
{
	pthread_mutex_lock(&mailbox->lock);
	mailbox->letters++;
	pthread_cond_signal(&mailbox->filled);
	pthread_mutex_unlock(&mailbox->lock);
}

static int mailbox_take(struct mailbox *mailbox)
{
	int letters;

	pthread_mutex_lock(&mailbox->lock);
	pthread_cond_wait(&mailbox->filled, &mailbox->lock); // HERE
	letters = mailbox->letters--;
	pthread_mutex_unlock(&mailbox->lock);
	return letters;
}

static void *postman(void *unused)
{
	mailbox_put(&box);
	return unused;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, postman, NULL);
	pthread_join(thread, NULL);
	printf("%d letters\n", mailbox_take(&box));
	return 0;
}
