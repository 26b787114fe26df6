// SPDX-License-Identifier: MIT
// A list that is walked by small functions, which the compiler puts into one.
#include <stdio.h>
#include <stdlib.h>

struct task {
	struct task *next;
	struct task *after;
	int cost;
};

static int task_ready_at(const struct task *task)
{
	return task->after->cost + 1; // HERE
}

static int tasks_end(const struct task *task)
{
	int end = 0;

	for (; task; task = task->next) {
		int at = task_ready_at(task);

		if (at > end)
			end = at;
	}
	return end;
}

static struct task *task_new(struct task *next, struct task *after, int cost)
{
	struct task *task = malloc(sizeof *task);

	*task = (struct task){ next, after, cost };
	return task;
}

int main(int argc, char **argv)
{
	struct task *first = task_new(NULL, NULL, argc), *list;

	(void)argv;
	list = task_new(first, first, 7);
	printf("%d\n", tasks_end(list));
	return 0;
}
