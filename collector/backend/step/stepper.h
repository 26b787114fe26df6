/* SPDX-License-Identifier: MIT */
/* The stepper for other backends, beside its operations: they hand it the instructions that they do
 * not run themselves. Used by the engine, and by native code under the pmu backend. The task is
 * stopped in all of these calls, with its application registers in task->regs. */
#ifndef BT_STEPPER_H
#define BT_STEPPER_H

#include <signal.h>

#include "collector/backend/backend.h"

/* The operation stop_at: the stepper looks behind each instruction, so it is exact, as far as who
 * uses it steps where the task is near (stop_point_ticks_ahead). */
enum backend_reach stepper_stop_at(struct backend *b, struct task *task,
				   const struct stop_point *point);

/* To be called before user code runs that will trap: unblocks SIGTRAP (and SIGSEGV, where pages are
 * watched) where the program blocks it, until the stepper is next at a system call or a delivery
 * (hidden_signals.h). Returns 0; nonzero when the stepper must be resumed instead, because a signal
 * comes first or the task is gone. */
int stepper_hide_trap(struct task *task);

/* A signal that is none of ours has come. True: it is a SIGTRAP or SIGSEGV that was sent while the
 * program blocks it, and is kept for later; the task is to be resumed without it. May change *info
 * to the one that was sent first, of which the kernel does not know. sent: whatever it looks like,
 * no instruction has raised it. */
bool stepper_keep_trap(struct task *task, siginfo_t *info, bool sent);

/* The stopped task goes on in the midst of what the backend had begun (mid_run): others of its
 * process come first to what waits for them all. Returns 0 or -BT_E_GONE. */
int stepper_go_on(struct task *task);

/* A SIGTRAP that was sent has come where nobody could be told of it: it will come again. */
void stepper_post_trap(struct task *task, const siginfo_t *info);

/* Whether the program blocks SIGSEGV and the kernel does not know. */
bool stepper_hides_fault(const struct task *task);

/* Whether the kernel has SIGSEGV or SIGBUS blocked, as the program has it: an instruction that
 * faults ends the process then. As of when the task last was to run user code; the mask has not
 * been looked at since. */
bool stepper_blocks_faults(const struct task *task);

/* Whether the kernel has another mask of the task's signals than the program made, or another
 * disposition of SIGTRAP. */
bool stepper_hides_signals(const struct task *task);

/* Tells the pace of the task's timers (timer_pace.h) of a stop that stopped() has returned. The
 * stepper notes its own stops. */
void stepper_note_stop(struct task *task, enum backend_stop stop, const siginfo_t *info);

/* At task->due, of a running task: whether it has run as long as it was to before the next signal
 * of its timers, or sleeps all the same (a page fault that is served by a process). Else task->due
 * is the time to ask again. */
bool stepper_pace_is_over(struct task *task);

/* Of a stopped task: if that is so, or at once, such signals come again. Returns 0 or -BT_E_GONE.
 */
int stepper_end_pace(struct task *task, bool at_once);

/* Lets a signal come that waits for the task before its next instruction. Returns 0 or -BT_E_GONE.
 */
int stepper_take_signal(struct backend *b, struct task *task);

/* The instruction at task->regs.rip has faulted while stepper_hides_fault(): executes it again so
 * that the kernel does what it does to a fault whose signal is blocked. Returns 0 or -BT_E_GONE. */
int stepper_fault_again(struct task *task);

/* The running task is to give BACKEND_SLICE behind the instruction that it executes. */
void stepper_stop_behind(struct task *task);

/* Interrupts the running task if it may be waiting in a call that no stop tells of
 * (task.in_unseen_call): it gives BACKEND_SLICE, before that call. */
void stepper_interrupt_call(const struct task *task);

/* As if one step had been begun when another stop of the task came, which is still to be waited
 * for. task->regs are set in the task. */
void stepper_prepare(struct task *task);

#endif
