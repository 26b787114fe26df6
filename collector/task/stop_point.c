/* SPDX-License-Identifier: MIT */
#include "collector/task/stop_point.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/task/task.h"
#include "lib/array_size.h"

/* A number at *at, which goes behind it. */
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

bool stop_point_parse(const char *text, struct stop_point *g)
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
	found.tick = number;
	if (*text == '+' && (text++, !take_number(&text, 10, &found.transfers)))
		return false;
	if (*text == '@' && (text++, !take_number(&text, 16, &found.rip) || !found.rip))
		return false;
	if (*text)
		return false;
	*g = found;
	return true;
}

void stop_point_print(const struct stop_point *g, char *out, size_t size)
{
	char at[24] = "";

	if (g->rip)
		snprintf(at, sizeof at, "@0x%" PRIx64, g->rip);
	snprintf(out, size, "%" PRIu32 ":%" PRIu64 "+%" PRIu64 "%s", g->task, g->tick, g->transfers,
		 at);
}

int stop_point_compare(const void *a, const void *b)
{
	const struct stop_point *one = a, *two = b;
	const uint64_t keys[][2] = {
		{one->task, two->task},
		{one->tick, two->tick},
		{one->transfers, two->transfers},
		{one->rip,
		 two->rip}, /* nothing but straight-line code lies between two transfers */
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	return 0;
}

void stop_point_begin(struct task *task, const struct stop_point *stop_points, size_t count)
{
	const struct stop_point *end = stop_points + count;

	while (stop_points < end && stop_points->task < task->number)
		stop_points++;
	task->stop_point = task->stop_points_end = stop_points;
	while (task->stop_points_end < end && task->stop_points_end->task == task->number)
		task->stop_points_end++;
}

static const struct stop_point *next_stop_point(const struct task *task)
{
	return task->stop_point < task->stop_points_end ? task->stop_point : NULL;
}

enum stop_point_side stop_point_side(const struct task *task)
{
	const struct stop_point *g = next_stop_point(task);
	struct bt_point now;

	if (!g || task_tick(task) < g->tick)
		return STOP_POINT_AHEAD;
	now = task_point(task);
	if (now.tick > g->tick || now.transfers > g->transfers)
		return STOP_POINT_PASSED;
	if (now.transfers < g->transfers)
		return STOP_POINT_AHEAD;
	return !g->rip || g->rip == now.rip ? STOP_POINT_HERE : STOP_POINT_AHEAD;
}

uint64_t stop_point_ticks_ahead(const struct task *task)
{
	const struct stop_point *g = next_stop_point(task);
	uint64_t tick;

	if (!g)
		return UINT64_MAX;
	tick = task_tick(task);
	return tick < g->tick ? g->tick - tick : 0;
}
