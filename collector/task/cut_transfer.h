/* SPDX-License-Identifier: MIT */
/* QUIRK(short-transfer): calls that return the bytes moved so far when a signal wakes them. Under
 * ptrace a stop of ours wakes them, too, and so does a signal that the program ignores: the kernel
 * drops ignored signals at once, but not for a tracee. Natively such a call would go on. So it is
 * made again for the rest, and the program gets the sum. Used by the engine and the supervisor. The
 * state is task->transfer. */
#ifndef BT_CUT_TRANSFER_H
#define BT_CUT_TRANSFER_H

#include <stdbool.h>

struct task;

/* Whether the call behind which task->regs stand is such a transfer, and moved less than asked for.
 */
bool cut_transfer_is_short(const struct task *task);

/* The same at less cost, without a look at the kind of its descriptor: true is often wrong. */
bool cut_transfer_may_be_short(const struct task *task);

/* Changes task->regs so that the call is made once more for the rest. The task stands behind a
 * short transfer, or behind one made again that gave -EINTR. The kernel restarts the call, as after
 * a signal without a handler; or (rewinds) rip goes back to the instruction. Writes nothing to the
 * task. */
void cut_transfer_again(struct task *task, bool rewinds);

/* The same for any call that gave -EINTR (QUIRK(interrupt-eintr)) or a short transfer. The kernel
 * restarts it. */
void cut_syscall_again(struct task *task);

/* The rewound call has been entered again. */
void cut_transfer_begun(struct task *task);

/* The repeated call has returned with its result in task->regs, or it is not repeated because the
 * program has got a signal. Sets result and arguments of the whole call, in the thread, too. Does
 * nothing for other calls. */
void cut_transfer_end(struct task *task);

#endif
