/* SPDX-License-Identifier: MIT */
/* Shared by the files of the model alone: the model's private part, and the state of its loading.
 * Each model_*.c has the handlers of its record kinds and the look-ups in their results. */
#ifndef BT_MODEL_PRIVATE_H
#define BT_MODEL_PRIVATE_H

#include "decoder/model/model.h"
#include "format/trace_cursor.h"
#include "lib/arena.h"
#include "lib/grow.h"

struct model_private {
	struct arena arena;
	const struct model_snapshot *final;
};

struct model_process {
	const struct model_task *first;
	const char *command;
	struct slice argv, program;
	const struct bt_record_last_words *last_words;
	const struct bt_record_exit *end;  /* of its last task; NULL: none in the trace */
	const struct model_snapshot *last; /* of its end, or the first sign of that; NULL: none */
	bool initial;
	bool child_failed; /* the child of it that ended last */
};

/* A record that belongs to a snapshot. */
struct model_part {
	uint32_t snapshot;
	uint64_t addr, end; /* of memory */
	const struct trace_event *event;
};

struct model_parts {
	struct model_part *at;
	size_t count;
};

struct loader {
	struct model *m;
	struct model_private *p;
	size_t damage_cap;
	struct model_process *processes;
	size_t process_count;
	uint32_t *process_of; /* by index in m->tasks; 0: not begun, else index + 1 */
	struct model_parts threads, memory;
};

/* Takes one event, in order. */
typedef void loader_handler(struct loader *l, const struct trace_event *e);

/* A zeroed array, also for n == 0. NULL without memory, and the arena says so. */
void *loader_array(struct loader *l, size_t n, size_t size);

void loader_damage(struct loader *l, const char *file, uint64_t offset, enum bt_error_code code,
		   const char *text);

/* model_tasks.c. collect: before any handler; finish: after all. */
void tasks_collect(struct loader *l);
void tasks_finish(struct loader *l);
struct model_task *tasks_find(const struct model *m, uint32_t task);  /* NULL: none */
struct model_process *tasks_process(struct loader *l, uint32_t task); /* NULL: not begun */
loader_handler tasks_on_task, tasks_on_exec, tasks_on_exit, tasks_on_comm, tasks_on_last_words,
	tasks_on_main, tasks_on_suppressed;

/* model_snapshots.c */
void snapshots_collect(struct loader *l);
void snapshots_finish(struct loader *l);

/* Whether it is the first sign of a failure by which its process may have ended so (NULL: its end
 * is not known). A Rust program catches panics, and goes on. */
bool snapshots_is_sign(const struct model_snapshot *s, const struct bt_record_exit *end);

/* Whether it is the first message of the process whose end is the other one, and more is to be seen
 * there: the task that ended the process wrote it not long before, in no handler of a signal, which
 * tells more, and no child failed last, of which the end itself tells. */
bool snapshots_is_message_of(const struct model_snapshot *message,
			     const struct model_snapshot *end);
loader_handler snapshots_on_snapshot, snapshots_on_thread, snapshots_on_memory;

/* model_failures.c: the ends of processes that failed. After all others. */
void failures_find(struct loader *l);

/* model_branches.c: counts a task's branches and lists the damage in their file. history.c reads
 * the history. */
void branches_scan(struct loader *l, const struct trace_file *file);

#endif
