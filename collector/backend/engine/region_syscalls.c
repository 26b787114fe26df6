/* SPDX-License-Identifier: MIT */
#include "collector/backend/engine/region_syscalls.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "collector/tracee/tracee.h"
#include "lib/call_result.h"

enum {
	ADVICE_DONTNEED_LOCKED = 24, /* Linux 5.18 */
	ADVICE_GUARD_INSTALL = 102,  /* Linux 6.13 */
	IOVECS_MAX = 1024,           /* UIO_MAXIOV */
};

enum harm {
	HARM_NONE,
	HARM_TORN,  /* parts of it may be gone, or have another protection */
	HARM_TAKEN, /* the program has something there */
};

static bool ranges_overlap(uint64_t end, uint64_t start, uint64_t n)
{
	return start < end && (start + n < start || start + n > region_address(0));
}

static bool is_destructive(int advice)
{
	switch (advice) {
	case MADV_DONTNEED:
	case MADV_FREE:
	case MADV_REMOVE:
	case MADV_DONTFORK:
	case MADV_WIPEONFORK:
	case ADVICE_DONTNEED_LOCKED:
	case ADVICE_GUARD_INSTALL:
		return true;
	default:
		return false;
	}
}

static bool any_hits(pid_t tid, uint64_t end, uint64_t iovecs, uint64_t count)
{
	uint64_t v[2];

	for (uint64_t i = 0; i < count && i < IOVECS_MAX; i++)
		if (tracee_read(tid, iovecs + i * sizeof v, v, sizeof v) == sizeof v &&
		    ranges_overlap(end, v[0], v[1]))
			return true;
	return false;
}

/* The size of the segment that shmat(2) is given; `unknown` for a segment of another IPC namespace.
 */
static uint64_t segment_size(const struct task *task, uint64_t unknown)
{
	struct stat there, here;
	struct shmid_ds segment;
	char path[32];

	snprintf(path, sizeof path, "/proc/%d/ns/ipc", (int)task->host_tid);
	if (stat(path, &there) || stat("/proc/self/ns/ipc", &here) || there.st_ino != here.st_ino ||
	    shmctl((int)task->syscall.args[0], IPC_STAT, &segment))
		return unknown;
	return segment.shm_segsz;
}

/* The harm that the call does if it succeeds. One that fails may have done a part of it. */
static enum harm harm_of(const struct task *task, uint64_t end)
{
	const struct tracee_syscall *c = &task->syscall;
	const uint64_t *args = c->args;

	if (c->compat) /* its addresses are below */
		return HARM_NONE;
	switch (c->nr) {
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_pkey_mprotect:
	case SYS_remap_file_pages:
		return ranges_overlap(end, args[0], args[1]) ? HARM_TORN : HARM_NONE;
	case SYS_madvise:
		return ranges_overlap(end, args[0], args[1]) && is_destructive((int)args[2])
			       ? HARM_TORN
			       : HARM_NONE;
	case SYS_process_madvise: /* of itself, since Linux 6.13 */
		return is_destructive((int)args[3]) &&
				       any_hits(task->host_tid, end, args[1], args[2])
			       ? HARM_TORN
			       : HARM_NONE;
	case SYS_mmap:
		return args[3] & MAP_FIXED && ranges_overlap(end, args[0], args[1]) ? HARM_TAKEN
										    : HARM_NONE;
	case SYS_mremap:
		if (args[3] & MREMAP_FIXED && ranges_overlap(end, args[4], args[2]))
			return HARM_TAKEN;
		return ranges_overlap(end, args[0], args[1]) ? HARM_TORN : HARM_NONE;
	case SYS_shmat:
		return args[2] & SHM_REMAP && args[1] &&
				       ranges_overlap(end, args[1],
						      segment_size(task, end - region_address(0)))
			       ? HARM_TAKEN
			       : HARM_NONE;
	default:
		return HARM_NONE;
	}
}

/* NULL: the process has no region that a call may harm. */
static struct engine_space *mapped_space(const struct task *task)
{
	struct engine_space *es = engine_space_made(task);

	return es && es->mapped && !es->refused ? es : NULL;
}

/* The end of the region, with the data areas of tasks that run side by side. */
static uint64_t region_end(const struct task *task)
{
	const struct engine_space *es = mapped_space(task);

	return es && es->parallel ? area_address(AREAS) : region_address(REGION_SIZE);
}

bool region_before_syscall(struct task *task)
{
	struct engine_space *es = mapped_space(task);
	struct engine_task *et = task->backend;

	if (es && !et->harms && harm_of(task, region_end(task)) != HARM_NONE) {
		et->harms = true;
		es->harming++;
	}
	return et->harms;
}

/* From here on the tracer neither reads nor writes the region's window. */
static void forget_region(struct engine_space *es)
{
	window_close(&es->window);
	es->window = (struct window){.inherited = true};
}

void region_after_syscall(const struct backend *b, struct task *task)
{
	struct engine_space *es = mapped_space(task);
	enum harm harm = es ? harm_of(task, region_end(task)) : HARM_NONE;

	if (harm == HARM_TAKEN && !call_has_failed(task->regs.rax)) {
		es->refused = true;
		forget_region(es);
		engine_refuse(b, task, REFUSED_TAKEN);
	} else if (harm != HARM_NONE) {
		es->torn = true;
		es->quiesce = es->parallel;
	}
}

bool region_begin_anew(const struct backend *b, struct engine_space *es, const struct task *task)
{
	struct code_cache *fresh;

	if (engine_space_is_busy(es, task))
		return false;
	fresh = code_cache_new(&b->processor, b->parallel, b->logged);
	if (!fresh)
		return false;
	cache_learn(task, es);
	fresh->clears = es->cache->clears + 1; /* the marks of its fragments are others' */
	code_cache_put(es->cache);
	es->cache = fresh;
	es->leaves = es->torn = false;
	es->lost_count = 0;
	forget_region(es);
	return true;
}
