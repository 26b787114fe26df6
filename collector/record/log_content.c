/* SPDX-License-Identifier: MIT */
#include "collector/record/log_content.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/log_values.h"
#include "lib/content_hash.h"
#include "lib/grow.h"
#include "lib/page.h"

enum {
	PIECE = 1 << 18, /* bytes that are compared at once */
	SAME_MOST = 2,   /* copies of a file, as it was at different times */
};

#define COPIED_MOST ((uint64_t)1 << 30) /* bytes of a trace's copies */

_Static_assert((int)PIECE <= BT_LOG_PIECE, "a run of them is one of the log's");

void log_content_init(struct log_content *c, struct trace_writer *w, struct log_sink sink,
		      const char *cache)
{
	*c = (struct log_content){.sink = sink,
				  .writer = w,
				  .store = file_store_open(cache),
				  .bytes = malloc(2 * PIECE)};
	if (!c->bytes)
		file_store_close(&c->store);
}

void log_content_release(struct log_content *c)
{
	log_objects_release(&c->objects);
	replaced_pages_release(&c->replaced);
	file_store_close(&c->store);
	free(c->copies);
	free(c->bytes);
}

/* ---- What was there before ---- */

/* Whether the call maps a file that has a copy: its pages cost little then, wherever they lie. */
static bool maps_copied(const struct log_content *c, pid_t tid, const struct tracee_syscall *call)
{
	char path[64], name[FILE_STORE_NAME];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)tid, (int)call->args[4]);
	return c->store.dir >= 0 && !stat(path, &st) && file_store_name(&st, name);
}

void log_content_enter(struct log_content *c, pid_t tid, const struct tracee_syscall *call)
{
	if (syscall_is(call, SYS_mmap) && maps_copied(c, tid, call))
		replaced_pages_forget(&c->replaced);
	else
		replaced_pages_take(&c->replaced, tid, call);
}

bool log_content_is_same(const struct log_content *c, pid_t tid, uint64_t start, uint64_t end)
{
	return replaced_pages_are_same(&c->replaced, tid, start, end);
}

/* ---- Pages of no copy ---- */

static void put_pages(void *arg, uint64_t addr, const uint8_t *bytes, size_t n)
{
	struct log_content *c = arg;
	struct bt_record_log_object rec = {.addr = addr, .bytes = slice_of(bytes, n)};
	struct bt_record_log_data data = {.addr = addr, .bytes = slice_of(bytes, n)};
	struct bt_record_log_again again = {.addr = addr};

	switch (log_objects_look(&c->objects, bytes, n, &again.object)) {
	case LOG_OBJECT_KNOWN:
		c->sink.put(c->sink.arg, BT_RECORD_LOG_AGAIN, &again);
		break;
	case LOG_OBJECT_NEW:
		c->sink.put(c->sink.arg, BT_RECORD_LOG_OBJECT, &rec);
		break;
	case LOG_OBJECT_NONE:
		c->sink.put(c->sink.arg, BT_RECORD_LOG_DATA, &data);
		break;
	}
}

/* ---- Pages of a copy ---- */

struct content_copy {
	int fd;
	uint32_t number;
};

/* Whether the trace may have one more copy: of the same file it has few, which is written and
 * mapped again and again. */
static bool may_link(const struct log_content *c, const struct stat *st)
{
	unsigned same = 0;

	for (size_t i = 0; i < c->copy_count; i++)
		same += c->copies[i].dev == st->st_dev && c->copies[i].ino == st->st_ino;
	return same < SAME_MOST && c->copied + (uint64_t)st->st_size <= COPIED_MOST;
}

/* The number of the copy in the trace; c->copy_count: it is not there. */
static uint32_t number_of_copy(const struct log_content *c, const char *name)
{
	uint32_t i = 0;

	while (i < c->copy_count && strcmp(c->copies[i].name, name) != 0)
		i++;
	return i;
}

