/* SPDX-License-Identifier: MIT */
#include "decoder/symbols/debug_unit.h"

#include <dwarf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array_size.h"
#include "lib/bisect.h"

enum {
	DEPTH_MAX = 128,     /* of scopes in scopes */
	SPANS_MAX = 1 << 22, /* many functions may have one long list of ranges */
};

void unit_set_release(struct unit_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		free(set->units[i]->ranges);
		free(set->units[i]->functions);
		free(set->units[i]->spans);
		free(set->units[i]->scopes);
		free(set->units[i]);
	}
	free(set->units);
	*set = (struct unit_set){0};
}

/* The array with room for one more element, NULL: no memory. Its capacity is the next power of two.
 */
static void *with_room(void *array, size_t count, size_t size)
{
	return count & (count - 1) ? array : realloc(array, (count ? count * 2 : 1) * size);
}

static struct debug_unit *insert_unit(struct unit_set *set, size_t at, Dwarf_Die *die)
{
	struct debug_unit **units = with_room(set->units, set->count, sizeof *units), *u;

	if (!units)
		return NULL;
	set->units = units;
	u = calloc(1, sizeof *u);
	if (!u || !dwarf_diecu(die, &u->die, NULL, NULL)) {
		free(u);
		return NULL;
	}
	u->time = set->time;
	memmove(&set->units[at + 1], &set->units[at], (set->count - at) * sizeof *set->units);
	set->units[at] = u;
	set->count++;
	return u;
}

struct debug_unit *unit_of(struct unit_set *set, Dwarf_Die *die)
{
	size_t i;

	BISECT(i, set->count, (uintptr_t)set->units[i]->die.cu < (uintptr_t)die->cu);
	return i < set->count && set->units[i]->die.cu == die->cu ? set->units[i]
								  : insert_unit(set, i, die);
}

struct debug_unit *unit_with_functions(struct unit_set *set, struct debug_unit *u, bool *missing)
{
	Dwarf_Die split = {0};
	uint8_t type = 0;
	struct debug_unit *other;

	*missing = false;
	/* libdw opens the .dwo, whatever it is, where it is asked for the split unit. */
	if (dwarf_cu_info(u->die.cu, NULL, &type, NULL, set->time ? NULL : &split, NULL, NULL,
			  NULL) ||
	    type != DW_UT_skeleton)
		return u;
	*missing = !split.addr;
	other = split.addr ? unit_of(set, &split) : NULL;
	return other ? other : u;
}

