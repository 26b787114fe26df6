/* SPDX-License-Identifier: MIT */
/* The recorder: supervises a tree of processes, runs their code through a backend, and writes what
 * happens to a trace. One thread, one struct; the main loop is next event, dispatch. */
#ifndef BT_SUPERVISOR_H
#define BT_SUPERVISOR_H

#include "collector/backend/backend.h"
#include "collector/supervisor/affinity.h"
#include "collector/task/task.h"
#include "format/trace_writer.h"

enum snap_exit {
	SNAP_EXIT_NEVER,
	SNAP_EXIT_FAILURE, /* of the initial process */
	SNAP_EXIT_ALWAYS,  /* of every process */
};

struct supervisor_options {
	uint64_t
		history; /* branches kept per task; 0: none, only ticks and transfers are counted */
	uint64_t history_memory; /* bytes that the histories of all tasks may use together */
	enum snap_exit snap_exit;
	const char *cache; /* directory of what backends keep from one recording to the next; NULL:
			      none */
	const char *from;  /* NULL: from the start */
	const struct stop_point
		*stop_points; /* moments to keep, sorted; stay as long as the recorder */
	size_t stop_point_count;
	struct pmu *pmu;    /* opened, of the pmu backend; else NULL */
	bool parallel;      /* the threads of a process run side by side under the engine */
	bool unbound;       /* the recorder and the program may run on any processor (affinity.h) */
	bool deterministic; /* the tests' start (world.h) */
	unsigned alarm_each;  /* for tests (backend.h) */
	bool plain_processor; /* for tests: code for processors without what not all have, or where
				 other code is fast */
	bool whole_maps;      /* for tests: all mappings are read at each call that changes some */
	bool predict_eagerly; /* for tests (backend.h) */
	bool switch_history;  /* for tests: branches are recorded every other time that user code is
				 resumed */
};

/* How the initial process ended, and what remains. */
struct supervisor_outcome {
	bool ended;
	enum bt_exit_kind kind;
	int status; /* exit status or signal */
	bool core;
};

/* A wait status that was taken early and waits for its turn. */
struct queued_event {
	pid_t tid;
	int status;
};

enum {
	SUPERVISOR_SLICE_MS = 5,
	SUPERVISOR_SLICES = 20,
};

struct supervisor {
	struct trace_writer *writer;
	const struct bt_clock *clock; /* the writer's */
	struct observer observer;     /* of the spaces and of the backend: writes records */
	struct backend backend;
	struct supervisor_options options;
	struct task_table tasks;
	struct affinity affinity;
	struct queued_event *queue; /* events taken while looking for others: those in [queue_first,
				       queue_end) */
	size_t queue_first, queue_end, queue_cap;
	uint32_t *queued_of; /* how many of them are of tids with these low bits; NULL: not known */
	/* Since all tasks were looked at for a status (supervisor_queue.c): */
	bool unseen;         /* one may have stopped of which nothing told */
	size_t told_of;      /* statuses taken of which something did */
	uint64_t look_after; /* ns without any until all are looked at again */
	uint32_t snapshots;
	unsigned request;      /* the newest one from outside for snapshots: its mark */
	uint32_t request_kept; /* snapshots for it */
	bool tracing_refused;  /* the program tried to trace what is recorded */
	uint64_t history_used, history_next; /* bytes of all histories, as last counted; when some
						are to be shortened */
	bool history_bounded; /* some history was shortened for options.history_memory */
	pid_t initial_pid;
	pid_t passed_on[NSIG]; /* who sent the front the signal of that number that the initial
				  process was sent last; 0: not known */
	pid_t stopped_by; /* the initial process is stopped: the task whose stop told it, and whose
			     going on will; 0 */
	uint64_t doomed_next; /* when those that are to be detached are looked at again */
	bool initial_left;    /* the initial process was detached: waited for, and no task */
	struct supervisor_outcome outcome;
	bool watch_execs;  /* programs that gain privileges at their execve would lose them
			      (program.h) */
	bool frozen;       /* nobody gets a turn: a snapshot is being taken */
	uint64_t patience; /* until when that waits for tasks to stop */
	bool from_found, from_reached; /* by any task */
	size_t stop_points_kept;       /* of options.stop_points */
	bool started;                  /* the initial process is past its execve */
	/* The caller's timer sets *tick: every SUPERVISOR_SLICE_MS while somebody waits for a turn
	 * (hurried; at first, too), else each SUPERVISOR_SLICES times that, as on_pace says; then
	 * turns change. on_tick is called each SUPERVISOR_SLICES slices. */
	volatile sig_atomic_t *tick;
	bool hurried;
	unsigned slices, told; /* slices so far, when on_tick was called last */
	unsigned calm;         /* ticks since anybody waited */
	void (*on_tick)(void *arg, struct supervisor *sup);
	void (*on_pace)(void *arg, unsigned milliseconds);
	void *on_tick_arg;
	/* Tells the front process what its parent must see: the initial process stopped by a signal
	 * or goes on (SIGCONT), or (0) ended. */
	void (*notify)(void *arg, const struct supervisor *sup, int stop_signal);
	void *notify_arg;
	unsigned files_looked; /* slices when files were last looked at */
	uint64_t last_flush;
};

