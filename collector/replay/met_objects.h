/* SPDX-License-Identifier: MIT */
/* The objects of a log that have been met (LOG_OBJECT in doc/FORMAT.md): bytes that it may name
 * again. Zeroed, there are none. Used by log_reader. */
#ifndef BT_MET_OBJECTS_H
#define BT_MET_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/buf.h"
#include "lib/slice.h"

struct met_objects {
	struct met_object {
		size_t at, n; /* in bytes */
	} * list;             /* owned */
	size_t count, cap;
	struct buf bytes;
};

enum met_object_is {
	MET_OBJECT_KEPT,
	MET_OBJECT_TOO_MUCH, /* a log may not have so many, or so many bytes of them */
	MET_OBJECT_NO_MEMORY,
};

/* Keeps a copy of these bytes as the next object. */
enum met_object_is met_objects_keep(struct met_objects *o, struct slice bytes);

/* The bytes of an object, valid until the next one is kept. False: there is none of that number. */
bool met_objects_get(const struct met_objects *o, size_t number, struct slice *bytes);

void met_objects_release(struct met_objects *o);

#endif
