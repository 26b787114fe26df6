/* SPDX-License-Identifier: MIT */
#include "collector/record/mapped_file_calls.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "lib/array_size.h"
#include "lib/call_result.h"
#include "lib/page.h"

enum changed_part {
	AT_POSITION, /* up to where the descriptor stands behind the call, as much as it returned */
	AT_OFFSET,   /* from the offset that an argument says; -1 as AT_POSITION */
	AT_POINTED,  /* up to the offset to which an argument points behind the call; without one as
			AT_POSITION */
	CUT,         /* from its new size to the end of that page */
	SPAN,        /* an offset and a length, in arguments */
	ANYTHING,
	ANYTHING_IF_CUT, /* with O_TRUNC alone */
	NOTHING,
};

#define BY_PATH UINT8_MAX

static const struct mapped_file_row {
	uint16_t nr;
	uint8_t fd; /* the argument that is the descriptor; BY_PATH: there is none */
	enum changed_part part;
	uint8_t arg; /* index of the argument that tells the part, if one does */
} rows[] = {
	{SYS_write, 0, AT_POSITION, 0},
	{SYS_writev, 0, AT_POSITION, 0},
	{SYS_sendfile, 0, AT_POSITION, 0},
	{SYS_pwrite64, 0, AT_OFFSET, 3},
	{SYS_pwritev, 0, AT_OFFSET, 3},
	{SYS_pwritev2, 0, AT_OFFSET, 3},
	{SYS_copy_file_range, 2, AT_POINTED, 3},
	{SYS_splice, 2, AT_POINTED, 3},
	{SYS_ftruncate, 0, CUT, 0},
	{SYS_fallocate, 0, SPAN, 2},
	{SYS_ioctl, 0, ANYTHING, 0},
	{SYS_truncate, BY_PATH, ANYTHING, 0},
	{SYS_creat, BY_PATH, ANYTHING, 0},
	{SYS_openat2, BY_PATH, ANYTHING, 0},
	{SYS_open, BY_PATH, ANYTHING_IF_CUT, 1},
	{SYS_open_by_handle_at, BY_PATH, ANYTHING_IF_CUT, 2},
	{SYS_openat, BY_PATH, ANYTHING_IF_CUT, 2},
	/* A shared mapping and its file have the same pages: msync changes neither. */
	{SYS_msync, BY_PATH, NOTHING, 0},
};

static const struct mapped_file_row *row_of(const struct tracee_syscall *call)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (syscall_is(call, rows[i].nr))
			return &rows[i];
	return NULL;
}

/* ---- The entry ---- */

static bool is_mapped(const struct mapping_list *maps, uint64_t ino)
{
	for (size_t i = 0; i < maps->count; i++)
		if (maps->maps[i].ino && maps->maps[i].ino == ino)
			return true;
	return false;
}

/* The device that the mappings of the file tell; 0: another than stat(2) does, as on some file
 * systems, and so any. */
static uint64_t device_in(const struct mapping_list *maps, const struct stat *st)
{
	for (size_t i = 0; i < maps->count; i++)
		if (maps->maps[i].ino == st->st_ino && maps->maps[i].dev == st->st_dev)
			return st->st_dev;
	return 0;
}

static enum mapped_file_change change_by_path(const struct mapped_file_row *row,
					      const struct tracee_syscall *call)
{
	return row->part == ANYTHING ||
			       (row->part == ANYTHING_IF_CUT && call->args[row->arg] & O_TRUNC)
		       ? MAPPED_FILE_ANY
		       : MAPPED_FILE_SAME;
}

struct mapped_file_call mapped_file_call_enter(pid_t tid, const struct tracee_syscall *call,
					       const struct mapping_list *maps)
{
	struct mapped_file_call c = {.row = row_of(call)};
	char path[64];
	struct stat st;

	if (!c.row)
		return c;
	if (c.row->fd == BY_PATH) {
		c.change = change_by_path(c.row, call);
		return c;
	}
	c.change = MAPPED_FILE_SAME;
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)tid, (int)call->args[c.row->fd]);
	if (stat(path, &st))
		return c;
	if (S_ISBLK(st.st_mode)) {
		c.change = MAPPED_FILE_NOBODY_KNOWS;
		return c;
	}
	if (!S_ISREG(st.st_mode) || !is_mapped(maps, st.st_ino))
		return c;
	c.change = c.row->part == ANYTHING ? MAPPED_FILE_ANY : MAPPED_FILE_PART;
	c.ino = st.st_ino;
	c.dev = device_in(maps, &st);
	c.size = (uint64_t)st.st_size;
	return c;
}

/* ---- The exit ---- */

struct file_span {
	uint64_t from, to; /* of the file */
};

static uint64_t size_now(pid_t tid, int fd)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)tid, fd);
	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

/* The bytes that end there. */
static struct file_span part_before(uint64_t end, uint64_t n)
{
	return (struct file_span){end > n ? end - n : 0, end};
}

/* pwrite(2), BUGS: with O_APPEND it appends, whatever the offset; pwritev2(2) says otherwise for a
 * call. */
