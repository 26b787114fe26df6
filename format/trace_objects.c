/* SPDX-License-Identifier: MIT */
#include "format/trace_objects.h"

#include <stdlib.h>

#include "lib/grow.h"

void trace_objects_release(struct trace_objects *o)
{
	free(o->at);
	*o = (struct trace_objects){0};
}

void trace_objects_add(struct trace_objects *o, struct arena *a, const struct bt_record_object *r)
{
	struct trace_object *at;

	if (!arena_charge(a, sizeof *at))
		return;
	at = array_grow(o->at, o->count, &o->cap, sizeof *at);
	if (!at) {
		a->failed = true;
		return;
	}
	o->at = at;
	o->at[o->count] =
		(struct trace_object){.number = r->object, .bytes = arena_slice(a, r->bytes)};
	o->unsorted |= r->object <= o->newest;
	o->newest = r->object;
	o->count += !a->over && !a->failed;
}

static int compare_objects(const void *a, const void *b)
{
	const struct trace_object *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* Writers number objects in order; only a damaged trace is sorted. */
void trace_objects_sort(struct trace_objects *o)
{
	if (o->unsorted)
		qsort(o->at, o->count, sizeof *o->at, compare_objects);
	o->unsorted = false;
}

const struct trace_object *trace_objects_find(const struct trace_objects *o, uint64_t number)
{
	struct trace_object key = {.number = number};

	return o->count ? bsearch(&key, o->at, o->count, sizeof key, compare_objects) : NULL;
}
