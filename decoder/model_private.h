/* SPDX-License-Identifier: MIT */
/* What the files of the model share: its private part, and what is needed only while it is loaded.
 * Every model_*.c has the handlers of its record kinds and the look-ups into what they made. */
#ifndef BT_MODEL_PRIVATE_H
#define BT_MODEL_PRIVATE_H

#include "decoder/model.h"
#include "decoder/space.h"
#include "lib/arena.h"
#include "lib/grow.h"

struct object {
	uint64_t number;
	struct slice bytes;
};

struct code_page {
	uint32_t space, epoch;
	uint64_t addr, seq;
	struct slice bytes;
	const struct model_map *map; /* there and then; NULL: none is known */
};

enum { SPACE_NONE = -1 };

/* Where an address space came from: index of the parent in spaces, or SPACE_NONE. */
struct origin {
	long parent;
	uint32_t epoch;
};

struct model_private {
	struct arena arena;
	struct space *spaces; /* sorted by number */
	struct origin *origins;
	size_t space_count;
	struct code_page *pages; /* sorted by space, addr, epoch, seq */
	size_t page_count;
	const struct model_snapshot *final;
};

struct process {
	const char *command;
	const struct bt_record_last_words *last_words;
	bool initial;
};

/* A record that belongs to a snapshot. */
struct part {
	uint32_t snapshot;
	uint64_t addr, end; /* of memory */
	const struct model_event *event;
};

struct parts {
	struct part *at;
	size_t count;
};

struct loader {
	struct model *m;
	struct model_private *p;
	size_t event_cap, damage_cap, object_cap;
	bool unknown_events;    /* there are kinds of records that this reader does not know */
	struct object *objects; /* sorted by number once read */
	size_t object_count;
	uint64_t newest_object;
	bool objects_unsorted;
	struct process *processes;
	size_t process_count;
	uint32_t *process_of; /* by index in m->tasks; 0: not begun, else index + 1 */
	size_t dangling;      /* code pages whose object is not there */
	struct parts threads, memory;
};

/* Takes one event, in order. */
typedef void loader_handler(struct loader *l, const struct model_event *e);

/* Zeroed, never NULL for n == 0; failure is in the arena's flag. */
void *loader_array(struct loader *l, size_t n, size_t size);

void loader_damage(struct loader *l, const char *file, uint64_t offset, enum bt_error_code code,
		   const char *text);
size_t loader_count(const struct loader *l, uint16_t kind);
const struct object *loader_object(const struct loader *l, uint64_t number);

/* model_tasks.c. collect: before any handler; finish: after all. */
void tasks_collect(struct loader *l);
void tasks_finish(struct loader *l);
struct model_task *tasks_find(const struct model *m, uint32_t task); /* NULL: none */
struct process *tasks_process(struct loader *l, uint32_t task);      /* NULL: not begun */
loader_handler tasks_on_task, tasks_on_exec, tasks_on_exit, tasks_on_comm, tasks_on_last_words;

/* model_spaces.c */
void spaces_collect(struct loader *l);
void spaces_finish(struct loader *l);
void spaces_release(struct model_private *p);
loader_handler spaces_on_space, spaces_on_map, spaces_on_unmap, spaces_on_code;

/* model_snapshots.c */
void snapshots_collect(struct loader *l);
void snapshots_finish(struct loader *l);
loader_handler snapshots_on_snapshot, snapshots_on_thread, snapshots_on_memory;

/* model_branches.c: counts a task's branches and finds the damage in their file. History is read by
 * history.c. */
void branches_scan(struct loader *l, const struct trace_file *file);

#endif
