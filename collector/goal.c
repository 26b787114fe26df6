/* SPDX-License-Identifier: MIT */
#include "collector/goal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/task.h"

/* A number at *at, which goes behind it. */
static bool take_number(const char **at, int base, uint64_t *out)
{
	const char *from = *at;
	char *end;

	if (!(*from >= '0' && *from <= '9') && !(base == 16 && ((*from | 32) >= 'a' && (*from | 32) <= 'f')))
		return false;
	errno = 0;
	*out = strtoull(from, &end, base);
	*at = end;
	return !errno;
}

bool goal_parse(const char *text, struct goal *g)
{
	struct goal found = {.task = 1};
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

void goal_print(const struct goal *g, char *out, size_t size)
{
	char at[24] = "";

	if (g->rip)
		snprintf(at, sizeof at, "@0x%" PRIx64, g->rip);
	snprintf(out, size, "%" PRIu32 ":%" PRIu64 "+%" PRIu64 "%s", g->task, g->tick, g->transfers, at);
}

int goal_compare(const void *a, const void *b)
{
	const struct goal *one = a, *two = b;
	const uint64_t keys[][2] = {
		{one->task, two->task}, {one->tick, two->tick}, {one->transfers, two->transfers},
		{one->rip, two->rip}, /* nothing but straight-line code lies between two transfers */
	};

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	return 0;
}

void goal_begin(struct task *task, const struct goal *goals, size_t count)
{
	const struct goal *end = goals + count;

	while (goals < end && goals->task < task->number)
		goals++;
	task->goal = task->goals_end = goals;
	while (task->goals_end < end && task->goals_end->task == task->number)
		task->goals_end++;
}

static const struct goal *next_goal(const struct task *task)
{
	return task->goal < task->goals_end ? task->goal : NULL;
}

enum goal_place goal_place(const struct task *task)
{
	const struct goal *g = next_goal(task);
	struct bt_point now;

	if (!g || task_tick(task) < g->tick)
		return GOAL_AHEAD;
	now = task_point(task);
	if (now.tick > g->tick || now.transfers > g->transfers)
		return GOAL_PASSED;
	if (now.transfers < g->transfers)
		return GOAL_AHEAD;
	return !g->rip || g->rip == now.rip ? GOAL_HERE : GOAL_AHEAD;
}

uint64_t goal_ticks_ahead(const struct task *task)
{
	const struct goal *g = next_goal(task);
	uint64_t tick;

	if (!g)
		return UINT64_MAX;
	tick = task_tick(task);
	return tick < g->tick ? g->tick - tick : 0;
}
