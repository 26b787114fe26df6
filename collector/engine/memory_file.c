/* SPDX-License-Identifier: MIT */
#include "collector/engine/memory_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/tracee.h"

enum {
	PAGE = 4096,
	LENT = 16, /* bytes around the task's next instruction that are lent to a name */
};

static long create(pid_t tid, uint64_t name)
{
	const uint64_t args[6] = {name, MFD_CLOEXEC | MFD_ALLOW_SEALING};

	return tracee_syscall(tid, SYS_memfd_create, args);
}

/* The name stands in the task's code for that time, on the page of its next instruction and not on that. */
static long create_named(pid_t tid)
{
	static const char name[] = "btrec";
	uint8_t saved[sizeof name];
	struct bt_regs regs;
	uint64_t at;
	long fd;

	if (tracee_get_regs(tid, &regs))
		return -1;
	at = regs.rip % PAGE < PAGE - 2 * LENT ? regs.rip + LENT : regs.rip - LENT;
	if (tracee_read(tid, at, saved, sizeof saved) != sizeof saved || !tracee_write(tid, at, name, sizeof name))
		return -1;
	fd = create(tid, at);
	return tracee_write(tid, at, saved, sizeof saved) ? fd : -1;
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
	long fd = name ? create(tid, name) : create_named(tid);

	if (fd < 0)
		return -1;
	*own = open_here(tid, fd);
	if (*own >= 0 && !ftruncate(*own, (off_t)size))
		return fd;
	if (*own >= 0)
		close(*own);
	memory_file_close_there(tid, fd);
	return -1;
}
