/* SPDX-License-Identifier: MIT */
#include "collector/task/memory_lock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "collector/task/syscall_filter.h"
#include "collector/task/task.h"
#include "collector/tracee/tracee.h"
#include "lib/grow.h"
#include "lib/page.h"

struct locked_piece {
	uint64_t start, size;
};

/* The kernel compares the size of the whole address space with the limit. */
static bool would_fit(const struct task *task, const struct limits_share *share)
{
	unsigned long long pages = 0;
	struct rlimit limit;
	FILE *f = tracee_open_file(task->host_tid, "statm");
	bool known = f && fscanf(f, "%llu", &pages) == 1;

	if (f)
		fclose(f);
	return known && limits_get(task->process->host_pid, RLIMIT_MEMLOCK, &limit) &&
	       pages - share->bytes[LIMITED_AS] / BT_PAGE <= limit.rlim_cur / BT_PAGE;
}

/* All mappings but the backend's memory: an array to be freed, NULL without memory. */
static struct locked_piece *read_pieces(pid_t tid, const struct limits_share *share, size_t *count)
{
	uint64_t end = share->start + share->bytes[LIMITED_AS];
	unsigned long long from, to;
	struct locked_piece *pieces = NULL, *grown;
	size_t n = 0, cap = 0, line_cap = 0;
	char *line = NULL;
	FILE *f = tracee_open_file(tid, "maps");

	while (f && getline(&line, &line_cap, f) > 0) {
		if (sscanf(line, "%llx-%llx", &from, &to) != 2 ||
		    (from >= share->start && from < end))
			continue;
		grown = array_grow(pieces, n, &cap, sizeof *pieces);
		if (!grown)
			break;
		pieces = grown;
		pieces[n++] = (struct locked_piece){from, to - from};
	}
	if (f)
		fclose(f);
	free(line);
	*count = n;
	return pieces;
}

static void inject_call(struct task *task, long nr, uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t args[6] = {a, b, c};

	(void)tracee_syscall_again(task->host_tid, &task->regs, nr, args);
}

/* Makes an mlockall that failed for want of room, mapping by mapping. As in mlockall, a mapping
 * that cannot be locked or read is no error. */
static bool lock_pieces(struct task *task, const struct limits_share *share, unsigned flags)
{
	size_t count;
	struct locked_piece *pieces = read_pieces(task->host_tid, share, &count);

	if (!pieces)
		return false;
	inject_call(task, SYS_munlockall, 0, 0, 0); /* future mappings, too */
	for (size_t i = 0; i < count; i++)
		inject_call(task, SYS_mlock2, pieces[i].start, pieces[i].size,
			    flags & MCL_ONFAULT ? MLOCK_ONFAULT : 0);
	if (flags & MCL_FUTURE)
		inject_call(task, SYS_mlockall, flags & ~(unsigned)MCL_CURRENT, 0, 0);
	free(pieces);
	task->regs.rax = 0;
	return true;
}

void memory_lock_syscall_left(struct task *task)
{
	const struct limits_share *share = task->process->limits.share;
	unsigned flags = (unsigned)task->syscall.args[0];
	int64_t result = (int64_t)task->regs.rax;
	uint64_t mask;

	if (task->syscall.nr != SYS_mlockall || task->syscall.compat || !(flags & MCL_CURRENT) ||
	    !share)
		return;
	if (result && (result != -ENOMEM || !would_fit(task, share)))
		return;
	/* A filter of the program may kill it for a call that we inject. */
	if (syscall_filter_may_refuse(task) || tracee_get_mask(task->host_tid, &mask) ||
	    tracee_set_mask(task->host_tid, UINT64_MAX))
		return;
	if (!result)
		inject_call(task, SYS_munlock, share->start, share->bytes[LIMITED_AS], 0);
	else if (lock_pieces(task, share, flags))
		(void)!tracee_set_regs(task->host_tid, &task->regs);
	(void)!tracee_set_mask(task->host_tid, mask);
}
