/* SPDX-License-Identifier: MIT */
/* Shared by the files of the perf.data reader. perf_file.c: header, features, attributes;
 * perf_queue.c: records by time; perf_unpack.c: compressed records; perf_tracing.c: formats of
 * tracepoints; perf_aux.c: Intel PT and BTS; perf_data.c: the records. Nobody else includes
 * this. */
#ifndef BT_PERF_PRIVATE_H
#define BT_PERF_PRIVATE_H

#include <zstd.h>

#include "import/perf_data.h"
#include "import/perf_event.h"
#include "lib/grow.h"

struct perf_record {
	uint32_t type;
	uint16_t misc;
	struct slice body;
	uint64_t offset; /* in the file, for errors */
};

/* A record that waits for its turn; an owned body is a copy. */
struct perf_queued {
	uint64_t time, order;
	struct perf_record record;
	bool owned;
};

/* A heap: the oldest first; records of the same time in the order of arrival. */
struct perf_queue {
	struct perf_queued *at;
	size_t count, cap;
	uint64_t order, bytes; /* bytes: of owned bodies */
};

bool perf_queue_put(struct perf_queue *q, uint64_t time, const struct perf_record *r,
		    bool copy);                           /* false: no memory */
struct perf_queued perf_queue_take(struct perf_queue *q); /* the oldest; free() its body if owned */
void perf_queue_release(struct perf_queue *q);

/* One zstd stream over all compressed records; rest: the beginning of a record whose end is in the
 * next. */
struct perf_unpack {
	ZSTD_DStream *stream;
	struct buf rest;
	uint64_t in, out;
};

struct perf_id {
	uint64_t id;
	uint32_t attr;
};

struct perf_build_id {
	struct slice path, id;
};

struct perf_aux; /* perf_aux.c */

struct perf_reader {
	struct importer *im;
	struct slice file;
	struct slice data; /* of it, the records */
	uint64_t data_at;
	struct bt_error *err;
	struct perf_attr *attrs;
	size_t attr_count, attr_cap;
	struct perf_id *ids;
	size_t id_count, id_cap;
	bool ids_unsorted;
	struct perf_build_id *build_ids; /* sorted by path once the file is scanned */
	size_t build_id_count, build_id_cap;
	struct perf_queue queue;
	uint64_t newest, flush_to; /* perf's rule for rounds: records older than all of the last
				      round are complete */
	struct perf_unpack unpack;
	struct buf argv, cpu, kernel;
	char cpuid[64];
	struct perf_aux *aux;      /* NULL: no stream can be decoded */
	struct perf_fields fields; /* of the record being taken */
	struct {
		uint64_t lost, lost_samples, throttled, undescribed, aux_bytes, aux_type,
			callchains;
		bool aux, torn, unclosed;
	} seen;
};

/* perf_file.c. Finds the records: *data, at *offset. */
int perf_file_open(struct perf_reader *r, struct slice *data, uint64_t *offset);
int perf_add_attr(struct perf_reader *r, struct slice *attr, struct slice ids, uint64_t offset);
void perf_add_build_id(struct perf_reader *r, struct slice body, uint16_t misc);
int perf_feature(struct perf_reader *r, unsigned feature, struct slice section);
void perf_sort_tables(struct perf_reader *r);
struct perf_attr *perf_attr_by_id(struct perf_reader *r, uint64_t id);
struct slice perf_find_build_id(const struct perf_reader *r, struct slice path);
int perf_no_memory(struct perf_reader *r);

/* The bytes up to a NUL or the end. */
struct slice perf_c_string(struct slice s);

/* perf_tracing.c. Names the tracepoints from their formats; skips unreadable ones. Fails without
 * memory. */
int perf_tracing_data(struct perf_reader *r, struct slice in);

/* perf_aux.c. begin: takes AUXTRACE_INFO; false without memory; r->aux is NULL if its kind cannot
 * be decoded. add: takes the bytes behind an AUXTRACE record, before any call below. until: decodes
 * the streams up to a time of the capture's clock. record: takes an AUX record. runs: the thread
 * runs on that CPU (+ 1). finish: decodes the rest. */
bool perf_aux_begin(struct perf_reader *r, struct slice body);
int perf_aux_add(struct perf_reader *r, struct slice body, struct slice bytes);
int perf_aux_until(struct perf_reader *r, uint64_t time);
void perf_aux_record(struct perf_reader *r, struct slice body, const struct perf_fields *f);
void perf_aux_runs(struct perf_reader *r, struct import_thread_id id, uint32_t cpu);
int perf_aux_finish(struct perf_reader *r);
void perf_aux_release(struct perf_aux *x);

/* perf_unpack.c: calls take for each record in a compressed one. */
typedef int perf_take(struct perf_reader *r, const struct perf_record *record, bool transient);
int perf_unpack(struct perf_reader *r, struct slice packed, uint64_t offset, perf_take *take);
void perf_unpack_release(struct perf_unpack *u);

#endif
