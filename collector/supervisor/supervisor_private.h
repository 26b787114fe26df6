/* SPDX-License-Identifier: MIT */
/* What the parts of the recorder share: supervisor_queue, supervisor_turns, supervisor_tasks,
 * supervisor_syscalls, supervisor_signals, supervisor_from. The main loop and the dispatch table
 * are in recorder.c; nobody else includes this. */
#ifndef BT_SUPERVISOR_PRIVATE_H
#define BT_SUPERVISOR_PRIVATE_H

#include "collector/supervisor/supervisor.h"

/* ---- supervisor_queue.c ---- */

/* Takes every status that is ready, or of many tasks those of which SIGCHLD tells, which the caller
 * blocks, and now and then the rest: so no task is served twice before another is served once, or
 * (many) not often (waitpid prefers the first of its list). Then gives the oldest. False when no
 * child is left. */
bool supervisor_next_event(struct supervisor *sup, struct wait_event *ev);

/* The type of the oldest queued event of tid; WAIT_TYPES: there is none. */
enum wait_type supervisor_event_type(const struct supervisor *sup, pid_t tid);

/* Its signal, where that is one; else 0. */
int supervisor_event_signal(const struct supervisor *sup, pid_t tid);

/* Whether that is one of PTRACE_EVENT_*, and the task is still at it (wait_event_holds). */
bool supervisor_event_holds(const struct supervisor *sup, pid_t tid);

/* Takes that event out. */
void supervisor_drop_event(struct supervisor *sup, pid_t tid);

/* Takes the oldest queued event of tid out of the queue if it is a stop of this type and signal. */
bool supervisor_take_event(struct supervisor *sup, pid_t tid, enum wait_type type, int signo,
			   struct wait_event *ev);

/* ---- supervisor_turns.c ---- */

/* Lets a stopped task run with its pending signal, whoever's turn it is: under the backend, or
 * natively before --from. */
void supervisor_resume_task(struct supervisor *sup, struct task *task);

/* The backend has said that the task is gone: its last status follows. But where the kernel has
 * refused something else that was asked of it, the task would stand still for ever: it has parts of
 * the backend's state and of the program's, and is killed. The trace says so. */
void supervisor_look_after(struct supervisor *sup, const struct task *task);

/* The task is at the entry of a system call, which is made now, or when the backend lets it be
 * (company). What the kernel does is nobody's turn. */
void supervisor_make_syscall(struct supervisor *sup, struct task *task);

/* The task is stopped and can go on when it is its turn. */
void supervisor_make_ready(struct supervisor *sup, struct task *task);

/* Ends the turns of tasks that others of their unit wait behind, whether there are any. To be
 * called at each tick. */
bool supervisor_preempt(struct supervisor *sup);

/* Somebody waits for a turn: from now on ticks come every SUPERVISOR_SLICE_MS, until nobody has
 * waited for a while. */
void supervisor_hurry(struct supervisor *sup);

/* The task will not use its turn: another of its unit gets it. */
void supervisor_give_up_turn(struct supervisor *sup, struct task *task);

/* ---- supervisor_tasks.c ---- */

void supervisor_on_new_task(struct supervisor *sup, struct task *task, const struct wait_event *ev);
void supervisor_on_exec(struct supervisor *sup, struct task *task, const struct wait_event *ev);
void supervisor_on_exiting(struct supervisor *sup, struct task *task, const struct wait_event *ev);
void supervisor_on_gone(struct supervisor *sup, struct task *task, const struct wait_event *ev);
void supervisor_on_group_stop(struct supervisor *sup, struct task *task,
			      const struct wait_event *ev);
void supervisor_on_interrupt(struct supervisor *sup, struct task *task,
			     const struct wait_event *ev);

/* Frees a task of which nothing more will be heard. */
void supervisor_forget(struct supervisor *sup, struct task *task);

/* Lets a task run on unrecorded for good, and frees it. The reason goes to the trace. */
void supervisor_detach(struct supervisor *sup, struct task *task, const char *reason);

/* The initial process has ended, recorded to its end or detached before. */
void supervisor_note_outcome(struct supervisor *sup, const struct wait_event *ev);

/* The front need not wait for those that the initial process leaves behind. */
void supervisor_release_front(struct supervisor *sup);

/* ---- supervisor_history.c ---- */

/* The task's history may have grown or shrunk. Where those of all use more memory than they may,
 * some are shortened. */
void supervisor_count_history(struct supervisor *sup, struct task *task);

