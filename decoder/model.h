/* SPDX-License-Identifier: MIT */
/* A trace as a reader wants it: all events in order, tasks, address spaces by image epoch,
 * snapshots, damage. The report, the JSON and the viewer are views of this one model. Immutable
 * once loaded. */
#ifndef BT_MODEL_H
#define BT_MODEL_H

#include "format/trace_reader.h"

/* An event of any unit, its record's slices owned by the model. Sorted by seq. */
struct model_event {
	uint64_t seq;
	uint32_t unit;
	struct bt_record rec;
};

/* A mapping, valid for epochs first_epoch <= e < end_epoch. Strings NUL-terminated, owned by the
 * model. */
struct model_map {
	uint64_t start, end, offset, dev, ino;
	uint32_t first_epoch, end_epoch;
	uint8_t prot; /* PROT_READ 1, PROT_WRITE 2, PROT_EXEC 4 */
	bool shared;
	const char
		*path; /* "" for anonymous; "[vdso]", "[stack]" and the like as in /proc/PID/maps */
	struct slice build_id;
	struct model_map *memory; /* of what is no file's: the same for all mappings that are one
				     memory, which was split, grown, protected, forked */
};

struct model_task {
	uint32_t task, parent, unit, pid, tid, how;
	uint32_t space;                    /* at its creation */
	uint64_t created;                  /* seq */
	const struct bt_record_exit *exit; /* NULL: none in the trace */
	const char *command; /* of the program its process ran last: basename of the executed file,
				or "" */
	uint64_t branch_count; /* entries in the trace, gaps between chunks counted once each */
	uint64_t branch_end;   /* number behind the newest of them */
	const struct bt_record_last_words *last_words; /* the newest of its process; NULL: none */
	uint64_t position; /* entries it had at the newest moment that was kept, whether they are
			      there or not */
};

struct model_snapshot {
	const struct bt_record_snapshot *rec;
	const struct bt_record_signal *signal;         /* the event it belongs to, or NULL */
	const struct bt_record_last_words *last_words; /* of its process until then; NULL: none */
	const struct bt_record_thread **threads;       /* the snapshot's task first */
	size_t thread_count;
	const struct bt_record_memory **memory;
	size_t memory_count;
};

/* Something in the trace that could not be read. torn: the recorder was cut off, writing, or could
 * write no more here, which is no damage; a closed trace has no such place. */
struct model_damage {
	char file[32]; /* "": of no one file */
	uint64_t offset;
	enum bt_error_code code;
	bool torn;
	char text[200];
};

struct model {
	struct trace *trace;
	struct model_event *events;
	size_t event_count;
	struct model_task *tasks; /* sorted by task number */
	size_t task_count;
	struct model_snapshot *snapshots; /* in order */
	size_t snapshot_count;
	struct model_damage *damage;
	size_t damage_count;
	const struct bt_record_end *end;         /* NULL: the trace was not closed */
	const struct bt_record_stopped *stopped; /* NULL: recording did not stop early */
	struct model_private *priv;
};

/* Loads all of a trace. Takes over t (closed by model_free, also on error). Damage inside is no
 * error: it is listed. Errors: BT_E_NO_MEMORY. */
int model_load(struct model **out, struct trace *t, struct bt_error *err) BT_MUST_USE;
void model_free(struct model *m);

/* Whether all that was ever written is to be there: END is the last thing that is. */
bool model_is_closed(const struct model *m);

/* Why there is no END, or less than what should be before it, in words for the user; NULL: there
 * is. */
const char *model_unclosed(const struct model *m);

/* What is the matter there, in words; not escaped. */
const char *model_damage_text(const struct model *m, const struct model_damage *d);

const struct model_task *model_task(const struct model *m, uint32_t task); /* NULL: none */

/* The snapshot that explains the end: the first of the initial process's death by a signal that
 * dumps core, else the first such of the tree, else the first fatal one of the initial process,
 * else that of the tree, else the newest of any kind, else NULL. */
const struct model_snapshot *model_final_snapshot(const struct model *m);

/* The mapping at addr in an address space at an epoch, or NULL. */
const struct model_map *model_map_at(const struct model *m, uint32_t space, uint32_t epoch,
				     uint64_t addr);

/* The path of a mapped file without the kernel's " (deleted)", as a length. */
size_t model_path_len(const char *path);

/* All mappings valid at an epoch, by address, as a new array (free() it). */
size_t model_maps(const struct model *m, uint32_t space, uint32_t epoch,
		  const struct model_map ***out);

/* Copies up to n code bytes at addr as they were at an epoch, from the trace's own CODE pages only,
 * and of those only what was read where the same lay at addr as at the epoch. Returns how many
 * consecutive bytes were there (0: none). */
size_t model_code(const struct model *m, uint32_t space, uint32_t epoch, uint64_t addr,
		  uint8_t *out, size_t n);

/* Copies up to n bytes of memory kept with a snapshot. Returns how many consecutive bytes were
 * there. */
size_t model_memory(const struct model *m, const struct model_snapshot *s, uint64_t addr,
		    uint8_t *out, size_t n);

#endif
