/* SPDX-License-Identifier: MIT */
/* The entries of a program's profile, in their order, found by their files and offsets. The index
 * is no lib/hash_table: it is kept in the file, and used as it lies there, so its form must stay.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/backend/engine/persist/profile_private.h"

/* Where the entry is, or a free place. */
static uint32_t *entry_place(const struct profile_entries *l, uint64_t file, uint64_t offset)
{
	size_t mask = 2 * l->cap - 1, i = (offset * 0x9e3779b97f4a7c15u + file) >> 32 & mask;

	while (l->index[i] && (l->entries[l->index[i] - 1].offset != offset ||
			       l->entries[l->index[i] - 1].file != file))
		i = (i + 1) & mask;
	return &l->index[i];
}

void profile_entries_release(struct profile_entries *l)
{
	if (!l->borrowed) {
		free(l->entries);
		free(l->groups);
		free(l->index);
	}
	*l = (struct profile_entries){0};
}

static bool make_entry_room(struct profile_entries *l)
{
	size_t cap = l->count < l->cap ? l->cap
		     : l->cap          ? 2 * l->cap
				       : 256; /* in the file there is room for none */
	struct profile_entries grown = {.count = l->count, .cap = cap};

	if (l->count < l->cap && !l->borrowed)
		return true;
	if (l->count == PROFILE_MAX)
		return false;
	grown.entries = malloc(cap * sizeof *grown.entries);
	grown.groups = malloc(cap * sizeof *grown.groups);
	grown.index = calloc(2 * cap, sizeof *grown.index);
	if (!grown.entries || !grown.groups || !grown.index) {
		profile_entries_release(&grown);
		return false;
	}
	if (l->count) {
		memcpy(grown.entries, l->entries, l->count * sizeof *grown.entries);
		memcpy(grown.groups, l->groups, l->count * sizeof *grown.groups);
	}
	if (cap == l->cap)
		memcpy(grown.index, l->index, 2 * cap * sizeof *grown.index);
	for (uint32_t i = 0; cap != l->cap && i < l->count; i++)
		*entry_place(&grown, l->entries[i].file, l->entries[i].offset) = i + 1;
	profile_entries_release(l);
	*l = grown;
	return true;
}

bool profile_entries_own(struct profile_entries *l) { return !l->borrowed || make_entry_room(l); }

size_t profile_entries_find(const struct profile_entries *l, uint64_t file, uint64_t offset)
{
	uint32_t n = l->cap ? *entry_place(l, file, offset) : 0;

	return n ? n - 1 : PROFILE_NONE;
}

bool profile_entries_enter(struct profile_entries *l, const struct profile_entry *h,
			   const struct persisted_location *group)
{
	size_t i = profile_entries_find(l, h->file, h->offset);

	if (i != PROFILE_NONE) {
		if (!h->indirect || l->entries[i].indirect || !profile_entries_own(l))
			return false;
		l->entries[i].indirect = true; /* its group has no such entry, but gets one */
		return true;
	}
	if (!make_entry_room(l))
		return false;
	l->entries[l->count] = *h;
	l->groups[l->count] = *group;
	*entry_place(l, h->file, h->offset) = (uint32_t)++l->count;
	return true;
}
