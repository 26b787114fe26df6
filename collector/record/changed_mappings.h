/* SPDX-License-Identifier: MIT */
/* What a call did to mappings, where its arguments and its result do not tell: one that failed may
 * have been done in part, and advice changes what pages of any kind hold. The mappings themselves
 * are read behind such a call. Used by the replay log. */
#ifndef BT_CHANGED_MAPPINGS_H
#define BT_CHANGED_MAPPINGS_H

#include "collector/record/log_shapes.h"

/* Whether what such a call does to mappings is always found by looking at them. */
bool changed_mappings_knows(const struct tracee_syscall *call);

/* Calls changed() for each stretch that the call may have changed, as it is now, by address; for
 * none, where its arguments and its result tell all (log_shapes.h). tid has made no other call that
 * changes mappings since then. False: the mappings cannot be read. */
bool changed_mappings_look(pid_t tid, const struct tracee_syscall *call, uint64_t result,
			   void (*changed)(void *arg, pid_t tid, const struct log_shape *shape),
			   void *arg);

#endif
