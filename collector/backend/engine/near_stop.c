/* SPDX-License-Identifier: MIT */
#include "collector/backend/engine/near_stop.h"

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
