/* SPDX-License-Identifier: MIT */
#include "collector/backend/engine/near_stop.h"

enum {
	NEAR_TICKS = 1 << 20, /* where history is kept, a stop point farther away is not near: until
				 then the code that comes near it stays */
	NEAR_STEPS = 4096,    /* near its stop_point, without a tick: then it is in a loop that has
				 none, and may stay there */
};

bool near_stop_count_down(const struct task *task, struct context *ctx)
{
	const struct engine_task *et = task->backend;
	const uint64_t ahead = stop_point_ticks_ahead(task),
		       made = ahead ? 0 : task_point(task).transfers;

	ctx->transfers_left = UINT64_MAX;
	ctx->ticks_left = ahead ? ahead - 1 : 0;
	if (ahead)
		return ahead > 1 || !et->idle;
	if (task->stop_point->at.transfers <= made)
		return false;
	ctx->transfers_left = task->stop_point->at.transfers - made - 1;
	return !et->idle;
}

bool near_stop_counts(const struct backend *b, const struct engine_space *es)
{
	return !b->ticks && es && es->near && !es->parallel;
}

uint64_t near_stop_ticks(const struct backend *b, const struct engine_space *es)
{
	return b->ticks && es && es->near ? NEAR_STOP : STOP_NEAR;
}

uint64_t near_stop_transfers(const struct backend *b, const struct engine_space *es,
			     const struct task *task)
{
	uint64_t made, to_come;

	if (near_stop_ticks(b, es) != NEAR_STOP || stop_point_ticks_ahead(task))
		return 0;
	made = task_point(task).transfers;
	to_come = task->stop_point->at.transfers > made ? task->stop_point->at.transfers - made : 0;
	if (to_come < NEAR_TRANSFERS + NEAR_JUMPS)
		return 0;
	to_come -= NEAR_TRANSFERS;
	return to_come < TICKS_TRANSFERS ? to_come : TICKS_TRANSFERS;
}

bool near_stop_is_far_in_time(struct engine_task *et, uint64_t tick)
{
	if (et->near_tick != tick)
		et->near_steps = 0;
	et->near_tick = tick;
	if (et->near_steps < NEAR_STEPS)
		et->near_steps++;
	return et->near_steps == NEAR_STEPS;
}

void near_stop_note(const struct backend *b, struct engine_space *es, const struct task *task,
		    uint64_t ahead)
{
	if (es && ahead < STOP_NEAR) {
		es->near = true;
		es->near_task = task->number;
	} else if (es && !b->ticks && ahead > NEAR_TICKS && es->near_task == task->number) {
		es->near = false;
	}
}
