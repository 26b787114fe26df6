/* SPDX-License-Identifier: MIT */
/* Calls between the supervisor's parts, by the file that defines them. Included by these and by
 * their tests. */
#ifndef BT_SUPERVISOR_PRIVATE_H
#define BT_SUPERVISOR_PRIVATE_H

#include "collector/supervisor/supervised.h"
#include "collector/supervisor/supervisor.h"

/* ---- supervisor.c ---- */

/* Hands a stop to the backend and acts on what it means. */
void supervisor_on_backend_stop(struct supervisor *sup, struct task *task,
				const struct wait_event *ev);

/* Tells the session of the stop points that the task is at or past, and of the function at whose
 * entry it is. It is stopped between two instructions. */
void supervisor_serve_stop_points(struct supervisor *sup, struct task *task);

/* Somebody waits for a turn: from now on ticks come every SUPERVISOR_SLICE_MS, until nobody has
 * waited for a while. */
void supervisor_hurry(struct supervisor *sup);

/* ---- scheduler.c ---- */

/* Lets a stopped task run with its pending signal, under the backend or natively. Does not ask for
 * its turn. */
void supervisor_resume_task(struct supervisor *sup, struct task *task);

/* The backend has said that the task is gone: its last status follows. But if the task is still
 * stopped, the kernel has refused some other request. The task would then stand still for ever,
 * with parts of the backend's state and of the program's: it is killed, and a note says so. */
void supervisor_look_after(struct supervisor *sup, const struct task *task);

/* The task is at the entry of a system call. The call is made now, or when the scheduler lets it
 * be. A task in the kernel has no turn. */
void supervisor_make_syscall(struct supervisor *sup, struct task *task);

/* Resumes the tasks of the unit that may run. */
void supervisor_schedule(struct supervisor *sup, struct unit *unit);

/* Ends the turns of tasks behind which others of their unit wait. Returns whether any task waits.
 * To be called at each tick. */
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

/* Frees a task that will have no more events. */
void supervisor_forget(struct supervisor *sup, struct task *task);

/* Takes the task out of its unit, if it is in one. */
void supervisor_leave_unit(struct task *task);

/* The initial process has ended, supervised to its end or detached before. */
void supervisor_note_outcome(struct supervisor *sup, const struct wait_event *ev);

/* Lets the front end with the initial process, if tasks are left behind. */
void supervisor_release_front(struct supervisor *sup);

/* ---- stops.c ---- */

void supervisor_on_group_stop(struct supervisor *sup, struct task *task,
			      const struct wait_event *ev);
void supervisor_on_interrupt(struct supervisor *sup, struct task *task,
			     const struct wait_event *ev);

/* The task runs on, or is gone. If its stop was the one told of the initial process, that is over.
 */
void supervisor_stop_is_over(struct supervisor *sup, const struct task *task);

/* Tells the session of the start of a task that was native until now, if that is due. False: the
 * task was resumed, and stops again. */
bool supervisor_start_late(struct supervisor *sup, struct task *task);

/* ---- syscalls.c ---- */

/* May free the task (detach_before_exec). */
void supervisor_syscall_entered(struct supervisor *sup, struct task *task);
void supervisor_syscall_left(struct supervisor *sup, struct task *task);

/* The task is to go on without a signal. If its last system call was made without a stop and was
 * interrupted, it is made again. */
void supervisor_syscall_again(const struct supervisor *sup, struct task *task);

/* The task is at a stop: tells the observer the changes of mappings by calls made without one. */
void supervisor_follow_mappings(struct supervisor *sup, struct task *task);

/* ---- signals.c ---- */

/* Whether a signal waits to be delivered that the program will notice; *any: a signal waits, of
 * whatever kind. */
bool supervisor_signal_waits(const struct task *task, bool *any);

/* The task has stopped for a signal, which its backend may keep for a while. Notes it: the kernel
 * may have woken other threads for it, too. */
void supervisor_note_signal(struct task *task, int signo);

/* Whether the program would not notice the signal. */
bool supervisor_is_ignored(const struct task *task, const siginfo_t *info);

/* The task is at the first instruction of a signal handler. */
void supervisor_handler_entered(struct supervisor *sup, struct task *task);

/* ---- written_files.c ---- */

/* Calls supervisor_look_at_files_of() for each process, each second. To be called at each tick. */
void supervisor_look_at_files(struct supervisor *sup);

/* The task has stopped: forgets code that is to be read again. With --parallel only when no other
 * task of its unit runs. */
void supervisor_reread_files(struct supervisor *sup, const struct task *task);

#endif
