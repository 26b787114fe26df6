/* SPDX-License-Identifier: MIT */
#include "collector/history/address_lists.h"

#include <stdlib.h>
#include <string.h>

#include "lib/large_array.h"

enum {
	FIRST_BUCKETS = 1 << 10,
	GROWTH = 4, /* of buckets, when there are as many numbers */
};

static uint32_t *new_buckets(uint32_t count)
{
	uint32_t *buckets = malloc(count * sizeof *buckets);

	if (buckets)
		memset(buckets, 0xff, count * sizeof *buckets);
	return buckets;
}

bool address_lists_init(struct address_lists *l)
{
	*l = (struct address_lists){.bucket_count = FIRST_BUCKETS,
				    .buckets = new_buckets(FIRST_BUCKETS)};
	return l->buckets;
}

void address_lists_release(struct address_lists *l)
{
	free(l->buckets);
	large_array_free(l->links, l->link_cap, sizeof *l->links);
	*l = (struct address_lists){0};
}

bool address_lists_copy(struct address_lists *to, const struct address_lists *from)
{
	*to = *from;
	to->buckets = malloc(from->bucket_count * sizeof *to->buckets);
	to->links =
		large_array_copy(from->links, from->link_cap, from->link_cap, sizeof *to->links);
	if (!to->buckets || (from->link_cap && !to->links))
		return false;
	memcpy(to->buckets, from->buckets, from->bucket_count * sizeof *to->buckets);
	return true;
}

void address_lists_clear(struct address_lists *l)
{
	memset(l->buckets, 0xff, l->bucket_count * sizeof *l->buckets);
	l->count = 0;
}

bool address_lists_reserve(struct address_lists *l, uint32_t number)
{
	if (number < l->link_cap)
		return true;
	return number < ADDRESS_LISTS_NONE / 2 &&
	       large_array_reserve((void **)&l->links, &l->link_cap, (size_t)number + 1,
				   sizeof *l->links);
}

static void enter_number(struct address_lists *l, uint32_t number)
{
	uint32_t *bucket = &l->buckets[address_lists_bucket(l, l->links[number].key)];

	l->links[number].next = *bucket;
	*bucket = number;
}

/* The same list, the last one first. */
static uint32_t reverse_list(struct address_lists *l, uint32_t first)
{
	uint32_t done = ADDRESS_LISTS_NONE;

	for (uint32_t n = first, next; n != ADDRESS_LISTS_NONE; n = next) {
		next = l->links[n].next;
		l->links[n].next = done;
		done = n;
	}
	return done;
}

/* More buckets than numbers, so that searches are short: numbers that share a new bucket shared an
 * old one. Without memory they stay as they are. */
static void grow_buckets(struct address_lists *l)
{
	uint32_t old_count = l->bucket_count, *old = l->buckets, *buckets;

	if (l->count < old_count || !(buckets = new_buckets(old_count * GROWTH)))
		return;
	l->buckets = buckets;
	l->bucket_count = old_count * GROWTH;
	for (uint32_t i = 0; i < old_count; i++)
		for (uint32_t n = reverse_list(l, old[i]), next; n != ADDRESS_LISTS_NONE;
		     n = next) {
			next = l->links[n].next;
			enter_number(l, n);
		}
	free(old);
}

void address_lists_put(struct address_lists *l, uint64_t addr, uint32_t number)
{
	grow_buckets(l);
	l->links[number].key = address_lists_key(addr);
	enter_number(l, number);
	l->count++;
}

void address_lists_remove(struct address_lists *l, uint64_t addr, uint32_t number)
{
	uint32_t *at = &l->buckets[address_lists_bucket(l, address_lists_key(addr))];

	while (*at != number)
		at = &l->links[*at].next;
	*at = l->links[number].next;
	l->count--;
}

void address_lists_sweep(struct address_lists *l, uint64_t addr,
			 bool (*take)(void *arg, uint32_t number), void *arg)
{
	uint32_t key = address_lists_key(addr), *at = &l->buckets[address_lists_bucket(l, key)];

	while (*at != ADDRESS_LISTS_NONE) {
		struct address_link *link = &l->links[*at];

		if (link->key != key || !take(arg, *at)) {
			at = &link->next;
			continue;
		}
		*at = link->next;
		l->count--;
	}
}
