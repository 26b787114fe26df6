/* SPDX-License-Identifier: MIT */
#include "collector/backend/engine/cache/memory_file.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/task/limits.h"
#include "collector/tracee/tracee.h"
#include "lib/array_size.h"
#include "lib/page.h"

enum {
	LENT = 48, /* bytes around the task's next instruction that are lent to a name */
};

static long create_file(pid_t tid, uint64_t name)
{
	const uint64_t args[6] = {name, MFD_CLOEXEC | MFD_ALLOW_SEALING};

	return tracee_syscall(tid, SYS_memfd_create, args);
}

static long open_path(pid_t tid, uint64_t path)
{
	const uint64_t args[6] = {(uint64_t)AT_FDCWD, path,
				  O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY};

	return tracee_syscall(tid, SYS_openat, args);
}

/* Makes the call with a name that stands in the task's code for that time: on the page of its next
 * instruction, and neither on that nor on the system call before it. */
static long call_with(pid_t tid, const char *name, long (*call)(pid_t tid, uint64_t name))
{
	size_t n = strlen(name) + 1;
	uint8_t saved[LENT];
	struct bt_regs regs;
	uint64_t at;
	long fd;

	if (n > LENT - 2 || tracee_get_regs(tid, &regs))
		return -1;
	at = regs.rip % BT_PAGE < BT_PAGE - 2 * LENT ? regs.rip + LENT : regs.rip - LENT;
	if (tracee_read(tid, at, saved, n) != n || !tracee_write(tid, at, name, n))
		return -1;
	fd = call(tid, at);
	return tracee_write(tid, at, saved, n) ? fd : -1;
}

static int open_here(pid_t tid, long fd)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/fd/%ld", (int)tid, fd);
	return open(path, O_RDWR | O_CLOEXEC);
}

void memory_file_close_there(pid_t tid, long fd)
{
	const uint64_t args[6] = {(uint64_t)fd};

	tracee_syscall(tid, SYS_close, args);
}

long memory_file_open(pid_t tid, uint64_t name, uint64_t size, int *own)
{
	long fd = name ? create_file(tid, name) : call_with(tid, "btrec", create_file);

	if (fd < 0)
		return -1;
	*own = open_here(tid, fd);
	if (*own >= 0 && limits_has_spare(*own, MEMORY_FILE_QUARTERS) &&
	    !ftruncate(*own, (off_t)size))
		return fd;
	if (*own >= 0)
		close(*own);
	memory_file_close_there(tid, fd);
	return -1;
}

static bool is_same_file(pid_t tid, long fd, int own)
{
	struct stat there, here;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/fd/%ld", (int)tid, fd);
	return !stat(path, &there) && !fstat(own, &here) && there.st_dev == here.st_dev &&
	       there.st_ino == here.st_ino;
}

/* Whether a path is the same file's for the task as for us: in another /proc the path may name
 * anything, even a file whose open waits. */
static bool has_our_view(pid_t tid)
{
	static const char *const parts[] = {"ns/pid", "ns/mnt", "root"};
	struct stat there, here;
	char path[64], own[64];

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		snprintf(path, sizeof path, "/proc/%d/%s", (int)tid, parts[i]);
		snprintf(own, sizeof own, "/proc/self/%s", parts[i]);
		if (stat(path, &there) || stat(own, &here) || there.st_dev != here.st_dev ||
		    there.st_ino != here.st_ino)
			return false;
	}
	return true;
}

long memory_file_open_there(pid_t tid, int own)
{
	char path[LENT];
	long fd;

	if (!has_our_view(tid))
		return -1;
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), own);
	fd = call_with(tid, path, open_path);
	if (fd < 0)
		return -1;
	if (is_same_file(tid, fd, own))
		return fd;
	memory_file_close_there(tid, fd);
	return -1;
}
