/* SPDX-License-Identifier: MIT */
/* The session that records (session.h): writes what supervisor, spaces and backends tell to a
 * trace, and keeps moments. Used by the command that records. */
#ifndef BT_RECORDING_H
#define BT_RECORDING_H

#include "collector/record/replay_log.h"
#include "collector/supervisor/supervisor.h"
#include "format/trace_writer.h"

enum snap_exit {
	SNAP_EXIT_NEVER,
	SNAP_EXIT_FAILURE, /* of the initial process; of others the newest branches */
	SNAP_EXIT_ALWAYS,  /* of every process */
};

enum {
	RECORDING_FAILURES = 32, /* exits with failure kept in a second (BT_SNAPSHOT_FAILURE) */
};

struct recording_options {
	uint64_t
		history; /* branches kept per task; 0: none, only ticks and transfers are counted */
	uint64_t history_memory; /* bytes that the histories of all tasks may use together */
	enum snap_exit snap_exit;
	const char *from; /* the initial process is native until there; NULL: from the start */
	const struct stop_point
		*stop_points; /* moments to keep, sorted; stay as long as the recording */
	size_t stop_point_count;
	const char *const *functions; /* moments at their entries are kept, too (first_signs.h) */
	size_t function_count;
	bool replayable;   /* a log is kept, for replays (replay_log.h) */
	uint64_t log_size; /* then: bytes at which it ends */
	const char *cache; /* then: the directory for copies of mapped files; NULL: none */
};

struct recording {
	struct session session; /* first: a recording is one */
	struct trace_writer *writer;
	const struct bt_clock *clock; /* the writer's */
	struct observer observer;     /* of the spaces and of the backend: writes records */
	struct recording_options options;
	uint32_t snapshots;
	uint64_t failures_kept;                     /* snapshots of BT_SNAPSHOT_FAILURE */
	uint64_t failure_times[RECORDING_FAILURES]; /* of the newest of them, by their number */
	unsigned request;      /* mark of the newest request for snapshots from outside */
	uint32_t request_kept; /* snapshots kept for it */
	uint64_t history_used, history_next; /* bytes of all histories, as last counted, and beyond
						which some are shortened */
	bool history_bounded;          /* some history was shortened for options.history_memory */
	bool from_found, from_reached; /* by any task */
	uint32_t asked_kept;           /* moments that somebody asked for */
	uint32_t told_kept;            /* moments but those of asynchronous signals that a handler
					  has seen: a shell has one for each child */
	uint32_t crashes;              /* processes that a signal that dumps core has ended */
	size_t stop_points_kept;       /* of options.stop_points */
	struct replay_log log;         /* options.replayable */
	struct first_signs *signs;     /* NULL: no memory for them */
	pid_t passed_on[NSIG]; /* [signo]: pid that sent the signal the front last forwarded; 0 if
				  unknown */
	uint64_t last_flush;
};

/* Takes over the writer. */
void recording_init(struct recording *r, struct trace_writer *w,
		    const struct recording_options *options);

/* Whether options.functions[i] was in any file whose code was mapped. */
bool recording_found_function(const struct recording *r, size_t i);

/* Closes the trace, which ends as the supervisor's initial process has. The supervisor is released
 * already. */
void recording_close(struct recording *r, const struct supervisor_outcome *outcome);

/* The program never started: takes the trace back out of the directory dir. */
void recording_discard(struct recording *r, const char *dir);

/* Asks for a snapshot of process pid, or (0) of each process that has begun. It is taken now, or
 * when the process has stopped. Returns the number of processes; r->request_kept counts the
 * snapshots that are kept. */
unsigned recording_request(struct recording *r, struct supervisor *sup, pid_t pid);

/* Processes of the newest request that have yet to stop. */
unsigned recording_due(const struct recording *r, const struct supervisor *sup);

#endif
