/* SPDX-License-Identifier: MIT */
#include "import/code_map.h"

#include <stdlib.h>
#include <string.h>

#include "lib/build_id.h"
#include "lib/page.h"

enum {
	FILES_MAX = 512, /* kept mapped at once */
	NAMES_MAX = 1024,
	RANGES_MAX = 512,
	/* The most bytes for ranges of all address spaces so far: forks copy them. Later ranges
	 * have no code. */
	SPENT_MAX = 256 << 20,
};

struct code_files_entry {
	struct code_file file;
	struct slice path; /* owned */
	uint8_t build_id[BT_BUILD_ID_MAX];
	size_t build_id_len;
};

void code_files_release(struct code_files *f)
{
	for (size_t i = 0; i < f->count; i++) {
		code_file_close(&f->at[i].file);
		free((void *)(uintptr_t)f->at[i].path.at);
	}
	free(f->at);
	for (size_t i = 0; i < f->name_count; i++)
		free((void *)(uintptr_t)f->names[i].path.at);
	free(f->names);
}

/* The number of a name, from 1; 0: there is no room for it. */
static uint32_t find_name(struct code_files *f, struct slice path)
{
	struct code_name *grown, fresh = {.path = {.len = path.len}};

	for (size_t i = 0; i < f->name_count; i++)
		if (f->names[i].path.len == path.len &&
		    !memcmp(f->names[i].path.at, path.at, path.len))
			return (uint32_t)i + 1;
	grown = path.len && f->name_count < NAMES_MAX
			? realloc(f->names, (f->name_count + 1) * sizeof *grown)
			: NULL;
	if (!grown)
		return 0;
	f->names = grown;
	fresh.path.at = (const uint8_t *)slice_dup(path);
	if (!fresh.path.at)
		return 0;
	f->names[f->name_count++] = fresh;
	return (uint32_t)f->name_count;
}

static bool is_entry(const struct code_files_entry *e, struct slice path, struct slice build_id)
{
	return e->path.len == path.len && e->build_id_len == build_id.len &&
	       !memcmp(e->path.at, path.at, path.len) &&
	       !memcmp(e->build_id, build_id.at, build_id.len);
}

/* The bytes of a file, opened at its first use; empty if it is not available. */
static struct slice find_file(struct code_files *f, struct slice path, struct slice build_id)
{
	struct code_files_entry *e, fresh = {.build_id_len = build_id.len};

	if (!path.len || !build_id.len || build_id.len > BT_BUILD_ID_MAX)
		return (struct slice){0};
	for (size_t i = 0; i < f->count; i++)
		if (is_entry(&f->at[i], path, build_id))
			return f->at[i].file.bytes;
	if (f->count == FILES_MAX)
		return (struct slice){0};
	/* Unavailable files are not kept: the table is for the others. */
	code_file_open(&fresh.file, path, build_id);
	if (!fresh.file.bytes.len)
		return (struct slice){0};
	e = realloc(f->at, (f->count + 1) * sizeof *e);
	if (e)
		f->at = e;
	fresh.path = slice_of(e ? slice_dup(path) : NULL, path.len);
	if (!fresh.path.at) {
		code_file_close(&fresh.file);
		return (struct slice){0};
	}
	memcpy(fresh.build_id, build_id.at, build_id.len);
	f->at[f->count++] = fresh;
	return fresh.file.bytes;
}

/* Drops the code of ranges that a new mapping covers, even in part: partly covered mappings are
 * rare, and wrong code is worse than none. */
static void drop_covered(struct code_map *m, uint64_t start, uint64_t end)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->count; i++) {
		if (m->ranges[i].start < end && start < m->ranges[i].end)
			free(m->ranges[i].done);
		else
			m->ranges[kept++] = m->ranges[i];
	}
	m->count = kept;
	m->last = 0;
}

static size_t pages_of(const struct file_range *r)
{
	return (size_t)((r->end - r->start) / BT_PAGE + 1);
}

