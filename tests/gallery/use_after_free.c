// SPDX-License-Identifier: MIT
// A timer is removed from within its own callback; the loop goes on from it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct timer {
	void *owner;
	struct timer *next;
	int due;
	void (*fire)(struct timer *);
};

static struct timer *timers;

static void timer_add(int due, void (*fire)(struct timer *))
{
	struct timer *timer = malloc(sizeof *timer);

	timer->due = due;
	timer->fire = fire;
	timer->owner = NULL;
	timer->next = timers;
	timers = timer;
}

static void timer_remove(struct timer *gone)
{
	for (struct timer **link = &timers; *link; link = &(*link)->next)
		if (*link == gone) {
			*link = gone->next;
			free(gone);
			return;
		}
}

static void fire_once(struct timer *timer)
{
	char *note = NULL;

	timer_remove(timer);
	note = malloc(sizeof(struct timer));
	memset(note, 'x', sizeof(struct timer));
	printf("fired %.4s\n", note);
}

static void run_due(int now)
{
	struct timer *timer = timers;

	while (timer) {
		if (timer->due <= now) // HERE
			timer->fire(timer);
		timer = timer->next;
	}
}

int main(void)
{
	timer_add(10, fire_once);
	timer_add(5, fire_once);
	run_due(7);
	return 0;
}
