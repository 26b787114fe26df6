/* SPDX-License-Identifier: MIT */
/* Whether the kernel can write all of the memory that a system call may write. Where it cannot, the
 * call may fail in the midst of a piece, and return what came before that: more is written than it
 * says. So it is with messages of sockets, and entries of folders. Used by the replay log. */
#ifndef BT_WRITABLE_RANGES_H
#define BT_WRITABLE_RANGES_H

#include "collector/record/guarded_pages.h"
#include "collector/space/mappings.h"
#include "syscalls/syscall_ranges.h"

/* Goes by the protection of the mappings in `all`, by the guards, and by which pages of files can
 * be read. */
bool ranges_are_writable(pid_t tid, const struct mapping_list *all,
			 const struct guarded_pages *guards, const struct syscall_ranges *s);

#endif
