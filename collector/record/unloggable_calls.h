/* SPDX-License-Identifier: MIT */
/* System calls that leave memory, or segments, of which a log could not say what the program finds
 * there from then on. Used by the replay log, which ends behind them. */
#ifndef BT_UNLOGGABLE_CALLS_H
#define BT_UNLOGGABLE_CALLS_H

#include "collector/task/task.h"

/* Why the log ends behind the call, which has this result; NULL: it goes on. */
const char *unloggable_call(const struct task *task, const struct tracee_syscall *call,
			    uint64_t result);

#endif
