/* SPDX-License-Identifier: MIT */
#include "lib/content_numbers.h"

#include <stdlib.h>

#include "lib/grow.h"

void content_numbers_release(struct content_numbers *c)
{
	hash_table_release(&c->by_first);
	free(c->second_halves);
	*c = (struct content_numbers){0};
}

struct wanted_content {
	const struct content_numbers *numbers;
	uint64_t second;
};

static bool is_wanted(const void *arg, const struct hash_slot *slot)
{
	const struct wanted_content *wanted = arg;

	return wanted->numbers->second_halves[slot->number - 1] == wanted->second;
}

uint64_t content_numbers_find(const struct content_numbers *c, const struct content_hash *hash)
{
	const struct wanted_content wanted = {c, hash->second};
	const struct hash_slot *slot =
		hash_table_find_same(&c->by_first, hash->first, is_wanted, &wanted);

	return slot ? slot->number : 0;
}

uint64_t content_numbers_add(struct content_numbers *c, const struct content_hash *hash)
{
	uint64_t *halves = array_grow(c->second_halves, c->count, &c->cap, sizeof *halves);

	if (!halves)
		return 0;
	c->second_halves = halves;
	if (!hash_table_add(&c->by_first, (struct hash_slot){hash->first, {c->count + 1}}))
		return 0;
	halves[c->count] = hash->second;
	return ++c->count;
}
