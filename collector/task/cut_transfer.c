/* SPDX-License-Identifier: MIT */
#include "collector/task/cut_transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "collector/task/task.h"
#include "collector/tracee/tracee.h"
#include "lib/array_size.h"
#include "lib/insn.h"
#include "syscalls/syscall_ranges.h"

enum {
	MEM_MAJOR = 1, /* /dev/zero, /dev/urandom and their like (the kernel's
			  admin-guide/devices.txt) */
};

/* The kind of file of the descriptor in the first argument. Asks no file system: the program itself
 * may serve it (FUSE). */
static bool describe_descriptor(const struct task *task, struct statx *st)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)task->host_tid, (int)task->regs.rdi);
	return !statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, st);
}

/* Whether a signal can cut a write to it short. It cannot with a regular file. */
static bool is_stream(const struct task *task)
{
	struct statx st;

	return describe_descriptor(task, &st) &&
	       (S_ISFIFO(st.stx_mode) || S_ISSOCK(st.stx_mode) || S_ISCHR(st.stx_mode));
}

/* Whether a read from it moves all that is asked for. Other files give what they have. */
static bool is_endless_read(const struct task *task)
{
	struct statx st;

	return describe_descriptor(task, &st) && S_ISCHR(st.stx_mode) &&
	       st.stx_rdev_major == MEM_MAJOR;
}

/* Whether a recvfrom() waits for all bytes: on a stream only, as messages come one by one. */
static bool waits_for_all(const struct task *task)
{
	int type = SOCK_STREAM;

	if ((task->regs.r10 & (MSG_WAITALL | MSG_PEEK)) != MSG_WAITALL)
		return false;
	tracee_socket_option(task->process->host_pid, (int)task->regs.rdi, SO_TYPE, &type,
			     sizeof type);
	return type == SOCK_STREAM;
}

/* The calls that are made again: of those that move bytes, the ones that a signal can cut short
 * where they would go on. Where their arguments lie is in their rows (syscall_writes.def). */
static const struct transfer_syscall {
	uint16_t nr;
	bool (*applies)(const struct task *task); /* NULL: always */
} transfers[] = {
	{SYS_read, is_endless_read},   {SYS_write, is_stream}, {SYS_sendto, NULL},
	{SYS_recvfrom, waits_for_all}, {SYS_getrandom, NULL},  {SYS_sendfile, NULL},
};

static const struct transfer_syscall *find_transfer_syscall(const struct bt_regs *regs)
{
	for (size_t i = 0; i < ARRAY_SIZE(transfers); i++)
		if (transfers[i].nr == regs->orig_rax)
			return &transfers[i];
	return NULL;
}

/* The registers with the count and the buffer of a transfer. buffer NULL: the kernel keeps the
 * position itself. False: the call is none. */
struct transfer_registers {
	uint64_t *count, *buffer;
};

static bool find_transfer_registers(struct bt_regs *regs, struct transfer_registers *out)
{
	struct syscall_moved moved;

	if (!find_transfer_syscall(regs) || !syscall_moved_bytes(regs->orig_rax, &moved))
		return false;
	out->count = tracee_arg(regs, moved.count);
	out->buffer = moved.has_buffer ? tracee_arg(regs, moved.buffer) : NULL;
	return true;
}

bool cut_transfer_may_be_short(const struct task *task)
{
	struct bt_regs regs = task->regs;
	struct transfer_registers r;

	return tracee_is_in_64_bit(&regs) && find_transfer_registers(&regs, &r) &&
	       (int64_t)regs.rax > 0 && regs.rax < *r.count;
}

bool cut_transfer_is_short(const struct task *task)
{
	const struct transfer_syscall *f =
		cut_transfer_may_be_short(task) ? find_transfer_syscall(&task->regs) : NULL;

	return f && (!f->applies || f->applies(task));
}

void cut_transfer_again(struct task *task, bool rewinds)
{
	struct cut_transfer *t = &task->transfer;
	uint64_t moved = (int64_t)task->regs.rax > 0 ? task->regs.rax : 0;
	struct transfer_registers r;

	if (!find_transfer_registers(&task->regs, &r))
		return;
	if (!t->moved)
		*t = (struct cut_transfer){.count = *r.count, .buffer = r.buffer ? *r.buffer : 0};
	t->moved += moved;
	*r.count -= moved;
	if (r.buffer)
		*r.buffer += moved;
	t->rewound = rewinds;
	if (!rewinds) {
		tracee_restart(&task->regs);
		return;
	}
	task->regs.rax = task->regs.orig_rax;
	task->regs.rip -= BT_SYSCALL_LEN;
}

void cut_syscall_again(struct task *task)
{
	if ((int64_t)task->regs.rax == -EINTR)
		tracee_restart(&task->regs);
	else
		cut_transfer_again(task, false);
}

void cut_transfer_begun(struct task *task) { task->transfer.rewound = false; }

void cut_transfer_end(struct task *task)
{
	struct cut_transfer *t = &task->transfer;
	struct transfer_registers r;

	if (!t->moved || !find_transfer_registers(&task->regs, &r))
		return;
	/* After an error the whole call would have returned the part moved before. */
	task->regs.rax =
		t->moved + (!t->rewound && (int64_t)task->regs.rax > 0 ? task->regs.rax : 0);
	if (t->rewound)
		task->regs.rip += BT_SYSCALL_LEN;
	*r.count = t->count;
	if (r.buffer)
		*r.buffer = t->buffer;
	*t = (struct cut_transfer){0};
	tracee_set_regs(task->host_tid, &task->regs);
}