/* Takes over the writer. */
void supervisor_init(struct supervisor *sup, struct trace_writer *w, const struct backend_ops *ops,
		     const struct supervisor_options *options);
/* Closes the trace. */
void supervisor_release(struct supervisor *sup);

/* The program never started: takes the trace back out of the directory dir. */
void supervisor_abandon(struct supervisor *sup, const char *dir);

/* Hands what is buffered to the kernel when a second has passed since the last time. */
void supervisor_flush_due(struct supervisor *sup);

/* To be called at each tick: where the initial process was detached, whether it has been stopped or
 * continued since. */
void supervisor_watch_left(struct supervisor *sup);

/* The initial process, seized and not yet past its execve, behind which it ignores SIGTRAP or does
 * not. Errors: BT_E_NO_MEMORY. */
int supervisor_adopt(struct supervisor *sup, pid_t pid, bool trap_ignored,
		     struct bt_error *err) BT_MUST_USE;

/* Runs until no recorded task is left. */
void supervisor_run(struct supervisor *sup);

/* To be called at the caller's ticks: takes in new tasks whose parent was killed before it could
 * report them. */
void supervisor_adopt_orphans(struct supervisor *sup);

/* To be called at the caller's ticks: lets go of processes that a fault would not end while they
 * are traced. */
void supervisor_detach_doomed(struct supervisor *sup);

/* Lets go of every task that can be left right now, with a reason for the trace; to be called again
 * at later ticks until none is left. */
void supervisor_detach_all(struct supervisor *sup, const char *reason);

/* For the modules of the collector: */

/* Fills seq and time and writes an event of the unit. */
#define SUPERVISOR_EVENT(sup, unit, KIND, rec)                                  \
	do {                                                                    \
		(rec)->seq = trace_writer_next_seq((sup)->writer);              \
		(rec)->time = bt_clock_now((sup)->clock);                       \
		trace_writer_event((sup)->writer, unit, BT_RECORD_##KIND, rec); \
	} while (0)

/* A NOTE record of the task's unit. */
void supervisor_note(struct supervisor *sup, const struct task *task, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Brings a task to a stop in which registers and history agree, in task->regs; needs
 * supervisor_freeze. False when there is nothing to see of it. */
bool supervisor_halt(struct supervisor *sup, struct task *task);
void supervisor_freeze(struct supervisor *sup);
void supervisor_thaw(struct supervisor *sup);

/* Takes a snapshot of a task's process, now or when it has stopped, which it is asked to do: its
 * snapshot_wanted tells. */
void supervisor_request_snapshot(struct supervisor *sup, struct task *task);

/* Waits, until sup->patience at most, until tid stops or ends, leaving its event in the queue for
 * the main loop. False when it is gone. */
bool supervisor_await_stop(struct supervisor *sup, pid_t tid);

/* Whether an event of tid waits in the queue: the task is stopped already. */
bool supervisor_has_event(const struct supervisor *sup, pid_t tid);

#endif