static bool appends_to_file(const struct tracee_syscall *call, unsigned long flags)
{
	enum { FLAGS = 5, APPEND = 0x10, NO_APPEND = 0x20 }; /* RWF_*, Linux 4.16 and 6.9 */
	uint64_t own = syscall_is(call, SYS_pwritev2) ? call->args[FLAGS] : 0;

	return own & APPEND || (flags & O_APPEND && !(own & NO_APPEND));
}

static struct file_span written_part(const struct mapped_file_row *row, pid_t tid,
				     const struct tracee_syscall *call, uint64_t n)
{
	int fd = (int)call->args[row->fd];
	uint64_t arg = call->args[row->arg], position = 0;
	unsigned long flags = 0;

	if (!tracee_descriptor(tid, fd, &position, &flags))
		return (struct file_span){0, UINT64_MAX};
	if (row->part == AT_OFFSET && arg != UINT64_MAX)
		return appends_to_file(call, flags) ? part_before(size_now(tid, fd), n)
						    : (struct file_span){arg, arg + n};
	if (row->part == AT_POINTED && arg &&
	    tracee_read(tid, arg, &position, sizeof position) != sizeof position)
		return (struct file_span){0, UINT64_MAX};
	return part_before(position, n);
}

/* The part that the call has changed, which may be less. */
static struct file_span changed_part(const struct mapped_file_call *c, pid_t tid,
				     const struct tracee_syscall *call, uint64_t result)
{
	const uint64_t *args = call->args;
	struct file_span p = {0, 0};

	if (c->row->part == SPAN) { /* one that failed may have done a part */
		p = (struct file_span){args[c->row->arg],
				       args[c->row->arg] + args[c->row->arg + 1]};
		if (args[1] & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE))
			p.to = UINT64_MAX;
	} else if (c->row->part == CUT) {
		p = (struct file_span){args[1], page_up(args[1])};
	} else if (!call_has_failed(result)) {
		p = written_part(c->row, tid, call, result);
	}
	return p;
}

/* The part of the mapping that shows [from, to) of its file. */
static struct file_span in_mapping(const struct mapping *m, const struct file_span *file)
{
	uint64_t end = m->offset + (m->end - m->start),
		 from = file->from > m->offset ? file->from : m->offset,
		 to = file->to < end ? file->to : end;

	return from < to ? (struct file_span){m->start + (from - m->offset),
					      m->start + (to - m->offset)}
			 : (struct file_span){0, 0};
}

static void tell_changed(const struct mapping *m, const struct file_span *file,
			 const struct mapped_file_sink *sink)
{
	struct file_span changed = in_mapping(m, file);

	if (changed.from < changed.to)
		sink->changed(sink->arg, changed.from, changed.to - changed.from);
}

void mapped_file_call_exit(const struct mapped_file_call *c, pid_t tid,
			   const struct tracee_syscall *call, uint64_t result,
			   const struct mapped_file_sink *sink)
{
	struct file_span file = changed_part(c, tid, call, result), gone = {0, 0}, tail = {0, 0};
	uint64_t size = size_now(tid, (int)call->args[c->row->fd]);
	struct mapping_list maps = {0};

	if (size < c->size)
		gone = (struct file_span){page_up(size), page_up(c->size)};
	if (size > c->size) /* bytes that were stored behind the end become zero */
		tail = (struct file_span){c->size, page_up(c->size)};
	file.to = file.to < page_up(size) ? file.to : page_up(size);
	if (!mappings_read(tid, &maps))
		return;
	for (size_t i = 0; i < maps.count; i++) {
		const struct mapping *m = &maps.maps[i];
		struct file_span cut = in_mapping(m, &gone);

		if (m->ino != c->ino || (c->dev && m->dev != c->dev))
			continue;
		if (cut.from < cut.to)
			sink->cut(sink->arg, cut.from, cut.to);
		tell_changed(m, &tail, sink);
		tell_changed(m, &file, sink);
	}
	mappings_release(&maps);
}

/* Whether what is written to one of them, or to the other, is seen in both. */
static bool show_the_same(const struct mapping *a, const struct mapping *b)
{
	return a != b && a->dev == b->dev && a->ino == b->ino &&
	       a->offset < b->offset + (b->end - b->start) &&
	       b->offset < a->offset + (a->end - a->start) &&
	       ((a->shared && a->prot & PROT_WRITE) || (b->shared && b->prot & PROT_WRITE));
}

bool pages_are_mapped_twice(pid_t tid, uint64_t start, uint64_t end)
{
	struct mapping_list all = {0};
	bool found = false;

	if (!mappings_read(tid, &all))
		return true;
	for (size_t i = mappings_behind(&all, start);
	     i < all.count && all.maps[i].start < end && !found; i++)
		for (size_t k = 0; k < all.count && all.maps[i].ino && !found; k++)
			found = show_the_same(&all.maps[i], &all.maps[k]);
	mappings_release(&all);
	return found;
}
