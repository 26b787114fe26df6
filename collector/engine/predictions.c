/* SPDX-License-Identifier: MIT */
#include "collector/engine/predictions.h"

#include <stdlib.h>
#include <string.h>

#include "lib/page.h"

enum {
	FIRST_CAP = 256,
	CAP_MAX = 1 << 16,
};

static uint32_t hash(uint64_t from) { return (uint32_t)(from * 0x9e3779b97f4a7c15u >> 32); }

/* Where the branch is, or would be. There is a free place. */
static struct prediction *place_of(const struct predictions *g, uint64_t from)
{
	uint32_t i = hash(from) & (g->cap - 1);

	while (g->list[i].from && g->list[i].from != from)
		i = (i + 1) & (g->cap - 1);
	return &g->list[i];
}

struct prediction *predictions_get(const struct predictions *g, uint64_t from)
{
	struct prediction *found = g->cap && from ? place_of(g, from) : NULL;

	return found && found->from ? found : NULL;
}

uint64_t predictions_find(const struct predictions *g, uint64_t from)
{
	const struct prediction *found = predictions_get(g, from);

	return found ? found->to : 0;
}

static bool grow(struct predictions *g)
{
	struct predictions grown = *g;

	if (g->count < g->cap / 2)
		return true;
	grown.cap = g->cap ? 2 * g->cap : FIRST_CAP;
	if (grown.cap > CAP_MAX)
		return false;
	grown.list = calloc(grown.cap, sizeof *grown.list);
	if (!grown.list)
		return false;
	for (uint32_t i = 0; i < g->cap; i++)
		if (g->list[i].from)
			*place_of(&grown, g->list[i].from) = g->list[i];
	free(g->list);
	*g = grown;
	return true;
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
	struct prediction *at;

	if (!prediction->from || !grow(g))
		return false;
	at = place_of(g, prediction->from);
	g->count += !at->from;
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
	for (; *i < g->cap; ++*i)
		if (g->list[*i].to && rests_on(&g->list[*i], start, end))
			return &g->list[*i];
	return NULL;
}

bool predictions_copy(struct predictions *to, const struct predictions *from)
{
	*to = *from;
	if (!from->cap)
		return true;
	to->list = malloc(from->cap * sizeof *to->list);
	if (!to->list) {
		*to = (struct predictions){0};
		return false;
	}
	memcpy(to->list, from->list, from->cap * sizeof *to->list);
	return true;
}

void predictions_release(struct predictions *g)
{
	free(g->list);
	*g = (struct predictions){0};
}
