/* SPDX-License-Identifier: MIT */
#include "collector/replay/met_objects.h"

#include <stdlib.h>

#include "format/log_values.h"
#include "lib/grow.h"

enum met_object_is met_objects_keep(struct met_objects *o, struct slice bytes)
{
	struct met_object *list;

	if (o->count >= BT_LOG_OBJECTS_MANY || bytes.len > BT_LOG_OBJECTS - o->bytes.len)
		return MET_OBJECT_TOO_MUCH;
	list = array_grow(o->list, o->count, &o->cap, sizeof *list);
	if (!list)
		return MET_OBJECT_NO_MEMORY;
	o->list = list;
	list[o->count++] = (struct met_object){.at = o->bytes.len, .n = bytes.len};
	buf_put(&o->bytes, bytes.at, bytes.len);
	return o->bytes.failed ? MET_OBJECT_NO_MEMORY : MET_OBJECT_KEPT;
}

bool met_objects_get(const struct met_objects *o, size_t number, struct slice *bytes)
{
	if (number >= o->count)
		return false;
	*bytes = slice_of(NULL, 0);
	if (o->list[number].n) /* else there may be no data at all */
		*bytes = slice_of(o->bytes.data + o->list[number].at, o->list[number].n);
	return true;
}

void met_objects_release(struct met_objects *o)
{
	free(o->list);
	buf_release(&o->bytes);
	*o = (struct met_objects){0};
}
