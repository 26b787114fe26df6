/* SPDX-License-Identifier: MIT */
#include "lib/hash_table.h"

#include <stdlib.h>
#include <string.h>

enum {
	FIRST_CAP = 64,
};

_Static_assert(sizeof(void *) == sizeof(uint64_t),
	       "a pointer is as long as a number, so NULL is 0");

void hash_table_release(struct hash_table *t)
{
	free(t->slots);
	*t = (struct hash_table){0};
}

bool hash_table_copy(struct hash_table *to, const struct hash_table *from)
{
	*to = (struct hash_table){0};
	if (!from->count)
		return true;
	to->slots = malloc(from->cap * sizeof *to->slots);
	if (!to->slots)
		return false;
	memcpy(to->slots, from->slots, from->cap * sizeof *to->slots);
	to->count = from->count;
	to->cap = from->cap;
	return true;
}

void hash_table_clear(struct hash_table *t)
{
	if (t->count)
		memset(t->slots, 0, t->cap * sizeof *t->slots);
	t->count = 0;
}

/* There is a free slot. */
static void enter_slot(struct hash_table *t, struct hash_slot slot)
{
	size_t i = hash_table_home(t, slot.key);

	while (t->slots[i].number)
		i = (i + 1) & (t->cap - 1);
	t->slots[i] = slot;
	t->count++;
}

bool hash_table_reserve(struct hash_table *t, size_t n)
{
	struct hash_table grown = {.cap = t->cap ? t->cap : FIRST_CAP};

	if (n > SIZE_MAX / 4 / sizeof *t->slots - t->count)
		return false;
	if (2 * (t->count + n) <= t->cap)
		return true;
	while (grown.cap < 2 * (t->count + n))
		grown.cap *= 2;
	grown.slots = calloc(grown.cap, sizeof *grown.slots);
	if (!grown.slots)
		return false;
	for (size_t i = 0; i < t->cap; i++)
		if (t->slots[i].number)
			enter_slot(&grown, t->slots[i]);
	free(t->slots);
	*t = grown;
	return true;
}

bool hash_table_add(struct hash_table *t, struct hash_slot slot)
{
	if (!hash_table_reserve(t, 1))
		return false;
	enter_slot(t, slot);
	return true;
}

/* Slots behind the hole that a search would miss move up. */
void hash_table_take_out(struct hash_table *t, struct hash_slot *slot)
{
	size_t mask = t->cap - 1, hole = (size_t)(slot - t->slots);

	for (size_t i = (hole + 1) & mask; t->slots[i].number; i = (i + 1) & mask)
		if (((i - hash_table_home(t, t->slots[i].key)) & mask) >= ((i - hole) & mask)) {
			t->slots[hole] = t->slots[i];
			hole = i;
		}
	t->slots[hole] = (struct hash_slot){0};
	t->count--;
}

/* It begins behind a free slot: then only slots that were not shown yet move up. */
void hash_table_sweep(struct hash_table *t, bool (*take)(void *arg, struct hash_slot *slot),
		      void *arg)
{
	size_t free_slot = 0;

	if (!t->count)
		return;
	while (t->slots[free_slot].number)
		free_slot++;
	for (size_t i = 1; i < t->cap; i++) {
		struct hash_slot *slot = &t->slots[(free_slot + i) & (t->cap - 1)];

		while (slot->number && take(arg, slot))
			hash_table_take_out(t, slot);
	}
}

struct hash_slot *hash_table_next(const struct hash_table *t, const struct hash_slot *slot)
{
	for (size_t i = slot ? (size_t)(slot - t->slots) + 1 : 0; i < t->cap; i++)
		if (t->slots[i].number)
			return &t->slots[i];
	return NULL;
}

struct hash_slot *hash_table_find_same(const struct hash_table *t, uint64_t key,
				       bool (*same)(const void *wanted,
						    const struct hash_slot *slot),
				       const void *wanted)
{
	if (!t->count)
		return NULL;
	for (size_t i = hash_table_home(t, key); t->slots[i].number; i = (i + 1) & (t->cap - 1))
		if (t->slots[i].key == key && same(wanted, &t->slots[i]))
			return &t->slots[i];
	return NULL;
}
