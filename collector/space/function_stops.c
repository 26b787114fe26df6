/* SPDX-License-Identifier: MIT */
#include "collector/space/function_stops.h"

#include <stdlib.h>
#include <string.h>

#include "lib/bisect.h"
#include "lib/grow.h"

/* The first one at addr or behind it. */
static size_t first_from(const struct function_stops *f, uint64_t addr)
{
	size_t i;

	BISECT(i, f->count, f->list[i].addr < addr);
	return i;
}

void function_stops_add(struct function_stops *f, uint64_t addr, uint16_t function)
{
	size_t i = first_from(f, addr);
	struct function_stop *list;

	if (i < f->count && f->list[i].addr == addr)
		return;
	list = array_grow(f->list, f->count, &f->cap, sizeof *list);
	if (!list)
		return;
	f->list = list;
	memmove(&f->list[i + 1], &f->list[i], (f->count - i) * sizeof *f->list);
	f->list[i] = (struct function_stop){.addr = addr, .function = function, .armed = true};
	f->count++;
}

void function_stops_drop(struct function_stops *f, uint64_t start, uint64_t end)
{
	size_t first = first_from(f, start), behind = first_from(f, end);

	if (first >= behind)
		return;
	memmove(&f->list[first], &f->list[behind], (f->count - behind) * sizeof *f->list);
	f->count -= behind - first;
}

struct function_stop *function_stops_at(const struct function_stops *f, uint64_t addr)
{
	size_t i = first_from(f, addr);

	return i < f->count && f->list[i].addr == addr ? &f->list[i] : NULL;
}

bool function_stops_armed(const struct function_stops *f, uint64_t start, uint64_t end)
{
	for (size_t i = first_from(f, start); i < f->count && f->list[i].addr < end; i++)
		if (f->list[i].armed)
			return true;
	return false;
}

void function_stops_copy(struct function_stops *to, const struct function_stops *from)
{
	*to = (struct function_stops){0};
	if (!from->count)
		return;
	to->list = malloc(from->count * sizeof *to->list);
	if (!to->list)
		return;
	memcpy(to->list, from->list, from->count * sizeof *to->list);
	to->count = to->cap = from->count;
}

void function_stops_release(struct function_stops *f)
{
	free(f->list);
	*f = (struct function_stops){0};
}
