/* SPDX-License-Identifier: MIT */
#include "collector/backend/engine/cache/predictions.h"

#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"
#include "lib/page.h"

enum {
	PREDICTIONS_MAX = 1 << 15,
};

struct prediction *predictions_get(const struct predictions *g, uint64_t from)
{
	const struct hash_slot *s = hash_table_find(&g->by_from, from);

	return s ? &g->list[s->number - 1] : NULL;
}

uint64_t predictions_find(const struct predictions *g, uint64_t from)
{
	const struct prediction *found = predictions_get(g, from);

	return found ? found->to : 0;
}

/* A prediction of a branch that has none. NULL without memory, or when there are too many. */
static struct prediction *new_prediction(struct predictions *g, uint64_t from)
{
	struct prediction *list = g->count < PREDICTIONS_MAX
					  ? array_grow(g->list, g->count, &g->cap, sizeof *list)
					  : NULL;

	if (!list)
		return NULL;
	g->list = list;
	if (!hash_table_add(&g->by_from, (struct hash_slot){from, {g->count + 1}}))
		return NULL;
	return &list[g->count++];
}

static void note_pages(struct predictions *g, uint64_t start, uint64_t end)
{
	for (uint64_t page = page_number(start); page <= page_number(end - 1); page++)
		g->pages[page / 64 % 64] |= 1ull << page % 64;
}

/* Code that changes often is looked at often: mostly there is nothing. */
static bool may_rest_on(const struct predictions *g, uint64_t start, uint64_t end)
{
	uint64_t first = page_number(start), last = page_number(end - 1);

	if (!g->count || start >= end)
		return false;
	if (last - first >= 64)
		return true;
	for (uint64_t page = first; page <= last; page++)
		if (g->pages[page / 64 % 64] >> page % 64 & 1)
			return true;
	return false;
}

bool predictions_put(struct predictions *g, const struct prediction *prediction)
{
	struct prediction *at = predictions_get(g, prediction->from);

	if (!at && !(at = new_prediction(g, prediction->from)))
		return false;
	*at = *prediction;
	note_pages(g, prediction->from, prediction->from + prediction->len);
	for (size_t i = 0; i < prediction->span_count; i++)
		note_pages(g, prediction->spans[i].start, prediction->spans[i].end);
	return true;
}

static bool rests_on(const struct prediction *g, uint64_t start, uint64_t end)
{
	if (g->from < end && start < g->from + g->len)
		return true;
	for (size_t i = 0; i < g->span_count; i++)
		if (g->spans[i].start < end && start < g->spans[i].end)
			return true;
	return false;
}

struct prediction *predictions_next(const struct predictions *g, uint64_t start, uint64_t end,
				    uint32_t *i)
{
	if (!may_rest_on(g, start, end))
		return NULL;
	for (; *i < g->count; ++*i)
		if (g->list[*i].to && rests_on(&g->list[*i], start, end))
			return &g->list[*i];
	return NULL;
}

bool predictions_copy(struct predictions *to, const struct predictions *from)
{
	*to = *from;
	to->cap = from->count;
	to->list = from->count ? malloc(from->count * sizeof *to->list) : NULL;
	if (!hash_table_copy(&to->by_from, &from->by_from) || (from->count && !to->list)) {
		predictions_release(to);
		return false;
	}
	if (from->count)
		memcpy(to->list, from->list, from->count * sizeof *to->list);
	return true;
}

void predictions_release(struct predictions *g)
{
	free(g->list);
	hash_table_release(&g->by_from);
	*g = (struct predictions){0};
}
