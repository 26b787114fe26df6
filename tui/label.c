/* SPDX-License-Identifier: MIT */

#include "tui/label.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "decoder/symbols/text.h"
#include "lib/page.h"

enum {
	NAME_MIN = 8, /* a name is cut no shorter */
	NAME_BYTES = 512,
	BRACKETS = 3,
	POINTER_COLUMNS = 72,
};

const char *label_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static struct inlined_frame part_of(const struct location *loc, size_t i)
{
	return (struct inlined_frame){
		.function = i < loc->inlined_count ? loc->inlined[i].function : loc->function,
		.file = i ? loc->inlined[i - 1].file : loc->file,
		.line = i ? loc->inlined[i - 1].line : loc->line,
	};
}

struct inlined_frame label_source(struct viewer *v, const struct view_place *p)
{
	struct location loc;

	symbols_lookup(v->s, p->space, p->epoch, p->addr, p->is_return, &loc);
	return part_of(&loc, p->part <= loc.inlined_count ? p->part : 0);
}

static void put_offset(struct row *out, uint64_t offset)
{
	if (offset)
		row_put(out, STYLE_DIM, "+0x%" PRIx64, offset);
}

/* Of the line, and of the offset where that is wanted. */
static unsigned width_behind_name(const struct location *loc, bool offset)
{
	unsigned width = offset ? (unsigned)snprintf(NULL, 0, "+0x%" PRIx64, loc->offset) : 0;

	if (*loc->file)
		width +=
			(unsigned)snprintf(NULL, 0, " %s:%d", label_basename(loc->file), loc->line);
	return width;
}

static unsigned room_for_name(const struct location *loc, unsigned columns, bool offset)
{
	unsigned rest = width_behind_name(loc, offset);

	if (!columns)
		return 0;
	return columns > rest + NAME_MIN ? columns - rest : NAME_MIN;
}

/* Where there is no room for both, a line tells more than an offset. */
static bool has_room_for_offset(const struct location *loc, const char *name, unsigned columns)
{
	return !columns || !*loc->file || !loc->line ||
	       strlen(name) + width_behind_name(loc, true) <= columns;
}

/* For a search: the whole name behind a brief one, and the functions that are inlined there. */
static void put_other_names(struct row *out, const struct location *loc, unsigned columns)
{
	if (columns) {
		row_put(out, STYLE_NORMAL, " ");
		row_outside(out, STYLE_FUNCTION, loc->function, 0);
	}
	for (size_t i = 0; i < loc->inlined_count; i++) {
		row_put(out, STYLE_NORMAL, " ");
		row_outside(out, STYLE_FUNCTION, loc->inlined[i].function, 0);
	}
}

static void put_place(struct row *out, const struct location *loc, unsigned columns)
{
	char brief[NAME_BYTES];
	bool offset;

	if (*loc->function) {
		text_brief_name(brief, sizeof brief, loc->function);
		offset = out->whole || has_room_for_offset(loc, brief, columns);
		row_outside(out, STYLE_FUNCTION, columns ? brief : loc->function,
			    out->whole ? 0 : room_for_name(loc, columns, offset));
		out->cut |= loc->inlined_count || strcmp(brief, loc->function) != 0;
		if (offset)
			put_offset(out, loc->offset);
		out->cut |= !offset;
	} else if (loc->in_file) {
		row_outside(out, STYLE_ADDRESS, label_basename(loc->module),
			    columns && !out->whole ? columns / 2 + NAME_MIN : 0);
		row_put(out, STYLE_ADDRESS, "+0x%" PRIx64, loc->vaddr);
	} else {
		row_put(out, STYLE_ADDRESS, "0x%" PRIx64, loc->addr);
		if (*loc->module)
			row_put(out, STYLE_NORMAL, " ");
		row_outside(out, STYLE_FILE, loc->module, 0);
	}
}

static void put_line(struct row *out, const char *file, int line)
{
	if (!*file)
		return;
	row_put(out, STYLE_NORMAL, " ");
	row_outside(out, STYLE_FILE, label_basename(file), 0);
	if (line)
		row_put(out, STYLE_FILE, ":%d", line);
}

/* For inlined code its own function in brackets, as in the report, where there is room for it. */
static void put_innermost(struct row *out, const struct location *loc, unsigned columns)
{
	char brief[NAME_BYTES];
	unsigned rest;

	if (!loc->inlined_count || !*loc->inlined[0].function)
		return;
	text_brief_name(brief, sizeof brief, loc->inlined[0].function);
	rest = room_for_name(loc, columns, true);
	if (columns && !out->whole &&
	    strlen(brief) + BRACKETS +
			    (rest < strlen(loc->function) ? rest : strlen(loc->function)) >
		    rest)
		return;
	row_put(out, STYLE_DIM, " [");
	row_outside(out, STYLE_FUNCTION, brief, 0);
	row_put(out, STYLE_DIM, "]");
}

/* Where there is no room for function, file and line, the file is left out: "function:7". */
static bool put_without_file(struct row *out, const struct location *loc, unsigned columns)
{
	unsigned line = (unsigned)snprintf(NULL, 0, ":%d", loc->line);
	char brief[NAME_BYTES];

	if (!columns || out->whole || !*loc->function || !*loc->file || !loc->line)
		return false;
	text_brief_name(brief, sizeof brief, loc->function);
	if (strlen(brief) + width_behind_name(loc, false) <= columns)
		return false;
	row_outside(out, STYLE_FUNCTION, brief,
		    columns > line + NAME_MIN ? columns - line : NAME_MIN);
	row_put(out, STYLE_FILE, ":%d", loc->line);
	out->cut = true;
	return true;
}

void label_code(struct viewer *v, struct row *out, uint32_t space, uint32_t epoch, uint64_t addr,
		bool is_return, unsigned columns)
{
	struct location loc;

	symbols_lookup(v->s, space, epoch, addr, is_return, &loc);
	if (put_without_file(out, &loc, columns))
		return;
	put_place(out, &loc, columns);
	put_innermost(out, &loc, columns);
	put_line(out, loc.file, loc.line);
	if (out->whole)
		put_other_names(out, &loc, columns);
}

void label_function(struct viewer *v, struct row *out, uint32_t space, uint32_t epoch,
		    uint64_t addr, unsigned columns)
{
	struct location loc;

	symbols_lookup(v->s, space, epoch, addr, false, &loc);
	loc.file = "";
	put_place(out, &loc, columns);
}

void label_pointer(struct viewer *v, struct row *out, uint32_t space, uint32_t epoch,
		   uint64_t value)
{
	const struct space_map *map = trace_index_map_at(v->m->index, space, epoch, value);
	struct location loc;

	if (!map)
		return;
	row_put(out, STYLE_NORMAL, "  ");
	symbols_lookup(v->s, space, epoch, value, false, &loc);
	if (*loc.function || loc.in_file || map->prot & BT_PROT_EXEC) {
		label_code(v, out, space, epoch, value, false, POINTER_COLUMNS);
		return;
	}
	row_outside(out, STYLE_FILE, *map->path ? map->path : "[anonymous]", 0);
	put_offset(out, loc.vaddr);
}
