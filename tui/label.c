/* SPDX-License-Identifier: MIT */

#include "tui/label.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "decoder/text.h"
#include "lib/page.h"

enum {
	NAME_MIN = 8, /* a name is cut no shorter */
	NAME_BYTES = 512,
	POINTER_COLUMNS = 72,
};

const char *label_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void put_offset(struct row *out, uint64_t offset)
{
	if (offset)
		row_put(out, STYLE_DIM, "+0x%" PRIx64, offset);
}

static unsigned room_for_name(const struct location *loc, unsigned columns)
{
	unsigned rest = (unsigned)snprintf(NULL, 0, "+0x%" PRIx64, loc->offset);

	if (!columns)
		return 0;
	if (*loc->file)
		rest += (unsigned)snprintf(NULL, 0, " %s:%d", label_basename(loc->file), loc->line);
	return columns > rest + NAME_MIN ? columns - rest : NAME_MIN;
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

void label_code(struct viewer *v, struct row *out, uint32_t space, uint32_t epoch, uint64_t addr,
		bool is_return, unsigned columns)
{
	struct location loc;

	symbols_lookup(v->s, space, epoch, addr, is_return, &loc);
	if (*loc.function) {
		char brief[NAME_BYTES];

		text_brief_name(brief, sizeof brief, loc.function);
		row_outside(out, STYLE_FUNCTION, columns ? brief : loc.function,
			    out->whole ? 0 : room_for_name(&loc, columns));
		out->cut |= loc.inlined_count || strcmp(brief, loc.function) != 0;
		put_offset(out, loc.offset);
	} else if (loc.in_file) {
		row_outside(out, STYLE_ADDRESS, label_basename(loc.module),
			    columns && !out->whole ? columns / 2 + NAME_MIN : 0);
		row_put(out, STYLE_ADDRESS, "+0x%" PRIx64, loc.vaddr);
	} else {
		row_put(out, STYLE_ADDRESS, "0x%" PRIx64, addr);
		if (*loc.module)
			row_put(out, STYLE_NORMAL, " ");
		row_outside(out, STYLE_FILE, loc.module, 0);
	}
	if (*loc.file) {
		row_put(out, STYLE_NORMAL, " ");
		row_outside(out, STYLE_FILE, label_basename(loc.file), 0);
		if (loc.line)
			row_put(out, STYLE_FILE, ":%d", loc.line);
	}
	if (out->whole)
		put_other_names(out, &loc, columns);
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
