/* SPDX-License-Identifier: MIT */
/* Snapshots that somebody asks for: btrec snap, the program itself (btrec.h), --snap-at. */
#include "collector/record/recording_private.h"
#include "collector/record/snapshot.h"

static void keep_snapshot(struct recording *r, struct supervisor *sup, struct task *task)
{
	task->process->stop_wanted = false;
	snapshot_take(r, sup, task, BT_SNAPSHOT_REQUEST, 0, "btrec snap");
	r->request_kept += task->process->record->request_mark == r->request;
}

void recording_serve_request(struct recording *r, struct supervisor *sup, struct task *task)
{
	if (task->process->stop_wanted && !sup->frozen)
		keep_snapshot(r, sup, task);
}

void recording_on_slice(struct session *session, struct supervisor *sup, struct task *task)
{
	recording_serve_request(recording_of(session), sup, task);
}

void recording_on_request(struct session *session, struct supervisor *sup, struct task *task,
			  const char *label)
{
	snapshot_take(recording_of(session), sup, task, BT_SNAPSHOT_REQUEST, 0, label);
}

/* Sets the task's next stop point, or none after the last. */
static void set_next(struct supervisor *sup, struct task *task)
{
	struct task_record *record = task->record;
	bool any = record->stop_point < record->stop_points_end;

	if (sup->backend.ops->stop_at)
		record->reach = sup->backend.ops->stop_at(&sup->backend, task,
							  any ? record->stop_point : NULL);
}

void recording_set_stop_points(const struct recording *r, struct supervisor *sup, struct task *task)
{
	const struct stop_point *point = r->options.stop_points;
	const struct stop_point *end = point ? point + r->options.stop_point_count : NULL;
	struct task_record *record = task->record;

	while (point < end && point->task < task->number)
		point++;
	record->stop_point = record->stop_points_end = point;
	while (record->stop_points_end < end && record->stop_points_end->task == task->number)
		record->stop_points_end++;
	set_next(sup, task);
}

void recording_on_stop_point(struct session *session, struct supervisor *sup, struct task *task,
			     enum stop_point_side side)
{
	struct recording *r = recording_of(session);
	bool missed = side == STOP_POINT_PASSED && task->record->reach == REACH_EXACT;
	char text[STOP_POINT_TEXT];

	stop_point_print(task->record->stop_point++, text, sizeof text);
	set_next(sup, task);
	if (missed) {
		supervisor_note(sup, task, "--snap-at %s: the task was never there", text);
		return;
	}
	r->stop_points_kept++;
	snapshot_take(r, sup, task, BT_SNAPSHOT_REQUEST, 0, text);
}

/* A running task is asked to stop. The snapshot is taken then. */
static void request_snapshot(struct recording *r, struct supervisor *sup, struct task *task)
{
	switch (task->state) {
	case TASK_RUNNING:
		task->process->stop_wanted = true;
		sup->backend.ops->stop_soon(&sup->backend, task);
		break;
	case TASK_READY:
	case TASK_IN_SYSCALL:
	case TASK_GROUP_STOPPED:
		supervisor_freeze(sup);
		if (supervisor_halt(sup, task))
			keep_snapshot(r, sup, task);
		else if (task->state != TASK_EXITING)
			task->process->stop_wanted = true; /* it waits uninterruptibly */
		supervisor_thaw(sup);
		break;
	default:
		break;
	}
}

static bool can_be_asked(const struct task *task)
{
	return task->supervised->started && !task->native && task->state != TASK_EXITING;
}

/* Whether the process's snapshot is to be this task's: it holds all threads, and tells of this one
 * first. */
static bool speaks_for_process(const struct supervisor *sup, const struct task *task)
{
	const struct task *first = task_find(&sup->tasks, task->process->host_pid);

	return can_be_asked(task) &&
	       (task == first || !first || first->process != task->process || !can_be_asked(first));
}

unsigned recording_request(struct recording *r, struct supervisor *sup, pid_t pid)
{
	unsigned mark = ++r->request, count = 0;
	struct task *task, *next;

	r->request_kept = 0;
	for (task = sup->tasks.first; task; task = next) {
		next = task->next;
		if (!task->process || task->process->record->request_mark == mark ||
		    !speaks_for_process(sup, task))
			continue;
		if (pid && pid != task->process->pid)
			continue;
		task->process->record->request_mark = mark;
		request_snapshot(r, sup, task);
		count++;
	}
	return count;
}

unsigned recording_due(const struct recording *r, const struct supervisor *sup)
{
	unsigned count = 0;

	for (const struct task *task = sup->tasks.first; task; task = task->next)
		count += task->process && task->process->record->request_mark == r->request &&
			 task->process->stop_wanted && task == task->process->members;
	return count;
}
