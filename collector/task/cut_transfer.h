/* SPDX-License-Identifier: MIT */
/* QUIRK(short-transfer): calls that give what they have moved so far when a signal wakes them.
 * Under ptrace that is also one which the program ignores (the kernel drops those when they are
 * sent, but not to who is traced), and a stop of ours: natively such a call would go on. It is made
 * again for what is left, and what the program gets is the sum. */
#ifndef BT_CUT_TRANSFER_H
#define BT_CUT_TRANSFER_H

#include <stdbool.h>

struct task;

/* Whether the call that task->regs stand behind is one of these, and gave less than was asked for.
 */
bool cut_transfer_is_short(const struct task *task);

/* The same at less cost, and without looking at what its descriptor is of: often wrong where it is
 * true. */
bool cut_transfer_may_be_short(const struct task *task);

/* Changes task->regs, of a task that stands behind such a call, or behind one made again that gave
 * -EINTR, so that it is made once more for the rest: by the kernel, as those are that no handler
 * has interrupted; or (rewinds) by the instruction, at which it stands then. Writes nothing to the
 * task. */
void cut_transfer_again(struct task *task, bool rewinds);

/* The same of any call that gave -EINTR (QUIRK(interrupt-eintr)) or less than all: it is made again
 * by the kernel. */
void cut_syscall_again(struct task *task);

/* The call is begun again. */
void cut_transfer_begun(struct task *task);

/* The call that was made again has been left with the result in task->regs, or is not to be made
 * again, as the program has got a signal: sets result and arguments of the whole, in the task, too.
 * Nothing to do for others. */
void cut_transfer_end(struct task *task);

#endif
