/* SPDX-License-Identifier: MIT */
/* Facts about a process's descriptors, in a table in the engine's region (layout.h), by which the
 * cache's code decides whether a call on them needs a stop: their calls return at once, may wait,
 * or are made at stops. Descriptors whose numbers have the same lower bits share a row: which of
 * them was used last is known. That code asks the kernel whether a descriptor of which nothing is
 * known is open at all.
 *
 * An entry says that the descriptor is open, is such a file, and that nobody is about to close it.
 * The tracer enters it while the task that used the descriptor has its unit's turn, or (--parallel)
 * while closes of the space are made at stops and none is under way: nobody closes it meanwhile. A
 * close in the cache or at a stop takes it out before the call is made. A space has one table, a
 * process with other descriptors in the same space (vfork, clone) uses none. Used by the engine at
 * each system call that it sees. An entry that is missing costs a stop; a wrong one could let a
 * task wait in the cache while others wait for the turn. */
#ifndef BT_DESCRIPTORS_H
#define BT_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/backend/engine/cache/layout.h"
#include "collector/backend/engine/cache/window.h"
#include "collector/space/mappings.h"
#include "collector/tracee/tracee.h"

/* The table's entry for files of a mounted file system. */
struct mount_kind {
	uint64_t id;
	uint32_t major, minor; /* of its files */
	uint8_t kind;
};

enum {
	MOUNT_KINDS = 16,
};

/* Of one space; zeroed: nothing known. */
struct descriptors {
	bool shared; /* others may close them unseen (another process, io_uring, 32-bit calls): no
			table, for good */
	bool split;  /* tasks of the space may have different ones */
	bool stale;  /* the table in the region is of another process (fork): it is to be emptied */
	unsigned closing; /* calls under way that close some */
	struct mount_kind mounts[MOUNT_KINDS];
	unsigned mount_next;
};

/* Of one task; zeroed: nothing. */
struct descriptors_task {
	bool closing;
	bool learns, fresh; /* fresh: it has just been opened */
	uint32_t learn;     /* to look at when the task has its turn again */
};

/* Where a log is kept: files that have kinds of their own, and those whose calls are made at stops:
 */
struct files_apart {
	const struct output_file *outputs;   /* the files given as 1 and 2 at the start */
	const struct mapping_list *mappings; /* a write to a file of these changes memory */
};

/* The task is at the entry of a system call, at its exit with this result. tasks: how many share
 * the space. */
void descriptors_entered(struct descriptors *d, struct descriptors_task *dt, const struct window *w,
			 pid_t tid, const struct tracee_syscall *call, unsigned tasks);
void descriptors_left(struct descriptors *d, struct descriptors_task *dt, const struct window *w,
		      pid_t tid, const struct tracee_syscall *call, uint64_t result);

/* The task ran unseen until now (--from), as did others of the space, of which `first` is one:
 * whether some may be closed by others, as far as that can be seen. */
void descriptors_adopted(struct descriptors *d, pid_t first, pid_t tid);

/* The task has the turn and is about to run in the cache: brings the table up to date. Whether it
 * may be used. apart: NULL: there are none. */
bool descriptors_ready(struct descriptors *d, struct descriptors_task *dt, const struct window *w,
		       pid_t tid, unsigned tasks, const struct files_apart *apart);

/* st_dev of files of a local file system, as far as one was seen: calls of what lies there return
 * at once. 0: none. */
uint64_t descriptors_device(const struct descriptors *d);

/* Whether a descriptor of the task is a file of procfs, or may be, as nobody knows what is mounted
 * there. Asks the kernel, no file system. */
bool descriptors_is_proc(pid_t tid, uint32_t fd);

/* Whether it may be one by what is known: often it is not known. Asks nobody. */
bool descriptors_may_be_proc(const struct descriptors *d, const struct window *w, pid_t tid,
			     uint32_t fd);

/* The task is gone. */
void descriptors_forget_task(struct descriptors *d, struct descriptors_task *dt);

/* To the copy of a space that a fork's child gets. */
void descriptors_forked(struct descriptors *d);

#endif
