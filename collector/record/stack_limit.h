/* SPDX-License-Identifier: MIT */
/* How large a task's stack may become (RLIMIT_STACK, the soft limit), as the log has it: a replay's
 * stack is used up where the program's was. Zeroed: the log does not tell. Used by the replay log.
 */
#ifndef BT_STACK_LIMIT_H
#define BT_STACK_LIMIT_H

#include <stdint.h>
#include <sys/types.h>

#include "collector/record/log_sink.h"
#include "collector/space/mappings.h"
#include "collector/tracee/tracee.h"

struct stack_limit {
	uint64_t told; /* in bytes; 0: the log does not tell */
};

/* The limit of the task's process, for the shape of its stack (LOG_SHAPE.from); 0: it cannot be
 * read. The log has it from now on. */
uint64_t stack_limit_tell(struct stack_limit *l, pid_t tid);

/* The task has come back from the call. Logs the limit where the call may have set it, and it is
 * another than the log has, whoever has changed it. */
void stack_limit_call(struct stack_limit *l, pid_t tid, const struct tracee_syscall *call,
		      const struct log_sink *sink);

/* Whether addr, at which nothing is mapped, lies where the stack could grow to by the limit that
 * the log has. all: the mappings of the task. */
bool stack_limit_reaches(const struct stack_limit *l, const struct mapping_list *all,
			 uint64_t addr);

#endif
