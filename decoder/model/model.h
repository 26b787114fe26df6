/* SPDX-License-Identifier: MIT */
/* A loaded trace: all events in order, the index of mappings and code, tasks, snapshots, damage.
 * The report, the JSON and the viewer are views of this one model. It never changes once it is
 * loaded; any number of readers may share it. */
#ifndef BT_MODEL_H
#define BT_MODEL_H

#include "format/trace_index.h"
#include "format/trace_reader.h"

struct model_task {
	uint32_t task, parent, unit, pid, tid, how;
	uint32_t space;                    /* at its creation */
	uint64_t created;                  /* seq */
	const struct bt_record_exit *exit; /* NULL: none in the trace */
	const char *command; /* basename of the file that its process executed last, or "" */
	const struct bt_record_main *main; /* its entry of main; NULL: not known */
	uint64_t branch_count; /* entries in the trace; each gap between chunks counts as one */
	uint64_t branch_end;   /* number behind the newest of them */
	const struct bt_record_last_words *last_words; /* the newest of its process; NULL: none */
	uint64_t position; /* of the newest snapshot: entries recorded until then, even if they are
			      not in the trace */
	uint64_t suppressed; /* snapshots of handled events that were only counted */
};

struct model_snapshot {
	const struct bt_record_snapshot *rec;
	const struct bt_record_signal *signal;         /* the event it belongs to, or NULL */
	const struct bt_record_last_words *last_words; /* of its process until then, of a first
							  sign of failure to its end; NULL: none */
	bool child_failed; /* the child of its process that ended last before it, if any */
	uint64_t until;    /* seq of the last event before it, or of its own record */
	const struct bt_record_thread **threads; /* the snapshot's task first */
	size_t thread_count;
	const struct bt_record_memory **memory;
	size_t memory_count;
};

/* The end of a process by a signal, or with another status than 0. */
struct model_failure {
	const struct model_task *task;     /* its first */
	const struct bt_record_exit *exit; /* of its last */
	const struct model_snapshot *snap; /* its last moment; NULL: none was kept */
	struct slice argv; /* of the program that it or, before it was forked, a forebear executed
			      last, each with a NUL behind it */
	struct slice program; /* its path, as it was executed */
};

/* A place in the trace that could not be read. torn: the recorder was cut off here, was writing
 * here, or could write no more. That is no damage; a closed trace has no such place. */
struct model_damage {
	char file[32]; /* "": of no one file */
	uint64_t offset;
	enum bt_error_code code;
	bool torn;
	char text[200];
};

struct model {
	struct trace *trace;
	struct trace_events events; /* sorted by seq */
	struct trace_index *index;  /* mappings and code by space and epoch */
	struct model_task *tasks;   /* sorted by task number */
	size_t task_count;
	struct model_snapshot *snapshots; /* in order */
	size_t snapshot_count;
	struct model_failure *failures; /* of all processes, in the order of their ends */
	size_t failure_count;
	uint64_t failures_suppressed; /* snapshots of them that were only counted */
	struct model_damage *damage;
	size_t damage_count;
	const struct bt_record_end *end;         /* NULL: the trace was not closed */
	const struct bt_record_stopped *stopped; /* NULL: recording did not stop early */
	struct model_private *priv;
};

/* Loads all of a trace. Takes over t: model_free() closes it, and so does an error. Damage in the
 * trace is no error, but is listed. Errors: BT_E_NO_MEMORY. */
int model_load(struct model **out, struct trace *t, struct bt_error *err) BT_MUST_USE;
void model_free(struct model *m);

/* Whether the recorder wrote END, the last record, and so everything else. */
bool model_is_closed(const struct model *m);

/* Says for the user why END, or something before it, is missing. NULL: nothing is missing. */
const char *model_unclosed(const struct model *m);

/* The damage in words; not escaped. */
const char *model_damage_text(const struct model *m, const struct model_damage *d);

const struct model_task *model_task(const struct model *m, uint32_t task); /* NULL: none */

/* The ticks of a point of a task since it entered main; BT_TICKS_UNKNOWN: it had not, or that is
 * not known. */
uint64_t model_since_main(const struct model *m, uint32_t task, uint64_t tick);

/* Whether an end is one by a signal, or with another status than 0. */
bool model_is_failure(const struct bt_record_exit *end);

/* The child of the process of `parent` that ended last before seq; NULL: none. */
const struct model_task *model_last_child(const struct model *m, const struct model_task *parent,
					  uint64_t seq);

/* How the process of a task ended; NULL: the trace does not say. */
const struct bt_record_exit *model_process_end(const struct model *m, uint32_t task);

/* The snapshot that explains the end, or NULL. It is the first of the initial process's death by a
 * signal that dumps core; else of another process's such death; else of the initial process's death
 * by another signal; else of another process's. Else it is the newest exit of the initial process,
 * or moment that was asked for; else another process's exit that was asked for. Before an exit with
 * failure the last first sign of it that was kept whole is taken, else its first message, if that
 * is near (snapshots_is_message_of()); and so where no exit was kept. Where the trace does not tell
 * how the initial process ended, it may also be the death of another process that was asked to end,
 * or the newest event that a handler got. A moment from which the program went on does not explain
 * an end that is known. */
const struct model_snapshot *model_final_snapshot(const struct model *m);

/* Copies up to n bytes at addr from the snapshot's memory. Returns how many consecutive bytes it
 * has. */
size_t model_memory(const struct model *m, const struct model_snapshot *s, uint64_t addr,
		    uint8_t *out, size_t n);

#endif
