/* SPDX-License-Identifier: MIT */
/* A supervisor runs a tree of processes through a backend: it serves each stop, decides whose turn
 * it is, hides from the program that it is traced, and tells a session (session.h) what happens.
 * - One thread, one struct, nothing of the process's: another supervisor may run beside it on
 *   another thread, with tasks of its own.
 * - Used by sessions and by the command that starts one. The main loop is: next event, dispatch. */
#ifndef BT_SUPERVISOR_H
#define BT_SUPERVISOR_H

#include "collector/backend/backend.h"
#include "collector/supervisor/affinity.h"
#include "collector/supervisor/event_queue.h"
#include "collector/supervisor/session.h"
#include "collector/task/task.h"

struct scheduler_ops;

struct supervisor_options {
	const char *cache; /* directory of what backends keep from one recording to the next; NULL:
			      none */
	struct pmu *pmu;   /* opened, of the pmu backend; else NULL */
	bool ticks;        /* ticks and transfers are counted, branches are not recorded */
	bool parallel;     /* the threads of a process run side by side under the engine */
	bool unbound;    /* the supervisor and the program may run on any processor (affinity.h) */
	bool logged;     /* the session is told of everything that does not follow from memory and
			    registers */
	bool answered;   /* the session answers each call (session_ops.answers_call) */
	bool late_start; /* tasks may have run natively before: that part is not known */
	bool deterministic;             /* the tests' start (world.h) */
	const struct test_knobs *tests; /* stay as long as the supervisor; NULL: none */
};

/* How the initial process ended, and what remains. */
struct supervisor_outcome {
	bool ended;
	enum bt_exit_kind kind;
	int status; /* exit status or signal */
	bool core;
};

enum {
	SUPERVISOR_SLICE_MS = 5,
	SUPERVISOR_SLICES = 20,
};

struct supervisor {
	struct session *session;
	const struct observer *observer; /* the session's: of the spaces and of the backend */
	const struct bt_clock *clock;
	struct backend backend;
	const struct scheduler_ops *scheduler; /* of the tasks of each unit */
	struct supervisor_options options;
	struct task_table tasks;
	struct affinity affinity;
	struct event_queue events;
	bool tracing_refused; /* the program tried to trace what is supervised */
	pid_t initial_pid;
	pid_t stopped_by; /* the task whose stop the front was told of as the initial process's; 0:
			     the initial process is not stopped */
	uint64_t doomed_next; /* time of the next look at processes that are to be detached */
	bool initial_left; /* the initial process was detached: it is waited for, but has no task */
	struct supervisor_outcome outcome;
	bool watch_execs;  /* programs that gain privileges at their execve would lose them
			      (program.h) */
	bool frozen;       /* nobody gets a turn: a snapshot is being taken */
	uint64_t patience; /* until when the snapshot waits for tasks to stop */
	bool started;      /* the initial process is past its execve */
	/* The caller's timer sets *tick, and turns change then. on_pace says how often: every
	 * SUPERVISOR_SLICE_MS at first and while somebody waits for a turn (hurried), else every
	 * SUPERVISOR_SLICES times that. on_tick is called each SUPERVISOR_SLICES slices. */
	volatile sig_atomic_t *tick;
	bool hurried;
	unsigned slices, told; /* slices so far, when on_tick was called last */
	unsigned calm;         /* ticks since a task last waited for a turn */
	void (*on_tick)(void *arg, struct supervisor *sup);
	void (*on_pace)(void *arg, unsigned milliseconds);
	void *on_tick_arg;
	/* Tells the front process what its parent must see: the initial process stopped by a signal
	 * or goes on (SIGCONT), or (0) ended. */
	void (*notify)(void *arg, const struct supervisor *sup, int stop_signal);
	void *notify_arg;
	unsigned files_looked; /* slices when files were last looked at */
};

/* Session, observer and clock stay as long as the supervisor. */
void supervisor_init(struct supervisor *sup, struct session *session,
		     const struct observer *observer, const struct bt_clock *clock,
		     const struct backend_ops *ops, const struct supervisor_options *options);

/* Frees the tasks that are left, and closes the backend. */
void supervisor_release(struct supervisor *sup);

/* Takes over the initial process, seized and not yet past its execve. trap_ignored: it will ignore
 * SIGTRAP then. Errors: BT_E_NO_MEMORY. */
int supervisor_adopt(struct supervisor *sup, pid_t pid, bool trap_ignored,
		     struct bt_error *err) BT_MUST_USE;

/* Runs until no task is left. */
void supervisor_run(struct supervisor *sup);

/* To be called at each tick: if the initial process was detached, tells the front of its stops and
 * continuations. */
void supervisor_watch_left(struct supervisor *sup);

/* To be called at the caller's ticks: adopts new tasks whose parent was killed before its event for
 * them came. */
void supervisor_adopt_orphans(struct supervisor *sup);

/* ---- For sessions ---- */

/* Tells the observer a line about the task; NULL: about the whole. */
void supervisor_note(const struct supervisor *sup, const struct task *task, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Brings a task to a stop in which registers and history agree, in task->regs; needs
 * supervisor_freeze. False when there is nothing to see of it. */
bool supervisor_halt(struct supervisor *sup, struct task *task);

/* Nobody gets a turn until supervisor_thaw. Waiting for stops takes half a second at most. */
void supervisor_freeze(struct supervisor *sup);
void supervisor_thaw(struct supervisor *sup);

/* Waits until tid stops or ends, as long as supervisor_freeze allows. Its event stays in the queue
 * for the main loop. False when tid is gone, or did not stop in time. */
bool supervisor_await_stop(struct supervisor *sup, pid_t tid);

/* Looks at the files that code of the task's process is mapped from. One that has been written to
 * since the last look gets a note, and its code is to be read again. */
void supervisor_look_at_files_of(struct supervisor *sup, struct task *task);

/* Lets a stopped native task go on. */
void supervisor_resume_native(struct supervisor *sup, struct task *task);

/* Lets a stopped task that is not native go on, at once or when it is its turn. */
void supervisor_make_ready(struct supervisor *sup, struct task *task);

/* A signal waits to be delivered to the stopped task, whose registers have been read. */
void supervisor_signal_arrived(struct supervisor *sup, struct task *task, const siginfo_t *info);

/* Lets a task with start_pending go on, and interrupts it again. */
void supervisor_interrupt_again(const struct task *task);

#endif
