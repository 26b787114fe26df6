/* SPDX-License-Identifier: MIT */
/* Files that the caller of a system call has mapped: calls that change one, and so memory, and
 * pages of one that are mapped twice. A shared mapping shows the file; a private one follows it in
 * pages that the program has not written to. Used by the log alone. */
#ifndef BT_MAPPED_FILE_CALLS_H
#define BT_MAPPED_FILE_CALLS_H

#include "collector/space/mappings.h"
#include "collector/tracee/tracee.h"

enum mapped_file_change {
	MAPPED_FILE_NOBODY_KNOWS, /* it is no call that is known here */
	MAPPED_FILE_SAME,         /* it changes no file that is mapped */
	MAPPED_FILE_PART,         /* it changes a part of one; the part is known at its exit */
	MAPPED_FILE_ANY,          /* it may change any part of any */
};

struct mapped_file_call {
	enum mapped_file_change change;
	const struct mapped_file_row *row;
	uint64_t dev, ino, size; /* of the file, before the call; dev 0: any */
};

/* Predicts, at the call's entry by tid, which bytes in maps the call will change. A file that is
 * named by its path counts as any file. One named by its descriptor is compared by its inode's
 * number alone, as some file systems tell another device in /proc/PID/maps than stat(2) does. */
struct mapped_file_call mapped_file_call_enter(pid_t tid, const struct tracee_syscall *call,
					       const struct mapping_list *maps);

struct mapped_file_sink {
	/* These bytes of memory may be others now. */
	void (*changed)(void *arg, uint64_t addr, uint64_t n);
	/* The file ends before these pages: if it grows again they will be zero. */
	void (*cut)(void *arg, uint64_t start, uint64_t end);
	void *arg;
};

/* Behind a call of MAPPED_FILE_PART: tells what has changed in the mappings of tid's process. */
void mapped_file_call_exit(const struct mapped_file_call *c, pid_t tid,
			   const struct tracee_syscall *call, uint64_t result,
			   const struct mapped_file_sink *sink);

/* Whether pages of [start, end) may be those of a file, or of shared memory, that tid has mapped at
 * another address, too. A write at one address then changes the other, which it would not do in a
 * replay. Also true without memory. */
bool pages_are_mapped_twice(pid_t tid, uint64_t start, uint64_t end);

#endif
