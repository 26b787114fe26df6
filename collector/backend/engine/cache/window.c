/* SPDX-License-Identifier: MIT */
#include "collector/backend/engine/cache/window.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collector/backend/engine/cache/layout.h"
#include "collector/backend/engine/cache/memory_file.h"
#include "collector/tracee/tracee.h"
#include "lib/error.h"
#include "lib/page.h"

enum {
	PIECES = 3,
};

/* A piece of the tracee's memory, and where it begins in the memory file. */
struct window_piece {
	uint64_t start, size, offset;
};

static const struct window_piece first_window = {WORLD_RESERVED_START, WINDOW_SIZE, 0};

static bool map_window_piece(pid_t tid, const struct window_piece *p, uint64_t flags, uint64_t fd)
{
	const uint64_t map[6] = {p->start, p->size, PROT_READ | PROT_WRITE,
				 flags,    fd,      fd == UINT64_MAX ? 0 : p->offset};

	return tracee_syscall(tid, SYS_mmap, map) == (long)map[0];
}

static size_t mapped_here(const struct window *w)
{
	return w->areas ? (size_t)AREAS * AREA_SIZE : WINDOW_SIZE;
}

static bool map_shared_window(struct window *w, pid_t tid, uint64_t name, uint64_t fixed)
{
	void *bytes = MAP_FAILED;
	int own;
	long fd = memory_file_open(tid, name, WINDOW_SIZE, &own);

	if (fd < 0)
		return false;
	/* Sealed: nobody can shrink the file under the tracer's mapping. */
	if (!fcntl(own, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		bytes = mmap(NULL, WINDOW_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
	close(own);
	if (bytes != MAP_FAILED &&
	    !map_window_piece(tid, &first_window, MAP_SHARED | fixed, (uint64_t)fd)) {
		munmap(bytes, WINDOW_SIZE);
		bytes = MAP_FAILED;
	}
	memory_file_close_there(tid, fd);
	if (bytes != MAP_FAILED)
		w->bytes = bytes;
	return bytes != MAP_FAILED;
}

/* Table 1, which is there, gives way to one that can be mapped more than once. */
static bool map_areas(struct window *w, pid_t tid, uint64_t name, uint64_t fixed)
{
	const struct window_piece pieces[PIECES] = {
		{area_address(1), AREAS_BYTES, area_window(1)},
		first_window,
		{region_address(TABLE1_AT), TABLE1_BYTES, TABLE1_AT}};
	const uint64_t flags[PIECES] = {fixed, fixed, MAP_FIXED};
	void *bytes = MAP_FAILED;
	int own, mapped = 0;
	long fd = memory_file_open(tid, name, SHARED_AT, &own);

	if (fd < 0)
		return false;
	if (!fcntl(own, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL))
		bytes = mmap(NULL, (size_t)AREAS * AREA_SIZE, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_NORESERVE, own, 0);
	while (bytes != MAP_FAILED && mapped < PIECES &&
	       map_window_piece(tid, &pieces[mapped], MAP_SHARED | MAP_NORESERVE | flags[mapped],
				(uint64_t)fd))
		mapped++;
	memory_file_close_there(tid, fd);
	if (mapped == PIECES) {
		w->bytes = bytes;
		w->areas = own;
		return true;
	}
	for (int i = 0; i < mapped; i++) {
		const uint64_t args[6] = {pieces[i].start, pieces[i].size};

		tracee_syscall(tid, SYS_munmap, args);
	}
	if (bytes != MAP_FAILED)
		munmap(bytes, (size_t)AREAS * AREA_SIZE);
	close(own);
	return false;
}

int window_map(struct window *w, pid_t tid, uint64_t name, bool over, bool no_file, bool areas)
{
	uint64_t fixed = over ? MAP_FIXED : MAP_FIXED_NOREPLACE;

	w->inherited = false;
	w->bytes = NULL;
	w->areas = 0;
	if (!no_file &&
	    (areas ? map_areas(w, tid, name, fixed) : map_shared_window(w, tid, name, fixed)))
		return 0;
	return map_window_piece(tid, &first_window,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, UINT64_MAX)
		       ? 0
		       : -BT_E_NO_MEMORY;
}

bool window_grow(const struct window *w, uint32_t area)
{
	struct stat s;
	off_t size = (off_t)(area_window(area) + SHARED_AT);

	return !fstat(w->areas, &s) && (s.st_size >= size || !ftruncate(w->areas, size));
}

void window_close(struct window *w)
{
	if (w->bytes)
		munmap(w->bytes, mapped_here(w));
	if (w->areas)
		close(w->areas);
	w->bytes = NULL;
	w->areas = 0;
}

bool window_read(const struct window *w, pid_t tid, uint64_t at, void *bytes, size_t n)
{
	if (w->inherited)
		return false;
	if (!w->bytes)
		return tracee_read(tid, region_address(at), bytes, n) == n;
	memcpy(bytes, w->bytes + at, n);
	return true;
}

bool window_write(const struct window *w, pid_t tid, uint64_t at, const void *bytes, size_t n)
{
	struct iovec local = {(void *)(uintptr_t)bytes, n},
		     remote = {(void *)(uintptr_t)region_address(at), n};

	if (w->inherited)
		return false;
	if (!w->bytes)
		return process_vm_writev(tid, &local, 1, &remote, 1, 0) == (ssize_t)n;
	memcpy(w->bytes + at, bytes, n);
	return true;
}

void window_clear(const struct window *w, pid_t tid, uint64_t at, size_t n)
{
	static const uint8_t nothing[BT_PAGE];
	uint64_t end = at + n, first = page_up(at), last = page_down(end);

	if (w->bytes && first < last && !madvise(w->bytes + first, last - first, MADV_REMOVE)) {
		memset(w->bytes + at, 0, first - at);
		memset(w->bytes + last, 0, end - last);
		return;
	}
	for (size_t piece; at < end; at += piece) {
		piece = end - at < BT_PAGE ? end - at : BT_PAGE;
		(void)!window_write(w, tid, at, nothing, piece);
	}
}
