/* SPDX-License-Identifier: MIT */
/* The objects that a log has already (LOG_OBJECT in doc/FORMAT.md), found by their content: a file
 * that is mapped again, or by the next program, is in the log once. Zeroed, it has none. Used by
 * the replay log. */
#ifndef BT_LOG_OBJECTS_H
#define BT_LOG_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/content_numbers.h"

struct log_objects {
	struct content_numbers numbers; /* one more than those of the objects */
	uint64_t bytes;                 /* of all objects */
};

enum log_object_is {
	LOG_OBJECT_KNOWN, /* the log has these bytes, as this object */
	LOG_OBJECT_NEW,   /* they are to be written as the next object */
	LOG_OBJECT_NONE,  /* there is no room for more of them, or no memory */
};

/* Looks up n bytes among the objects. *number: of the object, where it is known. */
enum log_object_is log_objects_look(struct log_objects *o, const void *bytes, size_t n,
				    uint32_t *number);

void log_objects_release(struct log_objects *o);

#endif
