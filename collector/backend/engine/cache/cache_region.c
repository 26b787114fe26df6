/* SPDX-License-Identifier: MIT */
/* The code of a cache lies in one of two ways.
 * - Shared: in a memory file. The tracer maps it writable, and what it stores is in the tracees at
 *   once; these map it readable and executable. Table 2 is in the same file, in front of the code.
 * - Private: c->code is a mirror, and the tracee has anonymous memory. code_cache_sync() writes
 *   there, through /proc/PID/mem, what is new in the mirror (from c->synced on) and the
 * displacements that have changed (c->patches).
 *
 * A cache begins as a mirror. code_cache_map() has the tracee make a memory file, and move_into()
 * copies the mirror into it; without a file the memory is private. A cache that another process has
 * left (left_caches.h) has a file already, which is mapped; where that is refused,
 * leave_shared_file() makes a mirror of it again.
 *
 * The file grows in steps, and its pages are populated some at a time. The descriptor of
 * /proc/PID/mem is closed after each use if many descriptors are in use. */
#include "collector/backend/engine/cache/cache_region.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/backend/engine/cache/layout.h"
#include "collector/backend/engine/cache/memory_file.h"
#include "collector/task/limits.h"
#include "collector/tracee/tracee.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

enum {
	PATCH_GAP = 2048,    /* writing so much more costs less than another call */
	FILE_STEP = 1 << 20, /* the file grows by so much: a program that locks all memory
				(mlockall(2)) makes all of it real */
	FILL_STEP = 1 << 16, /* and so much of it is made real at once: cheaper than page by page */
};

/* The file has memory up to there. */
static void fill_file(struct code_cache *c, size_t end)
{
	size_t next = (end + FILL_STEP - 1) / FILL_STEP * FILL_STEP;

	if (end <= c->filled)
		return;
	(void)!madvise(c->code + c->filled, next - c->filled, MADV_POPULATE_WRITE); /* Linux 5.14 */
	c->filled = next;
}

bool cache_region_reserve(struct code_cache *c, size_t n)
{
	size_t cap = c->code_cap ? c->code_cap : 1 << 16;
	uint8_t *grown;

	if (c->shared && c->code_len + n > c->code_cap) {
		cap = (c->code_len + n + FILE_STEP - 1) / FILE_STEP * FILE_STEP;
		if (ftruncate(c->file, (off_t)(CODE_AT + cap)))
			return false;
		c->code_cap = cap;
	}
	if (c->shared)
		fill_file(c, c->code_len + n);
	if (c->code_len + n <= c->code_cap)
		return true;
	while (cap < c->code_len + n)
		cap *= 2;
	grown = realloc(c->code, cap);
	if (!grown)
		return false;
	c->code = grown;
	c->code_cap = cap;
	return true;
}

static bool write_file(int fd, uint64_t at, const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n) {
		ssize_t k = pwrite(fd, p, n, (off_t)region_address(at));

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		p += k;
		at += (uint64_t)k;
		n -= (size_t)k;
	}
	return true;
}

static bool open_memory(struct code_cache *c, pid_t tid)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/%d/mem", (int)tid);
	if (c->mem < 0)
		c->mem = open(path, O_RDWR | O_CLOEXEC);
	return c->mem >= 0;
}

static void close_memory(struct code_cache *c)
{
	if (c->mem >= 0)
		close(c->mem);
	c->mem = -1;
}

/* Each of many caches would keep one. */
static void close_unless_spare(struct code_cache *c)
{
	if (c->mem >= 0 && !limits_has_spare(c->mem, MEMORY_FILE_QUARTERS))
		close_memory(c);
}

static bool write_code(struct code_cache *c)
{
	bool ok = write_file(c->mem, CODE_AT + c->synced, c->code + c->synced,
			     c->code_len - c->synced);

	c->synced = c->code_len;
	return ok;
}

/* A piece of the region in the tracee. */
struct region_piece {
	uint64_t start, end, prot, flags;
};

static bool map_region_piece(pid_t tid, const struct region_piece *p, uint64_t flags, uint64_t fd)
{
	bool of_file = !(p->flags & MAP_ANONYMOUS);
	const uint64_t args[6] = {
		region_address(p->start), p->end - p->start,         p->prot,
		p->flags | flags,         of_file ? fd : UINT64_MAX, of_file ? p->start : 0};

	return tracee_syscall(tid, SYS_mmap, args) == (long)args[0];
}

/* Both, or nothing new. over: an existing mapping there is replaced. */
static bool map_pieces(pid_t tid, const struct region_piece p[2], bool over, uint64_t fd)
{
	const uint64_t flags = MAP_NORESERVE | (uint64_t)(over ? MAP_FIXED : MAP_FIXED_NOREPLACE);
	const uint64_t first[6] = {region_address(p[0].start), p[0].end - p[0].start};

	if (!map_region_piece(tid, &p[0], flags, fd))
		return false;
	if (map_region_piece(tid, &p[1], flags, fd))
		return true;
	if (!over)
		tracee_syscall(tid, SYS_munmap, first);
	return false;
}

/* The tracer's mapping comes first, and is writable. The file is sealed then, so nobody else can
 * map it writable (Linux 5.1). */
