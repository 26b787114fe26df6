/* SPDX-License-Identifier: MIT */
/* The project's hash table: from keys of 64 bits to numbers or pointers. Open addressing with
 * linear probing, at most half full; a removal leaves no mark. All zero is an empty table without
 * memory.
 *
 * A key may be there more than once. A key of bytes or of a struct is given by the 64 bits that
 * content_hash() makes of it; the caller keeps the bytes themselves and tells equal ones by them
 * (hash_table_find_same()).
 *
 * A slot is valid until the next addition or removal. Nothing is locked: a table belongs to one
 * thread at a time. */
#ifndef BT_HASH_TABLE_H
#define BT_HASH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_slot {
	uint64_t key;
	union {
		uint64_t number; /* 0: the slot is free */
		void *pointer;   /* NULL: the same */
	};
};

struct hash_table {
	struct hash_slot *slots;
	size_t count, cap; /* keys; slots: 0 or a power of two */
};

void hash_table_release(struct hash_table *t);

/* Makes *to a copy, without releasing it first. False without memory: *to is empty. */
bool hash_table_copy(struct hash_table *to, const struct hash_table *from);

/* Removes all keys; keeps the memory. */
void hash_table_clear(struct hash_table *t);

/* Makes room for n more: as many calls of hash_table_add() do not fail. False without memory:
 * nothing has changed. */
bool hash_table_reserve(struct hash_table *t, size_t n);

/* Adds a slot with a value; its key may be there already. False without memory: nothing has
 * changed. */
bool hash_table_add(struct hash_table *t, struct hash_slot slot);

/* Removes one of the table's slots. */
void hash_table_take_out(struct hash_table *t, struct hash_slot *slot);

/* Calls take() for each slot, in no order, and removes the slot if that returns true. take() may
 * change numbers and pointers, not the table. */
void hash_table_sweep(struct hash_table *t, bool (*take)(void *arg, struct hash_slot *slot),
		      void *arg);

/* The slot behind this one, in no order, or the first behind NULL; NULL: there is none. */
struct hash_slot *hash_table_next(const struct hash_table *t, const struct hash_slot *slot);

/* A slot with the key for which same(wanted, slot) is true, or NULL. */
struct hash_slot *hash_table_find_same(const struct hash_table *t, uint64_t key,
				       bool (*same)(const void *wanted,
						    const struct hash_slot *slot),
				       const void *wanted);

/* The slot of a key if no other is in the way. The table has slots. */
static inline size_t hash_table_home(const struct hash_table *t, uint64_t key)
{
	key *= 0x9E3779B97F4A7C15u; /* 2^64 divided by the golden ratio: neighbours come far apart
				       (Knuth, volume 3, 6.4) */
	return (size_t)(key ^ key >> 32) & (t->cap - 1);
}

/* A slot with the key; NULL: there is none. */
static inline struct hash_slot *hash_table_find(const struct hash_table *t, uint64_t key)
{
	if (!t->count)
		return NULL;
	for (size_t i = hash_table_home(t, key); t->slots[i].number; i = (i + 1) & (t->cap - 1))
		if (t->slots[i].key == key)
			return &t->slots[i];
	return NULL;
}

#endif