/* Finds the number of the copy in the trace, or gives it one. False: the trace cannot have it. */
static bool link_copy(struct log_content *c, const struct stat *st, const char *name,
		      struct content_copy *copy)
{
	struct linked_copy *copies;
	struct stat there;
	int failure;

	if (fstat(copy->fd, &there))
		return false;
	copy->number = number_of_copy(c, name);
	if (copy->number < c->copy_count) /* else another recorder has made it anew */
		return c->copies[copy->number].copy_ino == there.st_ino;
	copies = array_grow(c->copies, c->copy_count, &c->copy_cap, sizeof *copies);
	if (!copies)
		return false;
	c->copies = copies;
	failure = trace_writer_link_open(c->writer, copy->fd, (uint32_t)c->copy_count);
	if (failure && failure != ENOENT) /* on another file system, mostly */
		file_store_close(&c->store);
	if (failure)
		return false;
	copies[c->copy_count] = (struct linked_copy){
		.dev = st->st_dev, .ino = st->st_ino, .copy_ino = there.st_ino};
	memcpy(copies[c->copy_count].name, name, sizeof copies->name);
	copy->number = (uint32_t)c->copy_count++;
	c->copied += (uint64_t)st->st_size;
	return true;
}

static struct content_copy open_copy(struct log_content *c, const char *path, const struct stat *st)
{
	char name[FILE_STORE_NAME] = "";
	struct content_copy copy = {.fd = -1};

	if (c->store.dir < 0 || !file_store_name(st, name) ||
	    (number_of_copy(c, name) == c->copy_count && !may_link(c, st)))
		return copy;
	copy.fd = file_store_get(&c->store, path, name);
	if (copy.fd >= 0 && !link_copy(c, st, name, &copy)) {
		close(copy.fd);
		copy.fd = -1;
	}
	return copy;
}

/* Pages that were compared. */
struct compared {
	uint64_t addr;   /* of the first, */
	uint64_t offset; /* ... and their offset in the copy */
	const uint8_t *memory, *copy;
	size_t n, copy_n; /* bytes: the copy may end before the page does */
};

enum page_is {
	PAGE_ZERO,
	PAGE_OF_COPY,
	PAGE_OF_NONE,
};

static enum page_is look_at_page(const struct compared *p, size_t at)
{
	static const uint8_t zeros[BT_PAGE];
	size_t n = at < p->copy_n ? p->copy_n - at : 0;

	n = n < BT_PAGE ? n : BT_PAGE;
	if (!memcmp(p->memory + at, zeros, BT_PAGE))
		return PAGE_ZERO;
	return n && !memcmp(p->memory + at, p->copy + at, n) &&
			       !memcmp(p->memory + at + n, zeros, BT_PAGE - n)
		       ? PAGE_OF_COPY
		       : PAGE_OF_NONE;
}

static void put_run(struct log_content *c, const struct compared *p, uint32_t number,
		    enum page_is what, size_t from, size_t to)
{
	size_t end = to < p->copy_n ? to : p->copy_n;
	struct bt_record_log_piece rec = {.addr = p->addr + from,
					  .file = number,
					  .offset = p->offset + from,
					  .size = end - from};

	if (what == PAGE_OF_NONE)
		put_pages(c, p->addr + from, p->memory + from, to - from);
	if (what != PAGE_OF_COPY)
		return;
	rec.hash = content_hash(p->memory + from, end - from).first;
	c->sink.put(c->sink.arg, BT_RECORD_LOG_PIECE, &rec);
}

static void put_compared(struct log_content *c, const struct compared *p, uint32_t number)
{
	enum page_is now, run = PAGE_ZERO;
	size_t from = 0;

	for (size_t at = 0; at < p->n; at += BT_PAGE, run = now) {
		now = look_at_page(p, at);
		if (now == run)
			continue;
		put_run(c, p, number, run, from, at);
		from = at;
	}
	put_run(c, p, number, run, from, p->n);
}

