/* SPDX-License-Identifier: MIT */
/* The limit on the memory of all histories of the tree. */
#include "collector/recorder_private.h"

enum {
	LEAST = 1024, /* entries that each task may keep, whatever the limit */
	TASKS_A_TICK = 256, /* looked at, on average */
};

static size_t memory_of(const struct task *task)
{
	return branch_ring_memory(&task->ring) + (task->log ? branch_log_memory(task->log) : 0);
}

/* Of the tasks that use at least half as much as the largest, the one that has been idle longest; NULL when none can give anything. */
static struct task *whose_turn_to_give(const struct recorder *r)
{
	struct task *found = NULL;
	size_t largest = 0;

	for (struct task *task = r->tasks.first; task; task = task->next)
		if (task->history > LEAST && memory_of(task) > largest)
			largest = memory_of(task);
	for (struct task *task = r->tasks.first; task; task = task->next)
		if (task->history > LEAST && largest && memory_of(task) >= largest / 2 && (!found || r->slices - task->ran > r->slices - found->ran))
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

void recorder_bound_history(struct recorder *r)
{
	uint64_t most = r->options.history_memory, used = 0;
	struct task *task;

	if (r->hurried && r->slices % (1 + r->tasks.count / TASKS_A_TICK))
		return;
	for (task = r->tasks.first; task; task = task->next)
		used += memory_of(task);
	while (used > most && (task = whose_turn_to_give(r))) {
		used -= memory_of(task);
		halve(task);
		used += memory_of(task);
		if (!r->history_bounded)
			recorder_note(r, task, "the branch histories of all tasks had reached %llu MB (--history-memory): those of idle and of large ones are shortened",
				      (unsigned long long)(most >> 20));
		r->history_bounded = true;
	}
}
