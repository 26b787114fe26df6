/* SPDX-License-Identifier: MIT */
/* Layouts: elf(5); NT_FILE as in fs/binfmt_elf.c: count, page size, rows (start, end, page of the
 * file), then their names. */
#include <stdlib.h>
#include <string.h>

#include "import/core_private.h"
#include "lib/bisect.h"
#include "lib/build_id.h"
#include "lib/grow.h"
#include "lib/page.h"

enum {
	FILE_ROW = 24,
	ELF_HEADER = 64,
	SEGMENT_HEADER = 56,
	SEGMENT_LOAD = 1,
	/* p_flags (elf(5)) */
	ELF_EXECUTE = 1,
	ELF_WRITE = 2,
	ELF_READ = 4,
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

static void sort_segments(struct core *c)
{
	if (c->segment_count)
		qsort(c->segments, c->segment_count, sizeof *c->segments, compare_segments);
}

struct core_segment *core_map_at(const struct core *c, uint64_t addr)
{
	size_t i;

	BISECT(i, c->segment_count, c->segments[i].start <= addr);
	return i && addr < c->segments[i - 1].end ? &c->segments[i - 1] : NULL;
}

struct slice core_map_memory(const struct core *c, uint64_t addr, uint64_t n)
{
	const struct core_segment *s = core_map_at(c, addr);

	return s && addr - s->start < s->bytes.len ? core_part(s->bytes, addr - s->start, n)
						   : (struct slice){0};
}

static int add_named(struct core *c, uint64_t start, uint64_t end)
{
	struct core_segment *grown =
		array_grow(c->segments, c->segment_count, &c->segment_cap, sizeof *grown);

	if (!grown)
		return bt_no_memory(c->err, "the import");
	c->segments = grown;
	c->segments[c->segment_count++] =
		(struct core_segment){.start = start, .end = end, .named_only = true};
	return 0;
}

/* The kernel writes a program header for every mapping; gdb none for one of a file that the process
 * did not change. Rows are in order of address: rows that are not add nothing, and one pass
 * suffices. */
static int add_what_rows_name(struct core *c)
{
	struct file_rows rows = rows_of(c);
	struct file_row row;
	size_t dumped = c->segment_count, i = 0;
	uint64_t at = 0;
	int rc = 0;

	while (!rc && next_row(&rows, &row)) {
		if (at < row.start)
			at = row.start;
		while (!rc && at < row.end) {
			uint64_t end = row.end;

			while (i < dumped && c->segments[i].end <= at)
				i++;
			if (i < dumped && c->segments[i].start < end)
				end = c->segments[i].start;
			if (end > at)
				rc = add_named(c, at, end);
			at = end > at ? end : c->segments[i].end;
		}
	}
	return rc;
}

/* --- names --- */

/* The build-id in an image, as a part of it: the caller need not keep another copy. */
static struct slice find_build_id(struct slice image)
{
	uint8_t id[BT_BUILD_ID_MAX];
	size_t n;

	if (image.len > BT_PAGE)
		image.len = BT_PAGE;
	n = bt_build_id(image.at, image.len, id);
	for (size_t at = 0; n && at + n <= image.len; at++)
		if (!memcmp(image.at + at, id, n))
			return slice_of(image.at + at, n);
	return (struct slice){0};
}

uint8_t core_protection(uint32_t flags)
{
	return (uint8_t)((flags & ELF_READ ? BT_PROT_READ : 0) |
			 (flags & ELF_WRITE ? BT_PROT_WRITE : 0) |
			 (flags & ELF_EXECUTE ? BT_PROT_EXEC : 0));
}

/* A mapping of a file's beginning. */
struct core_image {
	struct slice bytes;
	uint64_t start;
};

struct load_header {
	uint64_t offset, addr, filed;
	uint32_t flags;
};

static bool next_load(struct slice *table, struct load_header *l)
{
	while (table->len >= SEGMENT_HEADER) {
		struct slice row = slice_take(table, SEGMENT_HEADER);
		uint32_t type = slice_u32(&row);

		l->flags = slice_u32(&row);
		l->offset = slice_u64(&row);
		l->addr = slice_u64(&row);
		slice_take(&row, 8);
		l->filed = slice_u64(&row);
		if (type == SEGMENT_LOAD)
			return true;
	}
	return false;
}

/* The program headers of a file, as far as they lie in its first page. */
static struct slice program_headers(struct slice file)
{
	struct slice head = file, table;
	uint64_t offset;
	uint16_t size, count;

