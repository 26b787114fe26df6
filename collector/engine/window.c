/* SPDX-License-Identifier: MIT */
#include "collector/engine/window.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collector/engine/layout.h"
#include "collector/engine/memory_file.h"
#include "collector/tracee.h"
#include "lib/error.h"

/* filtered: a system call that can be left out is. */
static bool map_at(pid_t tid, uint64_t flags, uint64_t fd, bool filtered)
{
	const uint64_t map[6] = {region_address(0), WINDOW_SIZE, PROT_READ | PROT_WRITE, flags, fd, 0};
	const uint64_t dump[6] = {region_address(0), WINDOW_SIZE, MADV_DONTDUMP};

	if (tracee_syscall(tid, SYS_mmap, map) != (long)map[0])
		return false;
	if (!filtered)
		tracee_syscall(tid, SYS_madvise, dump);
	return true;
}

static bool map_shared(struct window *w, pid_t tid, uint64_t name, uint64_t fixed)
{
	void *bytes = MAP_FAILED;
	int own;
	long fd = memory_file_open(tid, name, WINDOW_SIZE, &own);

	if (fd < 0)
		return false;
	/* Sealed: what the tracer has mapped cannot be taken away from it. */
	if (!fcntl(own, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		bytes = mmap(NULL, WINDOW_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
	close(own);
	if (bytes != MAP_FAILED && !map_at(tid, MAP_SHARED | fixed, (uint64_t)fd, false)) {
		munmap(bytes, WINDOW_SIZE);
		bytes = MAP_FAILED;
	}
	memory_file_close_there(tid, fd);
	if (bytes != MAP_FAILED)
		w->bytes = bytes;
	return bytes != MAP_FAILED;
}

int window_map(struct window *w, pid_t tid, uint64_t name, bool over, bool others)
{
	uint64_t fixed = over ? MAP_FIXED : MAP_FIXED_NOREPLACE;

	w->inherited = false;
	w->bytes = NULL;
	w->filtered = tracee_is_filtered(tid);
	if (!w->filtered && !others && map_shared(w, tid, name, fixed))
		return 0;
	return map_at(tid, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, UINT64_MAX, w->filtered) ? 0 : -BT_E_NO_MEMORY;
}

void window_close(struct window *w)
{
	if (w->bytes)
		munmap(w->bytes, WINDOW_SIZE);
	w->bytes = NULL;
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
	struct iovec local = {(void *)(uintptr_t)bytes, n}, remote = {(void *)(uintptr_t)region_address(at), n};

	if (w->inherited)
		return false;
	if (!w->bytes)
		return process_vm_writev(tid, &local, 1, &remote, 1, 0) == (ssize_t)n;
	memcpy(w->bytes + at, bytes, n);
	return true;
}
