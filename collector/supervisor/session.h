/* SPDX-License-Identifier: MIT */
/* The interface of a session: the supervisor tells it what happens to the programs, and asks it
 * some things. A recording session (collector/record) writes it to a trace; a replaying one
 * compares it with a trace.
 * - An operation is called once for each fact, in the order of the facts, on the supervisor's
 *   thread. Several supervisors may share a session, so each call names its own.
 * - Unless told otherwise the task is stopped, task->regs are the application's registers there,
 *   and the session may read and change its memory and registers.
 * - A session may call the supervisor (supervisor.h): to halt other tasks, say. It resumes none.
 * - Spaces and backends tell the observer (observer.h), which is the session's, too.
 * A row may be NULL where that is said. */
#ifndef BT_SESSION_H
#define BT_SESSION_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "collector/space/observer.h"
#include "collector/task/stop_point.h"
#include "collector/tracee/wait_event.h"
#include "lib/event.h"
#include "lib/point.h"

struct bt_logged_call;
struct function_finder;
struct process;
struct session;
struct supervisor;
struct task;
struct unit;

/* How a task ended. */
struct task_end {
	enum bt_exit_kind kind;
	int status; /* exit status or signal */
	bool core;
	bool last_look; /* it is still there: its memory can be read for the last time */
};

/* A signal that waits to be delivered. */
struct arrived_signal {
	const siginfo_t *info;
	enum bt_signal_action action; /* its effect on the process */
	bool sync;                    /* an instruction has raised it, by its siginfo */
	bool sent;                    /* no instruction has, whatever its siginfo looks like */
	bool fatal;                   /* it ends the process */
};

struct session_ops {
	/* A process has come, and has no task yet. before: the process that its first task leaves
	 * by an execve; NULL: none. False without memory. */
	bool (*on_new_process)(struct session *session, struct supervisor *sup,
			       struct process *process, const struct process *before);

	/* It is about to be freed: the session frees its part of it. */
	void (*on_forget_process)(struct session *session, struct supervisor *sup,
				  struct process *process);

	/* A task has come, and has its process and unit: its history begins, and its first stop
	 * point is set. Nothing of it may be read yet. False without memory. */
	bool (*on_new)(struct session *session, struct supervisor *sup, struct task *task);

	/* It is about to run for the first time. Its registers are not known. */
	void (*on_start)(struct session *session, struct supervisor *sup, struct task *task);

	/* It has become another program: its space is the new one. */
	void (*on_exec)(struct session *session, struct supervisor *sup, struct task *task);

	/* It stands before the first instruction of a program. May make it native. */
	void (*on_program)(struct session *session, struct supervisor *sup, struct task *task);

	/* It has stopped under its backend. Called before the operation for the cause of the stop.
	 * goes_on: it has been resumed already. */
	void (*on_stop)(struct session *session, struct supervisor *sup, struct task *task,
			bool goes_on);

	/* It stands between two instructions, for no reason of the program's. */
	void (*on_slice)(struct session *session, struct supervisor *sup, struct task *task);

	/* It stands at its stop point, or has passed it: sets the next one, or none
	 * (backend_ops.stop_at). */
	void (*on_stop_point)(struct session *session, struct supervisor *sup, struct task *task,
			      enum stop_point_side side);

	/* It stands before the first instruction of a function that the session's finder has named
	 * by this number. The session may disarm the stop (address_space_disarm()). */
	void (*on_function)(struct session *session, struct supervisor *sup, struct task *task,
			    uint16_t function);

	/* It has executed an instruction with a result of its own (BACKEND_INSTRUCTION). May be
	 * NULL unless the supervisor's options have `logged`. */
	void (*on_instruction)(struct session *session, struct supervisor *sup, struct task *task);

	/* task->syscall is entered. */
	void (*on_syscall_enter)(struct session *session, struct supervisor *sup,
				 struct task *task);

	/* Whether the session answers that call, in the place of the kernel: it is not made, and at
	 * on_syscall_exit the session sets what the task has of it, registers and memory. NULL: the
	 * kernel makes all calls. */
	bool (*answers_call)(struct session *session, struct supervisor *sup, struct task *task);

	/* The calls that the task makes next, with what the session answers to them, as far as the
	 * backend may answer them in its place (struct answered_calls in backend.h). NULL: none is
	 * known beforehand. */
	size_t (*calls_ahead)(struct session *session, struct supervisor *sup, struct task *task,
			      const struct bt_logged_call **calls, uint64_t *passed);

	/* The task has made n of them, one or more, and gone on. ticks: as of struct
	 * answered_calls. Not NULL where calls_ahead is not. */
	void (*on_calls_answered)(struct session *session, struct supervisor *sup,
				  struct task *task, size_t n, const uint64_t *ticks);

	/* task->syscall was left at that point: with this result, or it is made again. The
	 * registers are those with which the task goes on. Where the call was the last part of a
	 * transfer (cut_transfer.h), these have the result and the arguments of the whole, and
	 * result is of that part. */
	void (*on_syscall_exit)(struct session *session, struct supervisor *sup, struct task *task,
				const struct bt_point *at, uint64_t result);

	/* It is in the prctl of btrec.h: the program asks for a snapshot. */
	void (*on_request)(struct session *session, struct supervisor *sup, struct task *task,
			   const char *label);

	/* A signal waits to be delivered. */
	void (*on_signal)(struct session *session, struct supervisor *sup, struct task *task,
			  const struct arrived_signal *signal);

	/* Whether the session has delivered a signal that waits, in the place of the kernel: then
	 * task->regs are those with which the task goes on. NULL: the kernel delivers all. */
	bool (*answers_signal)(struct session *session, struct supervisor *sup, struct task *task,
			       const struct arrived_signal *signal);

	/* It stands before the first instruction of a signal handler: task->frames has its frame.
	 */
	void (*on_handler)(struct session *session, struct supervisor *sup, struct task *task);

	/* Another task of the unit, `to`, runs user code from here on. `from` stands at that point.
	 */
	void (*on_switch)(struct session *session, struct supervisor *sup, const struct unit *unit,
			  uint32_t from, uint32_t to, const struct bt_point *point);

	/* It has ended, or is about to. Called once. */
	void (*on_exit)(struct session *session, struct supervisor *sup, struct task *task,
			const struct task_end *end);

	/* It is about to be detached, and will run on unseen: in its memory as that is, or as
	 * another program. Called instead of on_exit. */
	void (*on_detach)(struct session *session, struct supervisor *sup, struct task *task,
			  const char *reason, bool in_memory);

	/* It is about to be freed: the session frees its part of it. on_new may have failed. */
	void (*on_forget)(struct session *session, struct supervisor *sup, struct task *task);

	/* Called each SUPERVISOR_SLICES slices. */
	void (*on_tick)(struct session *session, struct supervisor *sup);

	/* The rows below may be NULL where no task can be native (supervisor_options.late_start).
	 */

	/* A native task, or one with start_pending, has stopped for a signal or a system call. */
	void (*on_native_stop)(struct session *session, struct supervisor *sup, struct task *task,
			       const struct wait_event *ev);

	/* A task with start_pending has been interrupted. False: it was resumed, and stops again.
	 */
	bool (*on_late_start)(struct session *session, struct supervisor *sup, struct task *task);

	/* A task has come whose parent is gone, and not known. May make it native. */
	void (*on_orphan)(struct session *session, struct supervisor *sup, struct task *task);
};

struct session {
	const struct session_ops *ops;
	const struct function_finder *finder; /* of the functions at which tasks are to be stopped;
						 NULL: at none, and on_function may be NULL. Not
						 with a backend that is native */
};

#endif
