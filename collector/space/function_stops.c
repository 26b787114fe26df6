/* SPDX-License-Identifier: MIT */
#include "collector/space/function_stops.h"

#include <stdlib.h>
#include <string.h>

/* The first one at addr or behind it. */
static size_t first_from(const struct function_stops *f, uint64_t addr)
{
	size_t lo = 0, hi = f->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (f->list[mid].addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool make_room(struct function_stops *f)
{
	size_t cap = f->cap ? 2 * f->cap : 16;
	struct function_stop *list =
		f->count < f->cap ? f->list : realloc(f->list, cap * sizeof *list);

	if (!list)
		return false;
	f->cap = f->count < f->cap ? f->cap : cap;
	f->list = list;
	return true;
}

void function_stops_add(struct function_stops *f, uint64_t addr, uint16_t function)
{
	size_t i = first_from(f, addr);

	if ((i < f->count && f->list[i].addr == addr) || !make_room(f))
		return;
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
