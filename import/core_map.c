/* SPDX-License-Identifier: MIT */
/* Layouts: elf(5); NT_FILE as in fs/binfmt_elf.c: count, page size, rows (start, end, page of the file), then their names. */
#include <stdlib.h>
#include <string.h>

#include "import/core_private.h"
#include "lib/build_id.h"

enum {
	FILE_ROW = 24,
	PROT_WRITABLE = 2,
};

/* --- the rows of NT_FILE --- */

struct file_row {
	uint64_t start, end, first; /* the last: offset in the file */
	struct slice path;
};

struct file_rows {
	struct slice rows, names;
	uint64_t page;
};

static struct file_rows rows_of(const struct core *c)
{
	struct file_rows f = {.rows = c->files, .names = c->files};
	uint64_t count = slice_u64(&f.rows);

	f.page = slice_u64(&f.rows);
	slice_take(&f.names, 16);
	if (f.rows.bad || count > f.rows.len / FILE_ROW)
		return (struct file_rows){.page = 0};
	slice_take(&f.names, (size_t)count * FILE_ROW);
	f.rows.len = (size_t)count * FILE_ROW;
	return f;
}

static bool next_row(struct file_rows *f, struct file_row *row)
{
	if (!f->rows.len || !f->names.len)
		return false;
	row->start = slice_u64(&f->rows);
	row->end = slice_u64(&f->rows);
	row->first = slice_u64(&f->rows) * f->page;
	row->path = core_string(f->names);
	slice_take(&f->names, row->path.len < f->names.len ? row->path.len + 1 : row->path.len);
	return true;
}

/* --- segments --- */

static int compare_segments(const void *a, const void *b)
{
	const struct core_segment *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

struct core_segment *core_map_at(const struct core *c, uint64_t addr)
{
	size_t lo = 0, hi = c->segment_count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->segments[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < c->segments[lo - 1].end ? &c->segments[lo - 1] : NULL;
}

struct slice core_map_memory(const struct core *c, uint64_t addr, uint64_t n)
{
	const struct core_segment *s = core_map_at(c, addr);

	return s && addr - s->start < s->bytes.len ? core_part(s->bytes, addr - s->start, n) : (struct slice){0};
}

/* --- names --- */

/* The build-id in an image, as a part of it: the caller need not keep another copy. */
static struct slice find_build_id(struct slice image)
{
	uint8_t id[BT_BUILD_ID_MAX];
	size_t n;

	if (image.len > CORE_PAGE)
		image.len = CORE_PAGE;
	n = bt_build_id(image.at, image.len, id);
	for (size_t at = 0; n && at + n <= image.len; at++)
		if (!memcmp(image.at + at, id, n))
			return slice_of(image.at + at, n);
	return (struct slice){0};
}

static void name_segments(struct core *c)
{
	struct file_rows rows = rows_of(c);
	struct slice build_id = {0}, of = {0};
	struct file_row row;

	while (next_row(&rows, &row)) {
		struct core_segment *s = core_map_at(c, row.start);

		/* The beginning of a file, where its build-id is, is dumped by default; its other mappings follow. */
		if (row.path.len != of.len || (of.len && memcmp(row.path.at, of.at, of.len))) {
			of = row.path;
			build_id = (struct slice){0};
		}
		if (!row.first && s && s->start == row.start && !s->path.len)
			build_id = find_build_id(s->bytes);
		/* A segment is named once, whatever the rows say. */
		for (; s && s < c->segments + c->segment_count && s->start < row.end && !s->path.len; s++) {
			s->path = row.path;
			s->offset_in_file = row.first + (s->start - row.start);
			s->build_id = build_id;
		}
	}
}

static void name_others(struct core *c)
{
	struct core_segment *vdso = c->vdso ? core_map_at(c, c->vdso) : NULL;
	struct core_segment *stack = c->on_stack ? core_map_at(c, c->on_stack) : NULL;

	if (vdso && !vdso->path.len)
		vdso->path = bt_str("[vdso]");
	if (stack && !stack->path.len && stack->prot & PROT_WRITABLE)
		stack->path = bt_str("[stack]");
}

void core_map_complete(struct core *c)
{
	if (c->segment_count)
		qsort(c->segments, c->segment_count, sizeof *c->segments, compare_segments);
	name_segments(c);
	name_others(c);
}
