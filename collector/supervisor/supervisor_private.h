/* SPDX-License-Identifier: MIT */
/* What the supervisor's parts call of each other, by the file that it is in. Nobody else includes
 * this. */
#ifndef BT_SUPERVISOR_PRIVATE_H
#define BT_SUPERVISOR_PRIVATE_H

#include "collector/supervisor/supervised.h"
#include "collector/supervisor/supervisor.h"

/* ---- supervisor.c ---- */

/* Hands a stop to the backend and acts on what it means. */
void supervisor_on_backend_stop(struct supervisor *sup, struct task *task,
				const struct wait_event *ev);

/* Tells the session of the stop points that the task is at or past. It is stopped between two
 * instructions. */
void supervisor_serve_stop_points(struct supervisor *sup, struct task *task);

/* Somebody waits for a turn: from now on ticks come every SUPERVISOR_SLICE_MS, until nobody has
 * waited for a while. */
void supervisor_hurry(struct supervisor *sup);

/* ---- scheduler.c ---- */

/* Lets a stopped task run with its pending signal, whoever's turn it is: under the backend, or
 * natively. */
void supervisor_resume_task(struct supervisor *sup, struct task *task);

/* The backend has said that the task is gone: its last status follows. But where the kernel has
 * refused something else that was asked of it, the task would stand still for ever: it has parts of
 * the backend's state and of the program's, and is killed. A note says so. */
void supervisor_look_after(struct supervisor *sup, const struct task *task);

/* The task is at the entry of a system call, which is made now, or when the backend lets it be
 * (company). What the kernel does is nobody's turn. */
void supervisor_make_syscall(struct supervisor *sup, struct task *task);

/* Resumes those of the unit that may run. */
void supervisor_schedule(struct supervisor *sup, struct unit *unit);

/* Ends the turns of tasks that others of their unit wait behind, whether there are any. To be
 * called at each tick. */
bool supervisor_preempt(struct supervisor *sup);

/* The task will not use its turn: another of its unit gets it. */
void supervisor_give_up_turn(struct supervisor *sup, struct task *task);

/* ---- tasks.c ---- */

void supervisor_on_new_task(struct supervisor *sup, struct task *task, const struct wait_event *ev);
void supervisor_on_exec(struct supervisor *sup, struct task *task, const struct wait_event *ev);
void supervisor_on_exiting(struct supervisor *sup, struct task *task, const struct wait_event *ev);
void supervisor_on_gone(struct supervisor *sup, struct task *task, const struct wait_event *ev);

/* Both events of a new task have come: it runs. */
void supervisor_start_new(struct supervisor *sup, struct task *child);

/* Frees a task of which nothing more will be heard. */
void supervisor_forget(struct supervisor *sup, struct task *task);

/* Takes the task out of its unit, if it is in one. */
void supervisor_leave_unit(struct task *task);

/* The initial process has ended, supervised to its end or detached before. */
void supervisor_note_outcome(struct supervisor *sup, const struct wait_event *ev);

/* The front need not wait for those that the initial process leaves behind. */
void supervisor_release_front(struct supervisor *sup);

/* ---- stops.c ---- */

void supervisor_on_group_stop(struct supervisor *sup, struct task *task,
			      const struct wait_event *ev);
void supervisor_on_interrupt(struct supervisor *sup, struct task *task,
			     const struct wait_event *ev);

/* The task runs on, or is gone: if its stop was the initial process's, that is over. */
void supervisor_stop_is_over(struct supervisor *sup, const struct task *task);

/* The session is told of the start of a task that was native until now, if that is due. False: it
 * was resumed, and stops again. */
bool supervisor_start_late(struct supervisor *sup, struct task *task);

/* ---- syscalls.c ---- */

/* May free the task (detach_before_exec). */
void supervisor_syscall_entered(struct supervisor *sup, struct task *task);
void supervisor_syscall_left(struct supervisor *sup, struct task *task);

/* What ended the task's last system call, if anything did, is nothing that the program will notice:
 * where that was made without a stop and gave EINTR, it is made again. */
void supervisor_syscall_again(const struct supervisor *sup, struct task *task);

/* The task is at a stop: what calls that were made without one have changed of its mappings is told
 * now. */
void supervisor_follow_mappings(struct supervisor *sup, struct task *task);

/* ---- signals.c ---- */

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

/* ---- written_files.c ---- */

/* supervisor_look_at_files_of() each process, each second. To be called at each tick. */
void supervisor_look_at_files(struct supervisor *sup);

/* The task has stopped: code that is to be read again is forgotten. With --parallel only when no
 * other of its unit runs. */
void supervisor_reread_files(struct supervisor *sup, const struct task *task);

#endif
