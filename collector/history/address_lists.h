/* SPDX-License-Identifier: MIT */
/* Multimap from address to number; a number has at most one address. Of each address the newest
 * number comes first. Used by code caches (fragments, exits) and by segment tables.
 *
 * A key made of the address is kept with the number, so a search seldom looks at anything else.
 * Addresses that are near have places that are near, too: the whole is larger than a processor's
 * caches. So it is not lib/hash_table, which puts neighbours far apart and has sixteen bytes for
 * each. */
#ifndef BT_ADDRESS_LISTS_H
#define BT_ADDRESS_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADDRESS_LISTS_NONE UINT32_MAX

struct address_link {
	uint32_t key;  /* of its address */
	uint32_t next; /* in its bucket, ADDRESS_LISTS_NONE */
};

struct address_lists {
	uint32_t *buckets;          /* the first number of each */
	uint32_t bucket_count;      /* a power of two */
	uint32_t count;             /* numbers in lists */
	struct address_link *links; /* by number */
	size_t link_cap;
};

/* Empty lists. False without memory. */
bool address_lists_init(struct address_lists *l);
void address_lists_release(struct address_lists *l);
/* *to, which nothing need be released of, becomes a copy. False without memory; it can be released
 * then, too. */
bool address_lists_copy(struct address_lists *to, const struct address_lists *from);
void address_lists_clear(struct address_lists *l);

/* Room for a number. False without memory. */
bool address_lists_reserve(struct address_lists *l, uint32_t number);
/* A number that there is room for, and that stands nowhere, stands at addr. */
void address_lists_put(struct address_lists *l, uint64_t addr, uint32_t number);
/* A number that stands at addr does not any more. The others there are walked along. */
void address_lists_remove(struct address_lists *l, uint64_t addr, uint32_t number);

/* Shows each number that stands at addr, and maybe some that stand elsewhere: where take(), which
 * leaves the lists alone, is true, it does not any more. */
void address_lists_sweep(struct address_lists *l, uint64_t addr,
			 bool (*take)(void *arg, uint32_t number), void *arg);

/* Of what has the same upper half they differ. */
static inline uint32_t address_lists_key(uint64_t addr)
{
	return (uint32_t)addr ^ (uint32_t)(addr >> 32) * 0x9e3779b1u;
}

/* Addresses of a kilobyte are in 128 neighbours. With four times as many buckets, what is in one
 * was in one. */
static inline uint32_t address_lists_bucket(const struct address_lists *l, uint32_t key)
{
	enum {
		NEAR_BITS = 10,
		SLOT_BITS = 3, /* addresses of eight bytes are in one */
		SLOTS = 1 << (NEAR_BITS - SLOT_BITS),
	};
	uint32_t hash = (key >> NEAR_BITS) * 0x9e3779b1u;

	return (uint32_t)((uint64_t)hash * (l->bucket_count / SLOTS) >> 32) * SLOTS +
	       (key >> SLOT_BITS & (SLOTS - 1));
}

/* From a number on that may be ADDRESS_LISTS_NONE. */
static inline uint32_t address_lists_from(const struct address_lists *l, uint32_t key,
					  uint32_t number)
{
	while (number != ADDRESS_LISTS_NONE && l->links[number].key != key)
		number = l->links[number].next;
	return number;
}

/* The first number that stands at addr, or at another address with the same key; the one behind it.
 * ADDRESS_LISTS_NONE: there is none. */
static inline uint32_t address_lists_first(const struct address_lists *l, uint64_t addr)
{
	uint32_t key = address_lists_key(addr);

	return address_lists_from(l, key, l->buckets[address_lists_bucket(l, key)]);
}

static inline uint32_t address_lists_next(const struct address_lists *l, uint64_t addr,
					  uint32_t number)
{
	return address_lists_from(l, address_lists_key(addr), l->links[number].next);
}

#endif