static uint8_t *map_here(int file)
{
	void *bytes = mmap(NULL, REGION_SIZE - SHARED_AT, PROT_READ | PROT_WRITE, MAP_SHARED, file,
			   SHARED_AT);

	if (bytes == MAP_FAILED)
		return NULL;
	(void)!fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK);
	(void)!fcntl(file, F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
	(void)!fcntl(file, F_ADD_SEALS, F_SEAL_SEAL);
	return bytes;
}

/* For code, in the file. */
static size_t file_room(const struct code_cache *c)
{
	return (c->code_len + FILE_STEP - 1) / FILE_STEP * FILE_STEP;
}

/* Moves the code made so far into the file. */
static void move_into(struct code_cache *c, int file, uint8_t *shared)
{
	uint8_t *was = c->code;

	c->code = shared + (CODE_AT - SHARED_AT);
	c->code_cap = file_room(c);
	c->filled = 0;
	fill_file(c, c->code_len);
	memcpy(c->code, was, c->code_len);
	free(was);
	c->file = file;
	c->shared = shared;
	c->patch_count = 0;
	tables_place(&c->tables, shared);
}

static const struct region_piece shared_pieces[2] = {
	{TABLE1_AT, SHARED_AT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS},
	{SHARED_AT, REGION_SIZE, PROT_READ | PROT_EXEC, MAP_SHARED}};

/* The file that another process had. */
static bool map_left(const struct code_cache *c, pid_t tid, bool over)
{
	long fd = memory_file_open_there(tid, c->file);
	bool mapped = fd >= 0 && map_pieces(tid, shared_pieces, over, (uint64_t)fd);

	if (fd >= 0)
		memory_file_close_there(tid, fd);
	return mapped;
}

/* Out of the file that another process had, which this one cannot have. False without memory:
 * nothing has changed. */
static bool leave_shared_file(struct code_cache *c)
{
	uint8_t *own = malloc(c->code_cap);

	if (!own || !tables_move_out(&c->tables)) {
		free(own);
		return false;
	}
	memcpy(own, c->code, c->code_len);
	munmap(c->shared, REGION_SIZE - SHARED_AT);
	close(c->file);
	c->code = own;
	c->shared = NULL;
	c->file = -1;
	return true;
}

static bool map_shared_region(struct code_cache *c, pid_t tid, bool over)
{
	int file;
	long fd = memory_file_open(tid, 0, CODE_AT + file_room(c), &file);
	uint8_t *shared;
	bool mapped;

	if (fd < 0)
		return false;
	shared = map_here(file);
	mapped = shared && map_pieces(tid, shared_pieces, over, (uint64_t)fd);
	memory_file_close_there(tid, fd);
	if (mapped) {
		move_into(c, file, shared);
		return true;
	}
	if (shared)
		munmap(shared, REGION_SIZE - SHARED_AT);
	close(file);
	return false;
}

static bool map_private(struct code_cache *c, pid_t tid, bool over)
{
	static const struct region_piece pieces[2] = {
		{TABLE1_AT, DATA_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS},
		{CODE_AT, REGION_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS}};
	bool written;

	tables_place(&c->tables, NULL);
	c->synced = 0;
	written = map_pieces(tid, pieces, over, UINT64_MAX) && open_memory(c, tid) && write_code(c);
	close_unless_spare(c);
	return written;
}

static bool map_new(struct code_cache *c, pid_t tid, bool over, bool no_file)
{
	return (!no_file && map_shared_region(c, tid, over)) || map_private(c, tid, over);
}

int code_cache_map(struct code_cache *c, pid_t tid, bool over, bool no_file)
{
	if (c->shared)
		c->placed = (!no_file && map_left(c, tid, over)) ||
			    (leave_shared_file(c) && map_new(c, tid, over, no_file));
	else
		c->placed = map_new(c, tid, over, no_file);
	return c->placed ? 0 : -BT_E_NO_MEMORY;
}

void cache_region_leave(struct code_cache *c)
{
	close_memory(c);
	c->placed = c->busy = false;
	tables_leave(&c->tables);
}

static int by_offset(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Writes displacements in code that the tracee has; those that lie near each other at once, with
 * the bytes between them. */
static bool write_patches(struct code_cache *c)
{
	bool ok = true;

	qsort(c->patches, c->patch_count, sizeof *c->patches, by_offset);
	for (uint32_t i = 0, next; ok && i < c->patch_count; i = next) {
		uint32_t start = c->patches[i], end = start + 4;

		for (next = i + 1; next < c->patch_count && c->patches[next] < end + PATCH_GAP;
		     next++)
			end = c->patches[next] + 4;
		ok = write_file(c->mem, CODE_AT + start, c->code + start, end - start);
	}
	c->patch_count = 0;
	return ok;
}

int code_cache_sync(struct code_cache *c, pid_t tid)
{
	bool had = c->mem >= 0,
	     ok = c->shared || (c->synced == c->code_len && !c->patch_count) || open_memory(c, tid);

	if (ok && !c->shared && c->synced < c->code_len)
		ok = write_code(c);
	if (ok && c->patch_count)
		ok = write_patches(c);
	if (!had)
		close_unless_spare(c);
	return ok && tables_sync(&c->tables, tid) ? 0 : -BT_E_GONE;
}

int code_cache_push(struct code_cache *c, pid_t tid)
{
	if (!c->shared)
		return code_cache_sync(c, tid);
	return tables_push(&c->tables, tid) ? 0 : -BT_E_GONE;
}
