/* SPDX-License-Identifier: MIT */
/* The limit on the memory of all histories of the tree. */
#include "collector/record/recording_private.h"

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
		    (!found ||
		     sup->slices - task->supervised->ran > sup->slices - found->supervised->ran))
			found = task;
	return found;
}

static void halve_history(struct task *task)
{
	task->history /= 2;
	branch_ring_lower(&task->ring, task->history);
	if (task->log)
		branch_log_lower(task->log, task->history);
}

static void count_history(struct recording *r, struct task *task)
{
	if (!task->record) /* it has not begun */
		return;
	r->history_used -= task->record->history_counted;
	task->record->history_counted = memory_of(task);
	r->history_used += task->record->history_counted;
}

/* Shortens some histories if all together use more than they may. */
static void bound_histories(struct recording *r, struct supervisor *sup)
{
	uint64_t most = r->options.history_memory;
	struct task *task;

	for (task = sup->tasks.first; task; task = task->next)
		count_history(r, task);
	while (r->history_used > most && (task = whose_turn_to_give(sup))) {
		halve_history(task);
		count_history(r, task);
		if (!r->history_bounded)
			supervisor_note(
				sup, task,
				"the branch histories of all tasks had reached %llu MB "
				"(--history-memory): those of idle and of large ones are shortened",
				(unsigned long long)(most >> 20));
		r->history_bounded = true;
	}
	/* The least that each may keep can be more in sum than all may. Then the next look comes
	 * when the sum has grown by a share. */
	r->history_next = r->history_used > most ? r->history_used + r->history_used / SHARE : most;
}

void history_limit_count(struct recording *r, struct supervisor *sup, struct task *task)
{
	count_history(r, task);
	if (r->history_used > r->history_next)
		bound_histories(r, sup);
}

void history_limit_count_all(struct recording *r, struct supervisor *sup)
{
	bound_histories(r, sup);
}

void history_limit_discount(struct recording *r, const struct task *task)
{
	r->history_used -= task->record->history_counted;
	if (r->history_used <= r->options.history_memory)
		r->history_next = r->options.history_memory;
}
