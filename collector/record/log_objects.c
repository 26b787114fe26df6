/* SPDX-License-Identifier: MIT */
#include "collector/record/log_objects.h"

#include "format/log_values.h"

enum log_object_is log_objects_look(struct log_objects *o, const void *bytes, size_t n,
				    uint32_t *number)
{
	const struct content_hash hash = content_hash(bytes, n);
	uint64_t known = content_numbers_find(&o->numbers, &hash);

	if (known) {
		*number = (uint32_t)(known - 1);
		return LOG_OBJECT_KNOWN;
	}
	if (o->numbers.count >= BT_LOG_OBJECTS_MANY || n > BT_LOG_OBJECTS - o->bytes ||
	    !content_numbers_add(&o->numbers, &hash))
		return LOG_OBJECT_NONE;
	o->bytes += n;
	return LOG_OBJECT_NEW;
}

void log_objects_release(struct log_objects *o)
{
	content_numbers_release(&o->numbers);
	*o = (struct log_objects){0};
}
