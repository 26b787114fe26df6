/* SPDX-License-Identifier: MIT */
#include "collector/supervisor/lazy_free.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "collector/supervisor/supervised.h"
#include "collector/tracee/tracee.h"
#include "lib/page.h"

#ifndef SYS_process_madvise
#define SYS_process_madvise 440 /* asm/unistd_64.h since Linux 5.10 */
#endif

enum {
	SELF_THREAD = -10000, /* PIDFD_SELF_THREAD, linux/fcntl.h since Linux 6.14 */
	SELF_GROUP = -10001,  /* PIDFD_SELF_THREAD_GROUP */
	VECTORS_MAX = 1024,   /* UIO_MAXIOV */
};

/* Whether all that is mapped there belongs to no file and to nobody else: elsewhere MADV_FREE
 * fails. Private pages of /dev/zero are such (zero(4)). */
static bool is_anonymous(struct task *task, uint64_t start, uint64_t end)
{
	struct address_space *s = task->process->space;

	address_space_catch_up(s, task->host_tid);
	for (size_t i = mappings_behind(&s->mappings, start);
	     i < s->mappings.count && s->mappings.maps[i].start < end; i++)
		if (s->mappings.maps[i].shared ||
		    (s->mappings.maps[i].ino && strcmp(s->mappings.maps[i].path, "/dev/zero")))
			return false;
	return true;
}

/* The kernel makes no call, and it fails. */
static void refuse_advice(struct task *task)
{
	task->regs.orig_rax = UINT64_MAX;
	task->regs.rax = (uint64_t)-EINVAL;
	tracee_set_regs(task->host_tid, &task->regs);
}

static void free_range(struct task *task)
{
	const uint64_t start = task->syscall.args[0], end = page_up(start + task->syscall.args[1]);

	if ((uint32_t)task->syscall.args[2] != MADV_FREE || start % BT_PAGE || start >= end)
		return;
	if (!is_anonymous(task, start, end)) {
		refuse_advice(task);
		return;
	}
	task->regs.rdx = MADV_DONTNEED;
	task->supervised->frees_at_once = !tracee_set_regs(task->host_tid, &task->regs);
}

/* Whether the pidfd is the task's own process (pidfd_open(2), fdinfo). */
static bool is_itself(const struct task *task, int fd)
{
	char name[32], text[TRACEE_LINE];

	if (fd == SELF_THREAD || fd == SELF_GROUP)
		return true;
	snprintf(name, sizeof name, "fdinfo/%d", fd);
	return fd >= 0 && tracee_file_line(task->host_tid, name, "Pid:", text) &&
	       atol(text) == task->process->host_pid;
}

/* The vectors before the first that it would fail for: so many are in its result, too. All of them
 * where one cannot be read: the kernel reads them first, and fails. */
static uint64_t count_anonymous(struct task *task)
{
	const uint64_t *args = task->syscall.args;
	uint64_t first = args[2];

	for (uint64_t n = 0; n < args[2]; n++) {
		uint64_t v[2];

		if (tracee_read(task->host_tid, args[1] + n * sizeof v, v, sizeof v) != sizeof v)
			return args[2];
		if (n < first && v[0] % BT_PAGE == 0 && v[0] < page_up(v[0] + v[1]) &&
		    !is_anonymous(task, v[0], page_up(v[0] + v[1])))
			first = n;
	}
	return first;
}

/* process_madvise(2): of other processes it frees nothing. */
static void free_vectors(struct task *task)
{
	const uint64_t *args = task->syscall.args;
	uint64_t n;

	if ((uint32_t)args[3] != MADV_FREE || !args[2] || args[2] > VECTORS_MAX || args[4] ||
	    !is_itself(task, (int)args[0]))
		return;
	n = count_anonymous(task);
	if (!n) {
		refuse_advice(task);
		return;
	}
	task->regs.rdx = n;
	task->regs.r10 = MADV_DONTNEED;
	task->supervised->frees_at_once = !tracee_set_regs(task->host_tid, &task->regs);
}

void lazy_free_entered(struct task *task)
{
	if (syscall_is(&task->syscall, SYS_madvise))
		free_range(task);
	else if (syscall_is(&task->syscall, SYS_process_madvise))
		free_vectors(task);
}

void lazy_free_left(struct task *task)
{
	if (!task->supervised->frees_at_once)
		return;
	task->supervised->frees_at_once = false;
	task->regs.rdx = task->syscall.args[2];
	if (syscall_is(&task->syscall, SYS_process_madvise))
		task->regs.r10 = task->syscall.args[3];
	tracee_set_regs(task->host_tid, &task->regs);
}