static uint8_t *make_bits(struct code_files *files, const struct file_range *r)
{
	size_t n = pages_of(r) / 8 + 1;

	if (files->spent + n + sizeof *r > SPENT_MAX)
		return NULL;
	files->spent += n + sizeof *r;
	return calloc(n, 1);
}

/* The range as one of the map, which has room for it. */
static void keep_range(struct code_map *m, struct code_files *files, struct file_range r)
{
	r.done = r.file.len ? make_bits(files, &r) : NULL;
	if (r.done || !r.file.len)
		m->ranges[m->count++] = r;
}

void code_map_add(struct code_map *m, struct code_files *files, uint64_t start, uint64_t end,
		  uint64_t offset, bool executable, struct slice path, struct slice build_id)
{
	struct file_range r = {.start = start, .end = end, .offset = offset};
	struct file_range *grown;

	drop_covered(m, start, end);
	if (!executable || start % BT_PAGE || offset % BT_PAGE || m->count == RANGES_MAX)
		return;
	r.file = find_file(files, path, build_id);
	if (offset >= r.file.len) {
		r.file = (struct slice){0};
		r.name = find_name(files, path);
	} else if (end - start > r.file.len - offset) {
		r.end = start + (r.file.len - offset);
	}
	grown = realloc(m->ranges, (m->count + 1) * sizeof *grown);
	if (!grown)
		return;
	m->ranges = grown;
	keep_range(m, files, r);
}

void code_map_clear(struct code_map *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->ranges[i].done);
	free(m->ranges);
	*m = (struct code_map){.ranges = NULL};
}

void code_map_copy(struct code_map *to, struct code_files *files, const struct code_map *from)
{
	code_map_clear(to);
	to->ranges = from->count ? calloc(from->count, sizeof *to->ranges) : NULL;
	for (size_t i = 0; to->ranges && i < from->count; i++)
		keep_range(to, files, from->ranges[i]);
}

static struct file_range *range_at(struct code_map *m, uint64_t addr)
{
	if (m->last < m->count && m->ranges[m->last].start <= addr && addr < m->ranges[m->last].end)
		return &m->ranges[m->last];
	for (size_t i = 0; i < m->count; i++)
		if (m->ranges[i].start <= addr && addr < m->ranges[i].end) {
			m->last = i;
			return &m->ranges[i];
		}
	return NULL;
}

static struct slice range_part(const struct file_range *r, uint64_t at, size_t n)
{
	struct slice s = r->file;
	uint64_t offset = r->offset + (at - r->start);

	if (n > r->end - at)
		n = (size_t)(r->end - at);
	if (offset < r->offset || offset >= s.len)
		return (struct slice){0};
	slice_take(&s, (size_t)offset);
	return slice_take(&s, n < s.len ? n : s.len);
}

struct slice code_map_at(struct code_map *m, uint64_t addr, size_t n, struct slice *page)
{
	struct file_range *r = range_at(m, addr);
	uint64_t start;
	size_t number;

	*page = (struct slice){0};
	if (!r || !r->file.len)
		return (struct slice){0};
	start = page_down(addr);
	number = (size_t)((start - r->start) / BT_PAGE);
	if (!(r->done[number / 8] >> number % 8 & 1)) {
		r->done[number / 8] |= (uint8_t)(1u << number % 8);
		*page = range_part(r, start, BT_PAGE);
	}
	return range_part(r, addr, n);
}

struct slice code_map_bytes(struct code_map *m, uint64_t addr, size_t n)
{
	const struct file_range *r = range_at(m, addr);

	return r && r->file.len ? range_part(r, addr, n) : (struct slice){0};
}

struct code_name *code_map_lacks(struct code_map *m, const struct code_files *files, uint64_t addr)
{
	const struct file_range *r = range_at(m, addr);

	return r && r->name ? &files->names[r->name - 1] : NULL;
}
