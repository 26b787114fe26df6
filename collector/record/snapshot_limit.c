/* SPDX-License-Identifier: MIT */
/* Handled events, and entries of functions from which programs go on, are limited for each task, by
 * what they cost; exits with failure for the whole recording, by their number: each is the only one
 * of its process. */
#include "collector/record/snapshot_limit.h"

#include "collector/record/recording_private.h"

enum {
	BUCKET_MAX = 32, /* handled events kept in a burst, per task */
	FAILURES_IN_ALL = 1000,
};

#define BUCKET_REFILL_NS 100000000u  /* one more every tenth of a second */
#define FAILURES_TIME_NS 1000000000u /* no more than RECORDING_FAILURES of them */

/* So many branches cost as much as an event. Branches before a sent signal matter less than those
 * before a fault, and each child of a shell sends it one: in a configure script decoding them took
 * a tenth of all time. */
static const uint64_t priced_branches[] = {[BT_SNAPSHOT_FAULT] = 1 << 16,
					   [BT_SNAPSHOT_SIGNAL] = 1 << 13,
					   [BT_SNAPSHOT_FUNCTION] = 1 << 16};

/* The cost of a handled event. Nearly all of it is reading the records since the last one: some 50
 * ms for a million branches. A busy program with many events a second gets a snapshot of a fault
 * every two seconds and of a signal every dozen, which takes a few percent of its time. */
static int64_t handled_price(const struct task *task, enum bt_snapshot_kind kind)
{
	return 1 + (int64_t)(task_unsettled(task) / priced_branches[kind]);
}

/* A snapshot may cost more than is left: the next one waits until that is paid for. */
static bool admit_handled(struct recording *r, struct task *task, enum bt_snapshot_kind kind)
{
	uint64_t now = bt_clock_now(r->clock);
	int64_t gained = (int64_t)((now - task->record->bucket_time) / BUCKET_REFILL_NS);

	if (!task->record->bucket_time)
		task->record->bucket = BUCKET_MAX;
	if (gained || !task->record->bucket_time)
		task->record->bucket_time = now ? now : 1;
	task->record->bucket = gained > BUCKET_MAX - task->record->bucket
				       ? BUCKET_MAX
				       : task->record->bucket + gained;
	if (task->record->bucket <= 0)
		return false;
	task->record->bucket -= handled_price(task, kind);
	return true;
}

/* The last RECORDING_FAILURES have been kept at r->failure_times, the oldest of them in the place
 * of the next. */
static bool admit_failure(struct recording *r)
{
	uint64_t now = bt_clock_now(r->clock);
	uint64_t *oldest = &r->failure_times[r->failures_kept % RECORDING_FAILURES];

	if (r->failures_kept >= FAILURES_IN_ALL ||
	    (r->failures_kept >= RECORDING_FAILURES && now - *oldest < FAILURES_TIME_NS))
		return false;
	*oldest = now;
	r->failures_kept++;
	return true;
}

bool snapshot_is_admitted(struct recording *r, struct task *task, enum bt_snapshot_kind kind)
{
	switch (kind) {
	case BT_SNAPSHOT_FAULT:
	case BT_SNAPSHOT_SIGNAL:
	case BT_SNAPSHOT_FUNCTION:
		return admit_handled(r, task, kind);
	case BT_SNAPSHOT_FAILURE:
	case BT_SNAPSHOT_MESSAGE:
		return admit_failure(r);
	default:
		return true;
	}
}
