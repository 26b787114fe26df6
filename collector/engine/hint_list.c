/* SPDX-License-Identifier: MIT */
/* The hints of a program in their order, found by where they are. */
#include <stdlib.h>
#include <string.h>

#include "collector/engine/hints_private.h"

/* Where the hint is, or a free place. */
static uint32_t *place_of(const struct hint_list *l, uint64_t file, uint64_t offset)
{
	size_t mask = 2 * l->cap - 1, i = (offset * 0x9e3779b97f4a7c15u + file) >> 32 & mask;

	while (l->index[i] && (l->hints[l->index[i] - 1].offset != offset || l->hints[l->index[i] - 1].file != file))
		i = (i + 1) & mask;
	return &l->index[i];
}

void hint_list_release(struct hint_list *l)
{
	if (!l->borrowed) {
		free(l->hints);
		free(l->templates);
		free(l->index);
	}
	*l = (struct hint_list){0};
}

static bool make_room(struct hint_list *l)
{
	size_t cap = l->count < l->cap ? l->cap : l->cap ? 2 * l->cap : 256; /* in the file there is room for none */
	struct hint_list grown = {.count = l->count, .cap = cap};

	if (l->count < l->cap && !l->borrowed)
		return true;
	if (l->count == HINTS_MAX)
		return false;
	grown.hints = malloc(cap * sizeof *grown.hints);
	grown.templates = malloc(cap * sizeof *grown.templates);
	grown.index = calloc(2 * cap, sizeof *grown.index);
	if (!grown.hints || !grown.templates || !grown.index) {
		hint_list_release(&grown);
		return false;
	}
	if (l->count) {
		memcpy(grown.hints, l->hints, l->count * sizeof *grown.hints);
		memcpy(grown.templates, l->templates, l->count * sizeof *grown.templates);
	}
	if (cap == l->cap)
		memcpy(grown.index, l->index, 2 * cap * sizeof *grown.index);
	for (uint32_t i = 0; cap != l->cap && i < l->count; i++)
		*place_of(&grown, l->hints[i].file, l->hints[i].offset) = i + 1;
	hint_list_release(l);
	*l = grown;
	return true;
}

bool hint_list_own(struct hint_list *l) { return !l->borrowed || make_room(l); }

size_t hint_list_find(const struct hint_list *l, uint64_t file, uint64_t offset)
{
	uint32_t n = l->cap ? *place_of(l, file, offset) : 0;

	return n ? n - 1 : HINT_NONE;
}

bool hint_list_enter(struct hint_list *l, const struct hint *h, const struct place_of_template *template)
{
	size_t i = hint_list_find(l, h->file, h->offset);

	if (i != HINT_NONE) {
		if (!h->indirect || l->hints[i].indirect || !hint_list_own(l))
			return false;
		l->hints[i].indirect = true; /* its template has no such entry, but gets one */
		return true;
	}
	if (!make_room(l))
		return false;
	l->hints[l->count] = *h;
	l->templates[l->count] = *template;
	*place_of(l, h->file, h->offset) = (uint32_t)++l->count;
	return true;
}
