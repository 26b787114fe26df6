/* SPDX-License-Identifier: MIT */
/* A stretch of a recording as a trace of its own, with its whole branch history: btrec replay
 * --window. The task's events (calls, signals, mappings) are copied from the trace that is
 * replayed, as the replay comes by; history, code and the moment at the end of the stretch are the
 * replay's. */
#ifndef BT_REPLAY_WINDOW_H
#define BT_REPLAY_WINDOW_H

#include "collector/record/recording.h"
#include "collector/replay/replaying.h"
#include "format/trace_cursor.h"

/* Ticks after which a task in the stretch is to be stopped, for replay_window_relieve(). */
enum { REPLAY_WINDOW_PAUSE = 1 << 18 };

struct replay_window {
	const struct trace *trace; /* the trace that is replayed */
	struct trace_writer *writer;
	struct recording recording; /* has parts of tasks, and keeps the moment */
	struct observer observer;   /* for the replay */
	struct observer_ops ops;    /* its own */
	const struct replaying *replaying;
	uint32_t task, unit, space; /* of the replay; 0: not known yet */
	uint32_t recorded;          /* the task's space in the trace that is replayed */

	struct trace_cursor cursor;
	struct bt_record held; /* the next record of the trace */
	bool has_held, over;

	uint64_t copied_calls;     /* of CALLS records */
	struct buf calls, details; /* those that the replay has made, of a record that has others */

	uint64_t told_tick; /* the time at which history was written last */
	uint64_t deadly; /* seq in the window's trace of a deadly signal that was copied; 0: none */
	uint64_t entered; /* the same of the last entry to a system call */
	bool last_exit;   /* the exit of the task was copied: */
	struct supervisor_outcome outcome;
	bool kept; /* the moment at its end */

	uint32_t moments; /* of the trace that is replayed: the highest number */
	uint32_t last;    /* number of the one of its last end, 0: none */
};

/* Makes the trace at path. backend: by which it is replayed. replaying: lives as long as w. Errors:
 * those of trace_writer_open().
 */
int replay_window_open(struct replay_window *w, const struct trace *t, const char *path,
		       const char *backend, const struct replaying *replaying,
		       struct bt_error *err) BT_MUST_USE;

/* The stopped task is where the stretch begins: history from here on. */
void replay_window_begin(struct replay_window *w, struct supervisor *sup, struct task *task);

/* The event at whose point a process that failed wrote its first message, if the trace has that
 * moment. 0: it has not. */
uint64_t replay_window_find_message(const struct trace *t);

/* The stopped task is at that event: its moment is kept if the stretch ends where the process does.
 */
void replay_window_message(struct replay_window *w, struct supervisor *sup, struct task *task,
			   uint64_t event);

/* The stopped task may have much history: writes it. */
void replay_window_relieve(struct replay_window *w, struct supervisor *sup, struct task *task);

/* The stopped task is at `to`, where the stretch ends: keeps the moment. exit: seq of the event by
 * which the log ends the task there; 0: it does not. */
void replay_window_end(struct replay_window *w, struct supervisor *sup, struct task *task,
		       const struct destination *to, uint64_t exit);

/* Gives the closed trace at path what is known of names and source lines of the program. False: the
 * trace that was replayed has nothing, or there is no room. */
bool replay_window_keep_symbols(const struct trace *from, const char *path);

/* Closes the trace; takes it out of the directory again where the end was not reached. Errors:
 * BT_E_IO: it could not be written. */
int replay_window_close(struct replay_window *w, const char *path,
			struct bt_error *err) BT_MUST_USE;

#endif
