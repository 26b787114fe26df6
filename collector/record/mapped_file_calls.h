/* SPDX-License-Identifier: MIT */
/* Files that the caller of a system call has mapped: calls that change one, and pages of one that
 * are mapped twice. What it has mapped privately, and has not written to, follows the file: so a
 * call that changes that changes memory. Used by the log alone. */
#ifndef BT_MAPPED_FILE_CALLS_H
#define BT_MAPPED_FILE_CALLS_H

#include "collector/space/mappings.h"
#include "collector/tracee/tracee.h"

/* Whether the call, at whose entry tid stands, may change a file of which there is a mapping in
 * maps. A file that is named by its path is taken for mapped; one named by its descriptor is
 * compared by its inode's number alone, as some file systems tell another device in
 * /proc/PID/maps than stat(2) does. */
bool call_changes_mapped_file(pid_t tid, const struct tracee_syscall *call,
			      const struct mapping_list *maps);

/* What tid has mapped at addr may be pages of a file, or of shared memory, that it has at another
 * address, too: what it writes to the one is then at the other. In a replay it would not be. Also
 * true without memory. */
bool pages_are_mapped_twice(pid_t tid, uint64_t addr);

#endif
