/* SPDX-License-Identifier: MIT */
#include "collector/record/log_objects.h"

#include <stdlib.h>

#include "format/log_values.h"

enum { SLOTS_FIRST = 512 };

/* The slot of the object with that hash, or the free one where it belongs. */
static struct log_object *slot_of(const struct log_objects *o, const struct content_hash *hash)
{
	size_t i = hash->first & (o->slot_count - 1);

	while (o->slots[i].number &&
	       (o->slots[i].hash.first != hash->first || o->slots[i].hash.second != hash->second))
		i = (i + 1) & (o->slot_count - 1);
	return &o->slots[i];
}

/* Makes room for one more. False without memory. */
static bool make_room(struct log_objects *o)
{
	struct log_objects larger = *o;

	if (o->slot_count > 2 * (size_t)o->count + 2)
		return true;
	larger.slot_count = o->slot_count ? 2 * o->slot_count : SLOTS_FIRST;
	larger.slots = calloc(larger.slot_count, sizeof *larger.slots);
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < o->slot_count; i++)
		if (o->slots[i].number)
			*slot_of(&larger, &o->slots[i].hash) = o->slots[i];
	free(o->slots);
	*o = larger;
	return true;
}

enum log_object_is log_objects_look(struct log_objects *o, const void *bytes, size_t n,
				    uint32_t *number)
{
	const struct content_hash hash = content_hash(bytes, n);
	struct log_object *slot;

	if (!make_room(o))
		return LOG_OBJECT_NONE;
	slot = slot_of(o, &hash);
	if (slot->number) {
		*number = slot->number - 1;
		return LOG_OBJECT_KNOWN;
	}
	if (o->count >= BT_LOG_OBJECTS_MANY || n > BT_LOG_OBJECTS - o->bytes)
		return LOG_OBJECT_NONE;
	*slot = (struct log_object){.hash = hash, .number = ++o->count};
	o->bytes += n;
	return LOG_OBJECT_NEW;
}

void log_objects_release(struct log_objects *o)
{
	free(o->slots);
	*o = (struct log_objects){0};
}
