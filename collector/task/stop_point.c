/* SPDX-License-Identifier: MIT */
#include "collector/task/stop_point.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/task/task.h"
#include "lib/array_size.h"

/* Reads a number at *at, and moves *at behind it. */
static bool take_number(const char **at, int base, uint64_t *out)
{
	const char *from = *at;
	char *end;

	if (!(*from >= '0' && *from <= '9') &&
	    !(base == 16 && ((*from | 32) >= 'a' && (*from | 32) <= 'f')))
		return false;
	errno = 0;
	*out = strtoull(from, &end, base);
	*at = end;
	return !errno;
}

bool stop_point_parse(const char *text, struct stop_point *point)
{
	struct stop_point found = {.task = 1};
	uint64_t number;

	if (!take_number(&text, 10, &number))
		return false;
	if (*text == ':') {
		if (!number || number > UINT32_MAX)
			return false;
		found.task = (uint32_t)number;
		text++;
		if (!take_number(&text, 10, &number))
			return false;
	}
	found.at.tick = number;
	if (*text == '+' && (text++, !take_number(&text, 10, &found.at.transfers)))
		return false;
	if (*text == '@' && (text++, !take_number(&text, 16, &found.at.rip) || !found.at.rip))
		return false;
	found.iteration = found.at.rip && *text == ',';
	if (found.iteration && (text++, !take_number(&text, 16, &found.at.rcx)))
		return false;
	if (*text)
		return false;
	*point = found;
	return true;
}

void stop_point_print(const struct stop_point *point, char *out, size_t size)
{
	char at[24] = "", rcx[24] = "";

	if (point->at.rip)
		snprintf(at, sizeof at, "@0x%" PRIx64, point->at.rip);
	if (point->iteration)
		snprintf(rcx, sizeof rcx, ",0x%" PRIx64, point->at.rcx);
	snprintf(out, size, "%" PRIu32 ":%" PRIu64 "+%" PRIu64 "%s%s", point->task, point->at.tick,
		 point->at.transfers, at, rcx);
}

int stop_point_compare(const void *a, const void *b)
{
	const struct stop_point *one = a, *two = b;
	const uint64_t keys[][2] = {
		{one->task, two->task},
		{one->at.tick, two->at.tick},
		{one->at.transfers, two->at.transfers},
		/* Nothing but straight-line code lies between two transfers, and REP counts down.
		 */
		{one->at.rip, two->at.rip},
		{one->iteration, two->iteration},
		{two->at.rcx, one->at.rcx},
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	return 0;
}

/* Tick and transfers are those of the point. Between two transfers addresses go up, and the
 * iterations of a REP instruction count down. */
static enum stop_point_side side_in_line(const struct stop_point *point, const struct bt_point *now)
{
	if (!point->at.rip)
		return STOP_POINT_HERE;
	if (point->at.rip != now->rip)
		return now->rip < point->at.rip ? STOP_POINT_AHEAD : STOP_POINT_PASSED;
	if (!point->iteration || point->at.rcx == now->rcx)
		return STOP_POINT_HERE;
	return now->rcx > point->at.rcx ? STOP_POINT_AHEAD : STOP_POINT_PASSED;
}

enum stop_point_side stop_point_side_of(const struct stop_point *point, const struct task *task)
{
	struct bt_point now;

	if (task_tick(task) < point->at.tick)
		return STOP_POINT_AHEAD;
	now = task_point(task);
	if (now.tick > point->at.tick || now.transfers > point->at.transfers)
		return STOP_POINT_PASSED;
	if (now.transfers < point->at.transfers)
		return STOP_POINT_AHEAD;
	return side_in_line(point, &now);
}

enum stop_point_side stop_point_side(const struct task *task)
{
	return task->stop_point ? stop_point_side_of(task->stop_point, task) : STOP_POINT_AHEAD;
}

uint64_t stop_point_ticks_ahead(const struct task *task)
{
	const struct stop_point *point = task->stop_point;
	uint64_t tick;

	if (!point)
		return UINT64_MAX;
	tick = task_tick(task);
	return tick < point->at.tick ? point->at.tick - tick : 0;
}
