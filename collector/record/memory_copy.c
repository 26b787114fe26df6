/* SPDX-License-Identifier: MIT */
#include "collector/record/memory_copy.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/record/mapped_pages.h"
#include "collector/record/present_pages.h"
#include "collector/space/mappings.h"
#include "collector/space/world.h"
#include "collector/tracee/tracee.h"
#include "lib/grow.h"
#include "lib/page.h"

enum {
	PIECE = 1 << 13,       /* compared at once */
	GAP = 32,              /* so many equal bytes between two that differ are taken with them: a
				  record's head costs as much */
	FAILED_MOST = 1 << 10, /* so many unreadable pages in a row mean that the file ends before
				  them */
};

static bool is_ours(const struct mapping *m)
{
	return m->start - WORLD_RESERVED_START < WORLD_RESERVED_SIZE;
}

/* A write to a file changes its shared mappings, too. A writable private mapping counts as memory;
 * as a mapping of a file (files) it changes only with that file. */
static bool may_change(const struct mapping *m, enum memory_copy_of of, bool files)
{
	return (of == MEMORY_COPY_ALL && m->prot & PROT_WRITE) || ((m->shared || files) && m->ino);
}

/* How much of the mapping can be read: pages behind its file's end cannot, and they may be far more
 * than there is memory. */
static size_t readable_size(pid_t tid, const struct mapping *m)
{
	size_t size = m->end - m->start;
	char path[PATH_MAX];
	struct stat st;

	if (!m->ino || *m->path != '/' ||
	    snprintf(path, sizeof path, "/proc/%d/root%s", (int)tid, m->path) >= PATH_MAX ||
	    stat(path, &st) || st.st_ino != m->ino || !S_ISREG(st.st_mode))
		return size;
	if ((uint64_t)st.st_size <= m->offset)
		return 0;
	return page_up((uint64_t)st.st_size) - m->offset < size
		       ? page_up((uint64_t)st.st_size) - m->offset
		       : size;
}

static struct memory_copy_range *add_range(struct memory_copy *c, uint64_t start, size_t whole)
{
	struct memory_copy_range *ranges = array_grow(c->ranges, c->count, &c->cap, sizeof *ranges);

	if (!ranges)
		return NULL;
	c->ranges = ranges;
	ranges[c->count] =
		(struct memory_copy_range){.start = start, .at = c->bytes.len, .whole = whole};
	return &ranges[c->count++];
}

/* len: the bytes of it that can be read, but for guards (guarded_pages.h): pages that cannot be
 * read between those that can. Those of a file (Linux 6.15) look like pages behind its end. */
static bool copy_range(struct memory_copy *c, pid_t tid, uint64_t start, size_t len, size_t whole,
		       bool is_file)
{
	struct memory_copy_range *r = add_range(c, start, whole);
	unsigned failed = 0;

	if (!r || !buf_reserve(&c->bytes, len))
		return false;
	for (size_t done = 0, n; done < len && (!is_file || failed < FAILED_MOST);
	     done += n + BT_PAGE) {
		n = page_down(
			tracee_read(tid, start + done, c->bytes.data + c->bytes.len, len - done));
		failed = n ? 0 : failed + 1;
		if (n && done) {
			r->whole = start + done - r->start;
			r = add_range(c, start + done, whole - done);
		}
		if (!r)
			return false;
		r->len += n;
		c->bytes.len += n;
	}
	return true;
}

static bool pass_over(struct memory_copy *c, uint64_t start, uint64_t end)
{
	struct memory_copy_range *range = start < end ? add_range(c, start, end - start) : NULL;

	if (range)
		range->is_zero = true;
	return range || start >= end;
}

/* A program may reserve far more than there is memory. */
static bool copy_memory(struct memory_copy *c, pid_t tid, const struct mapping *m,
			struct present_pages *present)
{
	uint64_t behind = m->start, start, end;
	bool ok = true;

