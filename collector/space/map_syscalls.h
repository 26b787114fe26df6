/* SPDX-License-Identifier: MIT */
/* Which mappings a system call changes: by its row (syscalls/syscall_writes.def), where there is
 * not more known. Used by the supervisor, by --from, and by the engine for calls in the cache. No
 * state but its notes in the space. It may name too much, never too little.
 */
#ifndef BT_MAP_SYSCALLS_H
#define BT_MAP_SYSCALLS_H

#include "collector/space/address_space.h"
#include "collector/tracee/tracee.h"

/* Whether a call of s's that gave `result` may have changed mappings, and where. Notes in s the
 * facts by which later calls are judged. */
bool map_syscall_changes(struct address_space *s, const struct tracee_syscall *call,
			 uint64_t result, struct map_change *out);

/* Whether such a call may change the right to look at the process's memory (credentials(7),
 * PR_SET_DUMPABLE). */
bool map_syscall_changes_rights(const struct tracee_syscall *call);

/* Whether the call makes a fork's child get some memory empty, or not at all (madvise(2)). */
bool map_syscall_leaves_out(const struct tracee_syscall *call);

#endif
