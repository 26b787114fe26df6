/* SPDX-License-Identifier: MIT */
/* The limit on the memory of all histories of the tree. */
#include "collector/supervisor/supervisor_private.h"

enum {
	LEAST = 1024, /* entries that each task may keep, whatever the limit */
	SHARE = 8,
};

static size_t memory_of(const struct task *task)
{
	return branch_ring_memory(&task->ring) + (task->log ? branch_log_memory(task->log) : 0);
}

/* Of the tasks that use at least half as much as the largest, the one that has been idle longest;
 * NULL when none can give anything. */
static struct task *whose_turn_to_give(const struct supervisor *sup)
{
	struct task *found = NULL;
	size_t largest = 0;

	for (struct task *task = sup->tasks.first; task; task = task->next)
		if (task->history > LEAST && memory_of(task) > largest)
			largest = memory_of(task);
	for (struct task *task = sup->tasks.first; task; task = task->next)
		if (task->history > LEAST && largest && memory_of(task) >= largest / 2 &&
		    (!found || sup->slices - task->ran > sup->slices - found->ran))
			found = task;
	return found;
}

static void halve(struct task *task)
{
	task->history /= 2;
	branch_ring_lower(&task->ring, task->history);
	if (task->log)
		branch_log_lower(task->log, task->history);
}

static void count(struct supervisor *sup, struct task *task)
{
	sup->history_used -= task->history_counted;
	task->history_counted = memory_of(task);
	sup->history_used += task->history_counted;
}

/* Where all together use more than they may, shortens some. */
static void bound(struct supervisor *sup)
{
	uint64_t most = sup->options.history_memory;
	struct task *task;

	for (task = sup->tasks.first; task; task = task->next)
		count(sup, task);
	while (sup->history_used > most && (task = whose_turn_to_give(sup))) {
		halve(task);
		count(sup, task);
		if (!sup->history_bounded)
			supervisor_note(
				sup, task,
				"the branch histories of all tasks had reached %llu MB "
				"(--history-memory): those of idle and of large ones are shortened",
				(unsigned long long)(most >> 20));
		sup->history_bounded = true;
	}
	/* What each may keep in any case may be more than all may: who are very many are not asked
	 * at each of their stops. */
	sup->history_next =
		sup->history_used > most ? sup->history_used + sup->history_used / SHARE : most;
}

void supervisor_count_history(struct supervisor *sup, struct task *task)
{
	count(sup, task);
	if (sup->history_used > sup->history_next)
		bound(sup);
}

void supervisor_count_histories(struct supervisor *sup) { bound(sup); }

void supervisor_discount_history(struct supervisor *sup, const struct task *task)
{
	sup->history_used -= task->history_counted;
	if (sup->history_used <= sup->options.history_memory)
		sup->history_next = sup->options.history_memory;
}