/* The same of all: what has grown without a stop of its own. To be called every now and then. */
void supervisor_count_histories(struct supervisor *sup);

/* The task is gone. */
void supervisor_discount_history(struct supervisor *sup, const struct task *task);

/* ---- supervisor_syscalls.c ---- */

/* May free the task (a program that gains privileges is detached). */
void supervisor_syscall_entered(struct supervisor *sup, struct task *task);
void supervisor_syscall_left(struct supervisor *sup, struct task *task);

/* The task is at the entry of a system call (task->syscall, task->regs). A program that gains
 * privileges at its execve would lose them under a tracer: it is detached before, and freed. True
 * when it was. */
bool supervisor_detach_before_exec(struct supervisor *sup, struct task *task);

/* What ended the task's last system call, if anything did, is nothing that the program will notice:
 * where that was made without a stop and gave EINTR, it is made again. */
void supervisor_syscall_again(const struct supervisor *sup, struct task *task);

/* The task is at a stop: what calls that were made without one have changed of its mappings goes
 * into the trace. */
void supervisor_follow_mappings(struct supervisor *sup, struct task *task);

/* ---- supervisor_signals.c ---- */

/* A signal waits to be delivered to a stopped task: records it, keeps the moment, and lets it be
 * delivered at the task's turn. */
void supervisor_signal_arrived(struct supervisor *sup, struct task *task, const siginfo_t *info);

/* Whether a signal waits to be delivered that the program will notice; *any: whether one waits at
 * all. */
bool supervisor_signal_waits(const struct task *task, bool *any);

/* The task has stopped for a signal, which its backend may keep for a while: the kernel may have
 * woken others of its process, too. */
void supervisor_note_signal(struct task *task, int signo);

/* Whether the program would not notice it. */
bool supervisor_is_ignored(const struct task *task, const siginfo_t *info);

/* The task is at the first instruction of a signal handler. */
void supervisor_handler_entered(struct supervisor *sup, struct task *task);

/* ---- supervisor_files.c ---- */

/* Files that code is mapped from and that have been written to since the last look get a note, and
 * are to be read again: of the task's process now; of all each second, to be called at each tick.
 */
void supervisor_look_at_files_of(struct supervisor *sup, struct task *task);
void supervisor_look_at_files(struct supervisor *sup);

/* The task has stopped: code that is to be read again is forgotten. With --parallel only when no
 * other of its unit runs. */
void supervisor_reread_files(struct supervisor *sup, const struct task *task);

/* ---- supervisor_from.c ---- */

/* Looks for the place of --from in the task's program and sets the breakpoint there. */
void supervisor_from_arm(struct supervisor *sup, struct task *task);

/* The START record of a task that ran natively until now, if it is due. Its registers have been
 * read. */
void supervisor_write_start(struct supervisor *sup, struct task *task);

/* A system call of a task that runs natively while the place is looked for: libraries come by mmap.
 */
void supervisor_on_native_syscall(struct supervisor *sup, struct task *task);

/* A signal, or the breakpoint of --from. */
void supervisor_on_native_signal(struct supervisor *sup, struct task *task,
				 const struct wait_event *ev);

/* Whether the SIGTRAP of --from's breakpoint is still to come to a task that has been interrupted
 * (its registers have been read). */
bool supervisor_from_trap_waits(const struct task *task);

/* A task stops for a system call, or for a signal, after another one has reached --from, and before
 * it was interrupted for that. */
void supervisor_on_first_syscall(struct supervisor *sup, struct task *task);

/* Such a task, which has stopped for something else, goes on to be interrupted. */
void supervisor_interrupt_again(const struct task *task);
void supervisor_on_first_signal(struct supervisor *sup, struct task *task,
				const struct wait_event *ev);

/* ---- recorder.c ---- */

/* Hands a stop to the backend and acts on what it means. */
void supervisor_on_backend_stop(struct supervisor *sup, struct task *task,
				const struct wait_event *ev);

/* Takes a snapshot for somebody outside, and counts it. */
void supervisor_keep_requested(struct supervisor *sup, struct task *task);

/* Takes the snapshot that was asked for while the task was running. It is stopped, and registers
 * and history agree. */
void supervisor_serve_snapshot(struct supervisor *sup, struct task *task);

/* Takes the snapshots that are wanted where the task is now, stopped between two instructions. */
void supervisor_serve_stop_points(struct supervisor *sup, struct task *task);

/* Does what is due at the caller's timer, if it has ticked. */
void supervisor_serve_tick(struct supervisor *sup);

#endif
