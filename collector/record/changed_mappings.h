/* SPDX-License-Identifier: MIT */
/* Changes of mappings that a call's arguments and result do not tell: a call that failed may have
 * been done in part, and advice changes the contents of pages of any kind. The mappings themselves
 * are read behind such a call. Used by the replay log. */
#ifndef BT_CHANGED_MAPPINGS_H
#define BT_CHANGED_MAPPINGS_H

#include "collector/record/log_shapes.h"

struct map_part {
	uint64_t start, length;
};

/* Whether the call's changes of mappings are always found by reading the mappings. */
bool changed_mappings_knows(const struct tracee_syscall *call);

/* Calls changed() for each stretch that the call may have changed, as it is now, by address; for
 * none, where its arguments and its result tell all (log_shapes.h). tid has made no other call that
 * changes mappings since then. some_grow: it may have mappings that grow downward beside its stack.
 * False: the mappings cannot be read. */
bool changed_mappings_look(pid_t tid, const struct tracee_syscall *call, uint64_t result,
			   bool some_grow,
			   void (*changed)(void *arg, pid_t tid, const struct log_shape *shape),
			   void *arg);

/* At the entry of a shmdt(2): where the segment's mappings lie that it removes, with what else lies
 * between them. They may be many, or begin elsewhere than it says, since parts of them were
 * protected or unmapped. Length 0: it removes none, or is another call. */
struct map_part changed_mappings_detach(pid_t tid, const struct tracee_syscall *call);

/* Calls changed() for what is mapped there now, and for what is not, by address. False: the
 * mappings cannot be read. */
bool changed_mappings_tell(pid_t tid, const struct map_part *part,
			   void (*changed)(void *arg, pid_t tid, const struct log_shape *shape),
			   void *arg);

#endif
