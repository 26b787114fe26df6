/* SPDX-License-Identifier: MIT */
#include "collector/backend/engine/near_stop.h"

enum {
	FAR_IN_LINE = STOP_BLOCK, /* bytes of straight-line code: fewer are stepped */
};

/* All branches before the stop point are made: whether it lies so far ahead in straight-line code
 * that the task is to run to its block. Where a branch comes first, so that the task is never
 * there, it stops at that. */
static bool is_far_in_line(const struct task *task)
{
	const uint64_t to = task->stop_point->at.rip, from = task->regs.rip;

	return to > from && to - from >= FAR_IN_LINE;
}

bool near_stop_count_down(const struct task *task, struct context *ctx)
{
	const struct engine_task *et = task->backend;
	const struct bt_point *to = &task->stop_point->at;
	const uint64_t ahead = stop_point_ticks_ahead(task),
		       made = ahead ? 0 : task_point(task).transfers;

	ctx->stop_block = STOP_BLOCK_NONE;
	ctx->transfers_left = UINT64_MAX;
	ctx->ticks_left = ahead ? ahead - 1 : 0;
	if (ahead)
		return ahead > 1 || !et->idle;
	if (to->transfers > made) {
		ctx->transfers_left = to->transfers - made - 1;
		return !et->idle;
	}
	ctx->transfers_left = 0;
	ctx->stop_block = (uint32_t)(to->rip & -(uint64_t)STOP_BLOCK);
	return !et->idle && to->transfers == made && is_far_in_line(task);
}