static void put_pieces(struct log_content *c, pid_t tid, uint64_t start, uint64_t end,
		       const struct content_copy *copy, uint64_t offset)
{
	for (uint64_t at = start; at < end;) {
		size_t want = end - at < PIECE ? (size_t)(end - at) : PIECE;
		struct compared p = {.addr = at,
				     .offset = offset + (at - start),
				     .memory = c->bytes,
				     .copy = c->bytes + PIECE,
				     .n = tracee_read(tid, at, c->bytes, want) / BT_PAGE * BT_PAGE};
		ssize_t got = pread(copy->fd, c->bytes + PIECE, p.n, (off_t)p.offset);

		p.copy_n = got > 0 ? (size_t)got : 0;
		put_compared(c, &p, copy->number);
		at += p.n < want ? p.n + BT_PAGE : p.n; /* over a page that cannot be read */
	}
}

/* ---- A mapping ---- */

/* Some pages, which may be of a file. */
struct content_range {
	uint64_t start, end;
	uint64_t offset; /* of start in the file */
	bool is_memory;  /* private, of no file */
};

static void put_range(struct log_content *c, pid_t tid, const struct content_copy *copy,
		      const struct content_range *r)
{
	if (r->is_memory)
		mapped_pages_find_memory(tid, r->start, r->end, put_pages, c);
	else if (copy->fd < 0)
		mapped_pages_find(tid, r->start, r->end, put_pages, c);
	else
		put_pieces(c, tid, r->start, r->end, copy, r->offset);
}

/* The same without the holes of the file, which are zero. */
static void put_data_ranges(struct log_content *c, pid_t tid, const struct content_copy *copy,
			    const struct content_range *r, int file)
{
	const uint64_t end = r->offset + (r->end - r->start);
	off_t at = (off_t)r->offset, data, hole;

	while ((data = lseek(file, at, SEEK_DATA)) >= 0 && (uint64_t)data < end &&
	       (hole = lseek(file, data, SEEK_HOLE)) > data) {
		uint64_t from = page_down((uint64_t)data), to = page_up((uint64_t)hole);
		struct content_range part;

		from = from < r->offset ? r->offset : from;
		to = to < end ? to : end;
		part = (struct content_range){.start = r->start + (from - r->offset),
					      .end = r->start + (to - r->offset),
					      .offset = from};
		put_range(c, tid, copy, &part);
		at = (off_t)to;
	}
}

/* Whether the file has holes of some size. */
static bool is_sparse(const struct stat *st)
{
	enum { BLOCK = 512 };

	return st->st_size > FILE_STORE_FILE_MOST &&
	       (uint64_t)st->st_blocks * BLOCK < (uint64_t)st->st_size / 2;
}

void log_content_put(struct log_content *c, pid_t tid, uint64_t start, uint64_t end,
		     const struct log_file *file)
{
	struct content_range r = {start, end, file->offset,
				  !file->path && !file->ino && file->is_old};
	struct content_copy copy = {.fd = -1};
	int sparse = -1;
	struct stat st;

	if (file->path && !stat(file->path, &st) && S_ISREG(st.st_mode) && st.st_ino == file->ino) {
		uint64_t size = page_up((uint64_t)st.st_size);

		/* A large part of the mapping may lie behind the file's end, where nothing can be
		 * read. */
		size = size > r.offset ? size - r.offset : 0;
		r.end = size < end - start ? start + size : end;
		copy = open_copy(c, file->path, &st);
		sparse = is_sparse(&st) && !file->is_old ? open(file->path, O_RDONLY | O_CLOEXEC)
							 : -1;
	}
	if (sparse >= 0)
		put_data_ranges(c, tid, &copy, &r, sparse);
	else
		put_range(c, tid, &copy, &r);
	if (sparse >= 0)
		close(sparse);
	if (copy.fd >= 0)
		close(copy.fd);
}
