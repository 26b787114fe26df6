/* SPDX-License-Identifier: MIT */
/* Traces in memory, record by record, for tests of their readers. */
#ifndef BT_TRACE_MAKER_H
#define BT_TRACE_MAKER_H

#include <stdlib.h>

#include "format/trace_reader.h"
#include "lib/branch_graph.h"
#include "tests/unit/unit.h"

enum {
	MAKER_TASKS = 4,
	MAKER_EVENTS = 0,
	MAKER_BRANCHES, /* of task 0, then those of the other tasks */
	MAKER_OBJECTS = MAKER_BRANCHES + MAKER_TASKS,
	MAKER_FILES,
	MAKER_FILES_MAX = MAKER_FILES + 1, /* with mapped-1 */
};

struct maker {
	struct bt_record_header header;
	struct buf records[MAKER_FILES]; /* not yet in a block */
	struct buf files[MAKER_FILES];
	uint64_t blocks[MAKER_FILES];
	struct slice
		mapped; /* mapped-1: what the program had mapped; none: there is no such file */
	uint64_t seq, objects;
	uint32_t unit; /* of the newest event in its block */
};

static inline void maker_init(struct maker *k)
{
	*k = (struct maker){.header = {.program = bt_str("/usr/bin/app"),
				       .tick_classes = 7,
				       .page_size = 4096,
				       .ring = 65536},
			    .seq = 1};
}

static inline void maker_release(struct maker *k)
{
	for (size_t i = 0; i < MAKER_FILES; i++) {
		buf_release(&k->records[i]);
		buf_release(&k->files[i]);
	}
}

static inline void maker_unit(struct maker *k, uint32_t unit)
{
	struct bt_record_unit begins = {.unit = unit};

	if (unit != k->unit)
		bt_record_encode(&k->records[MAKER_EVENTS], BT_RECORD_UNIT, &begins);
	k->unit = unit;
}

/* maker_add(k, unit, MAP, map, .start = ...): a record with the next seq. */
#define maker_add(k, of_unit, NAME, name, ...)                                                \
	do {                                                                                  \
		struct bt_record_##name maker_body = {.seq = (k)->seq++, __VA_ARGS__};        \
                                                                                              \
		maker_unit(k, of_unit);                                                       \
		bt_record_encode(&(k)->records[MAKER_EVENTS], BT_RECORD_##NAME, &maker_body); \
	} while (0)

static inline uint64_t maker_object(struct maker *k, const void *bytes, size_t n)
{
	struct bt_record_object body = {.object = ++k->objects, .bytes = slice_of(bytes, n)};

	bt_record_encode(&k->records[MAKER_OBJECTS], BT_RECORD_OBJECT, &body);
	return body.object;
}

/* A page of code at addr: n bytes at offset, the rest int3. */
static inline void maker_code(struct maker *k, uint32_t space, uint32_t epoch, uint64_t addr,
			      size_t offset, const void *code, size_t n)
{
	uint8_t page[4096];
	uint64_t object;

	memset(page, 0xcc, sizeof page);
	memcpy(page + offset, code, n);
	object = maker_object(k, page, sizeof page);
	maker_add(k, 0, CODE, code, .space = space, .epoch = epoch, .addr = addr, .object = object);
}

/* A chunk of the history of r.task; r.count 0: n. */
static inline void maker_branches(struct maker *k, struct bt_record_branches r,
				  const struct bt_branch *branches, size_t n)
{
	struct bt_branch_codec codec = {0};
	struct buf entries = {0};

	for (size_t i = 0; i < n; i++)
		bt_branch_encode(&codec, &entries, &branches[i]);
	r.entries = slice_of(entries.data, entries.len);
	r.count = r.count ? r.count : n;
	bt_record_encode(&k->records[MAKER_BRANCHES + r.task], BT_RECORD_BRANCHES, &r);
	buf_release(&entries);
}

/* The same as a graph. */
static inline void maker_graph(struct maker *k, struct bt_record_branch_graph r,
			       const struct bt_branch *branches, size_t n)
{
	struct branch_graph graph = {0};
	struct buf entries = {0};

	for (size_t i = 0; i < n; i++)
		branch_graph_add(&graph, &branches[i]);
	if (!branch_graph_encode(&graph, &entries))
		abort();
	r.entries = slice_of(entries.data, entries.len);
	r.count = r.count ? r.count : n;
	bt_record_encode(&k->records[MAKER_BRANCHES + r.task], BT_RECORD_BRANCH_GRAPH, &r);
	branch_graph_release(&graph);
	buf_release(&entries);
}

static inline enum bt_file_kind maker_kind(size_t file)
{
	if (file == MAKER_EVENTS)
		return BT_FILE_EVENTS;
	return file == MAKER_OBJECTS ? BT_FILE_OBJECTS : BT_FILE_BRANCHES;
}

static inline void maker_block(struct maker *k, size_t file, const struct buf *records)
{
	if (bt_block_encode(&k->files[file], k->blocks[file]++,
			    slice_of(records->data, records->len), BT_BLOCK_FULL))
		abort();
}

/* The file's header, and the trace's header in a block of its own. */
static inline void maker_begin(struct maker *k, size_t file)
{
	static const uint8_t uuid[BT_UUID_SIZE] = "made by a test";
	struct buf header = {0};

	if (k->files[file].len)
		return;
	bt_file_header_encode(&k->files[file], maker_kind(file), uuid);
	if (file != MAKER_EVENTS)
		return;
	bt_record_encode(&header, BT_RECORD_HEADER, &k->header);
	maker_block(k, file, &header);
	buf_release(&header);
}

/* Ends the block that the file's records have gone to so far. Returns where it begins. */
static inline size_t maker_flush(struct maker *k, size_t file)
{
	size_t at;

	maker_begin(k, file);
	at = k->files[file].len;
	maker_block(k, file, &k->records[file]);
	buf_reset(&k->records[file]);
	if (file == MAKER_EVENTS)
		k->unit = 0;
	return at;
}

/* The files that there are, for trace_open_memory. Returns how many. */
static inline size_t maker_files(const struct maker *k, struct trace_file files[MAKER_FILES_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < MAKER_FILES; i++) {
		if (!k->files[i].len)
			continue;
		files[n] =
			(struct trace_file){.bytes = slice_of(k->files[i].data, k->files[i].len)};
		trace_file_name(files[n++].name, maker_kind(i), (uint32_t)(i - MAKER_BRANCHES));
	}
	if (k->mapped.len) {
		files[n] = (struct trace_file){.bytes = k->mapped};
		trace_file_name(files[n++].name, BT_FILE_MAPPED, 1);
	}
	return n;
}

/* What was made, opened; k's bytes must live as long as it. */
static inline struct trace *maker_open(struct maker *k)
{
	struct trace_file files[MAKER_FILES_MAX];
	struct bt_error err;
	struct trace *t;

	maker_begin(k, MAKER_EVENTS);
	for (size_t i = 0; i < MAKER_FILES; i++)
		if (k->records[i].len)
			maker_flush(k, i);
	if (trace_open_memory(&t, files, maker_files(k, files), &err))
		fail_msg("%s", err.text);
	return t;
}

static inline struct bt_branch branch(enum bt_branch_kind kind, uint64_t from, uint64_t to)
{
	return (struct bt_branch){.kind = kind,
				  .from = from,
				  .to = to,
				  .flags = bt_branch_kind_is_branch(kind) ? BT_BRANCH_TAKEN : 0};
}

static inline struct bt_branch not_taken(uint64_t from, uint64_t to)
{
	return (struct bt_branch){.kind = BT_BRANCH_JCC, .from = from, .to = to};
}

#endif