static int compare_spans(const void *a, const void *b)
{
	const struct unit_span *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void sort_spans(struct unit_span *spans, size_t count)
{
	Dwarf_Addr reach = 0;

	if (count)
		qsort(spans, count, sizeof *spans, compare_spans);
	for (size_t i = 0; i < count; i++) {
		if (reach < spans[i].end)
			reach = spans[i].end;
		spans[i].reach = reach;
	}
}

/* The span with pc that begins last; NULL: none. */
static const struct unit_span *span_at(const struct unit_span *spans, size_t count, Dwarf_Addr pc)
{
	size_t i;

	BISECT(i, count, spans[i].start <= pc);
	for (; i && spans[i - 1].reach > pc; i--)
		if (spans[i - 1].end > pc)
			return &spans[i - 1];
	return NULL;
}

/* Adds where an entry of the unit has code. Code that a linker has left out begins at 0. False: the
 * ranges cannot be read. */
static bool add_spans(struct debug_unit *u, struct unit_span **spans, size_t *count, Dwarf_Die *die,
		      size_t function)
{
	enum { LOOK = 1024 }; /* at the clock, which takes as long as some ranges */
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	for (size_t n = 1; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0; n++) {
		struct unit_span *larger;

		if (n % LOOK == 0 && strange_time_is_over(u->time))
			break;
		if (!start || start >= end)
			continue;
		larger = *count < SPANS_MAX ? with_room(*spans, *count, sizeof *larger) : NULL;
		if (!larger)
			break;
		*spans = larger;
		larger[(*count)++] =
			(struct unit_span){.start = start, .end = end, .function = function};
	}
	return !at;
}

bool unit_covers(struct debug_unit *u, Dwarf_Addr pc)
{
	if (!u->ranges_read) {
		u->ranges_read = true;
		if (!add_spans(u, &u->ranges, &u->range_count, &u->die, 0))
			u->range_count = 0;
		sort_spans(u->ranges, u->range_count);
	}
	return !u->range_count || span_at(u->ranges, u->range_count, pc);
}

static void read_entries(struct debug_unit *u, Dwarf_Die *parent, size_t scope, unsigned depth);

static void add_function(struct debug_unit *u, Dwarf_Die *die)
{
	Dwarf_Die *functions = with_room(u->functions, u->function_count, sizeof *functions);
	size_t before = u->span_count;

	if (!functions)
		return;
	u->functions = functions;
	add_spans(u, &u->spans, &u->span_count, die, u->function_count);
	if (u->span_count > before)
		functions[u->function_count++] = *die;
}

static void read_scope(struct debug_unit *u, Dwarf_Die *die, size_t parent, unsigned depth)
{
	struct unit_scope *scopes = with_room(u->scopes, u->scope_count, sizeof *scopes);
	size_t at = u->scope_count;

	if (!scopes)
		return;
	u->scopes = scopes;
	scopes[u->scope_count++] =
		(struct unit_scope){.die = *die, .start = dwarf_dieoffset(die), .parent = parent};
	read_entries(u, die, at + 1, depth);
	u->scopes[at].end = u->last + 1;
	if (dwarf_tag(die) == DW_TAG_subprogram && u->scope_count == at + 1)
		u->scope_count--; /* few functions have any in them */
}

static bool is_scope(int tag)
{
	static const int scopes[] = {DW_TAG_subprogram, DW_TAG_namespace,      DW_TAG_module,
				     DW_TAG_class_type, DW_TAG_structure_type, DW_TAG_union_type};

	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++)
		if (tag == scopes[i])
			return true;
	return false;
}

static void read_entry(struct debug_unit *u, Dwarf_Die *die, size_t scope, unsigned depth)
{
	int tag = dwarf_tag(die);

	if (tag == DW_TAG_subprogram)
		add_function(u, die);
	if (tag == DW_TAG_lexical_block)
		read_entries(u, die, scope, depth);
	else if (is_scope(tag) && dwarf_haschildren(die) > 0)
		read_scope(u, die, scope, depth);
}

/* Entries follow one another; where one tells another to be next that was seen, they are not to be
 * trusted. */
static void read_entries(struct debug_unit *u, Dwarf_Die *parent, size_t scope, unsigned depth)
{
	Dwarf_Die die;

	if (depth == DEPTH_MAX || dwarf_child(parent, &die))
		return;
	do {
		Dwarf_Off at = dwarf_dieoffset(&die);

		if (at <= u->last || strange_time_is_over(u->time))
			return;
		u->last = at;
		read_entry(u, &die, scope, depth + 1);
	} while (!dwarf_siblingof(&die, &die));
}

static void read_unit(struct debug_unit *u)
{
	if (u->read)
		return;
	u->read = true;
	read_entries(u, &u->die, 0, 0);
	sort_spans(u->spans, u->span_count);
}

bool unit_function_at(struct debug_unit *u, Dwarf_Addr pc, Dwarf_Die *function)
{
	const struct unit_span *span;

	read_unit(u);
	span = span_at(u->spans, u->span_count, pc);
	if (span)
		*function = u->functions[span->function];
	return span != NULL;
}

const struct unit_scope *unit_scope_of(struct debug_unit *u, Dwarf_Die *die)
{
	Dwarf_Off at = dwarf_dieoffset(die);
	const struct unit_scope *scope;
	size_t i;

	read_unit(u);
	BISECT(i, u->scope_count, u->scopes[i].start < at);
	scope = i ? &u->scopes[i - 1] : NULL;
	while (scope && scope->end <= at)
		scope = unit_outer_scope(u, scope);
	return scope;
}

const struct unit_scope *unit_outer_scope(const struct debug_unit *u,
					  const struct unit_scope *scope)
{
	return scope->parent ? &u->scopes[scope->parent - 1] : NULL;
}