	while (ok && present_pages_next(present, &start, &end)) {
		ok = pass_over(c, behind, start) &&
		     copy_range(c, tid, start, end - start, end - start, false);
		behind = end;
	}
	return ok && pass_over(c, behind, m->end);
}

static bool copy_mapping(struct memory_copy *c, pid_t tid, const struct mapping *m)
{
	struct present_pages present;
	bool ok;

	if (m->ino || m->shared || *m->path == '/' ||
	    !present_pages_open(&present, tid, m->start, m->end))
		return copy_range(c, tid, m->start, readable_size(tid, m), m->end - m->start,
				  m->ino);
	ok = copy_memory(c, tid, m, &present);
	present_pages_close(&present);
	return ok;
}

bool memory_copy_take(struct memory_copy *c, pid_t tid, enum memory_copy_of of, bool files)
{
	struct mapping_list now = {0};
	bool ok = mappings_read(tid, &now);

	c->count = 0;
	buf_reset(&c->bytes);
	for (size_t i = 0; ok && i < now.count; i++)
		if (may_change(&now.maps[i], of, files) && !is_ours(&now.maps[i]))
			ok = copy_mapping(c, tid, &now.maps[i]);
	mappings_release(&now);
	if (!ok)
		c->count = 0;
	return ok;
}

/* The end of the run of differing bytes that begins at `from`. */
static size_t run_end(const uint8_t *before, const uint8_t *now, size_t from, size_t n)
{
	size_t end = from + 1;

	for (size_t i = end; i < n && i - end < GAP; i++)
		if (before[i] != now[i])
			end = i + 1;
	return end;
}

/* Finds why addr can be read no more. In memory of no file there are guards: *end is the end of the
 * mapping, within which they end. Else *end is addr. Returns whether addr is of a file, which is
 * cut there. */
static bool look_at_unreadable(pid_t tid, uint64_t addr, uint64_t *end)
{
	struct mapping m = {.path = NULL};
	bool is_mapped = mappings_at(tid, addr, &m), is_file = is_mapped && m.ino;

	*end = is_mapped && !is_file ? m.end : addr;
	free(m.path);
	return is_file;
}

void memory_copy_compare(const struct memory_copy *c, pid_t tid,
			 void (*changed)(void *arg, uint64_t addr, const uint8_t *bytes, size_t n),
			 void (*cut)(void *arg, uint64_t start, uint64_t end), void *arg)
{
	uint8_t now[PIECE];
	uint64_t guards_end = 0;

	for (size_t r = 0; r < c->count; r++) {
		const struct memory_copy_range *range = &c->ranges[r];

		if (range->is_zero) {
			mapped_pages_find_memory(tid, range->start, range->start + range->whole,
						 changed, arg);
			continue;
		}
		for (size_t done = 0, n; done < range->len; done += n) {
			const uint8_t *before = c->bytes.data + range->at + done;

			n = range->len - done < PIECE ? range->len - done : PIECE;
			n = tracee_read(tid, range->start + done, now, n);
			if (!n && range->start + done >= guards_end &&
			    look_at_unreadable(tid, range->start + done, &guards_end))
				cut(arg, range->start + done, range->start + range->len);
			if (!n && range->start + done >= guards_end)
				break;
			if (!n) {
				n = BT_PAGE - done % BT_PAGE;
				continue;
			}
			if (!memcmp(before, now, n))
				continue;
			for (size_t i = 0, end; i < n; i = end) {
				end = i + 1;
				if (before[i] == now[i])
					continue;
				end = run_end(before, now, i, n);
				changed(arg, range->start + done + i, now + i, end - i);
			}
		}
		for (size_t done = range->len, n; done < range->whole; done += n) {
			n = range->whole - done < PIECE ? range->whole - done : PIECE;
			n = tracee_read(tid, range->start + done, now, n);
			if (!n)
				break;
			changed(arg, range->start + done, now, n);
		}
	}
}

void memory_copy_release(struct memory_copy *c)
{
	free(c->ranges);
	buf_release(&c->bytes);
	*c = (struct memory_copy){0};
}