	if (file.len > BT_PAGE)
		file.len = BT_PAGE;
	if (file.len < ELF_HEADER || memcmp(file.at, "\177ELF\2\1", 6))
		return (struct slice){0};
	slice_take(&head, 32);
	offset = slice_u64(&head);
	slice_take(&head, 14);
	size = slice_u16(&head);
	count = slice_u16(&head);
	table = core_part(file, offset, (uint64_t)count * SEGMENT_HEADER);
	return size == SEGMENT_HEADER && !table.bad ? table : (struct slice){0};
}

/* The protection with which a loader maps the file at addr, by the file's own headers. Without a
 * header or an ELF file it is read-only: no more is known. */
static uint8_t loaded_as(const struct core_image *image, uint64_t addr, uint64_t offset)
{
	struct slice table = program_headers(image->bytes);
	uint64_t bias = 0;
	bool first = true;
	struct load_header l;

	for (; next_load(&table, &l); first = false) {
		uint64_t start = page_down(l.addr), from = page_down(l.offset);

		if (first)
			bias = image->start - start + from;
		start += bias;
		if (addr >= start && addr - start < l.filed + (l.addr - page_down(l.addr)) &&
		    offset - from == addr - start)
			return core_protection(l.flags);
	}
	return BT_PROT_READ;
}

static void name_segments(struct core *c)
{
	struct file_rows rows = rows_of(c);
	struct slice build_id = {0}, of = {0};
	struct core_image image = {.start = 0};
	struct file_row row;

	while (next_row(&rows, &row)) {
		struct core_segment *s = core_map_at(c, row.start);

		/* The beginning of a file, with its headers and its build-id, is dumped by default;
		 * its other mappings follow. */
		if (row.path.len != of.len || (of.len && memcmp(row.path.at, of.at, of.len))) {
			of = row.path;
			build_id = (struct slice){0};
			image = (struct core_image){.start = 0};
		}
		if (!row.first && s && s->start == row.start && !s->path.len) {
			image = (struct core_image){s->bytes, s->start};
			build_id = find_build_id(s->bytes);
		}
		/* A segment is named once, even if rows overlap. */
		for (;
		     s && s < c->segments + c->segment_count && s->start < row.end && !s->path.len;
		     s++) {
			s->path = row.path;
			s->offset_in_file = row.first + (s->start - row.start);
			s->build_id = build_id;
			if (s->named_only)
				s->prot = loaded_as(&image, s->start, s->offset_in_file);
		}
	}
}

static void name_others(struct core *c)
{
	struct core_segment *vdso = c->vdso ? core_map_at(c, c->vdso) : NULL;
	struct core_segment *stack = c->on_stack ? core_map_at(c, c->on_stack) : NULL;

	if (vdso && !vdso->path.len)
		vdso->path = bt_str("[vdso]");
	if (stack && !stack->path.len && stack->prot & BT_PROT_WRITE)
		stack->path = bt_str("[stack]");
}

int64_t core_map_complete(struct core *c)
{
	size_t dumped = c->segment_count;
	int rc;

	sort_segments(c);
	rc = add_what_rows_name(c);
	if (rc)
		return rc;
	if (c->segment_count > dumped)
		sort_segments(c);
	name_segments(c);
	name_others(c);
	return (int64_t)(c->segment_count - dumped);
}
