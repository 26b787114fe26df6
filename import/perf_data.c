/* SPDX-License-Identifier: MIT */
/* The records of perf.data, in the order that perf gives them, as calls of the importer.
 *
 * A capture from a pipe has no header that describes the rest: an earlier pass (scan_records())
 * finds the events, build-ids and sections, which may stand anywhere in it.
 *
 * A record of the kernel's with a time waits in a queue (perf_queue.c), because each CPU's buffer
 * was written out on its own; perf marks rounds, after which nothing older can come. Then the row
 * of its type takes it (kernel_records). Hardware traces are decoded up to its time before
 * (perf_aux.c). Records of perf's own are taken at once (user_records); compressed ones are
 * unpacked to records of the kernel's (perf_unpack.c).
 *
 * Nothing in the file is trusted: the cursor checks every size. */
#include "import/perf_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "import/perf_private.h"
#include "lib/array_size.h"
#include "lib/page.h"

enum {
	RECORD_HEADER = 8,
	/* Records that wait to be put in order. Captures tell when waiting records can go; one that
	 * does not is sorted in a window. */
	QUEUE_MAX = 4 << 20,
	QUEUE_BYTES_MAX = 256 << 20,
	NO_PID = -1,
	EVENT_NAME = 2, /* of PERF_EVENT_UPDATE */
};

static int fail_damaged(struct perf_reader *r, const struct perf_record *record, const char *what)
{
	return bt_fail_at(r->err, BT_E_CORRUPT, record->offset,
			  "perf.data: %s at byte %" PRIu64 " is damaged", what, record->offset);
}

/* The attributes of the event that wrote a record: one event needs no id, several have theirs at
 * the same place. NULL: unknown. */
static const struct perf_attr *attr_of(struct perf_reader *r, const struct perf_record *record)
{
	struct slice body = record->body;
	const struct perf_attr *found;
	int at;

	if (r->attr_count <= 1)
		return r->attrs;
	if (record->type == PERF_SAMPLE) {
		at = perf_attr_id_in_sample(r->attrs);
		slice_take(&body, at < 0 ? body.len + 1 : 8 * (size_t)at);
	} else {
		at = perf_attr_id_in_others(r->attrs);
		slice_take(&body, at < 0 || body.len < 8 * (size_t)at ? body.len + 1
								      : body.len - 8 * (size_t)at);
	}
	if (body.bad)
		return r->attrs;
	found = perf_attr_by_id(r, slice_u64(&body));
	return found ? found : record->type == PERF_SAMPLE ? NULL : r->attrs;
}

/* The fields behind a record that is no sample: its time and thread, as far as the events say them.
 */
static const struct perf_fields *parse_trailer(struct perf_reader *r,
					       const struct perf_record *record)
{
	const struct perf_attr *a = attr_of(r, record);

	if (!a || !perf_trailer_parse(a, record->body, &r->fields))
		memset(&r->fields, 0, offsetof(struct perf_fields, branches));
	return &r->fields;
}

/* The bytes up to a NUL. */
/* --- one function for each type of record --- */

typedef int take_record(struct perf_reader *r, const struct perf_record *record);

static int take_sample(struct perf_reader *r, const struct perf_record *record)
{
	const struct perf_attr *a = attr_of(r, record);
	struct perf_fields *f = &r->fields;
	struct import_sample s;

	if (!a && !r->attr_count)
		return fail_damaged(r, record, "a sample before any event");
	if (!a) {
		r->seen.undescribed++;
		return 0;
	}
	if (!perf_sample_parse(a, record->body, f))
		return fail_damaged(r, record, "the sample");
	s = (struct import_sample){.id = f->id,
				   .time = f->time,
				   .ip = f->ip,
				   .cpu = f->cpu,
				   .event = bt_str(a->name),
				   .hw_index = f->hw_index,
				   .has_branches = f->has_branches,
				   .branches = f->branches,
				   .branch_count = f->branch_count,
				   .regs = f->has_regs ? &f->regs : NULL,
				   .stack = f->stack};
	importer_sample(r->im, &s);
	return 0;
}

static int take_comm(struct perf_reader *r, const struct perf_record *record)
{
	const struct perf_fields *f = parse_trailer(r, record);
	struct slice body = record->body;
	struct import_thread_id id = {slice_u32(&body), 0};

	id.tid = slice_u32(&body);
	if (body.bad)
		return fail_damaged(r, record, "the name of a thread");
	importer_comm(r->im, id, f->time, perf_c_string(body), record->misc & PERF_MISC_COMM_EXEC);
	return 0;
}

/* FORK and EXIT have the same fields. */
static int take_fork(struct perf_reader *r, const struct perf_record *record)
{
	struct slice body = record->body;
	struct import_thread_id id, parent;
	uint64_t time;

	id.pid = slice_u32(&body);
	parent.pid = slice_u32(&body);
	id.tid = slice_u32(&body);
	parent.tid = slice_u32(&body);
	time = slice_u64(&body);
	if (body.bad)
		return fail_damaged(r, record, record->type == PERF_FORK ? "a fork" : "an exit");
	/* Records that perf makes for a process that ran already: its own mappings follow, and it
	 * has none of its parent's. */
	if (record->type == PERF_FORK)
		importer_fork(r->im, id, parent, !(record->misc & PERF_MISC_FORK_EXEC), time);
	else
		importer_exit(r->im, id, time);
	return 0;
}

static int put_map(struct perf_reader *r, const struct perf_record *record, struct import_map *map,
		   struct slice *body, uint64_t len)
{
	map->path = perf_c_string(*body);
	map->end = map->start + len;
	if (body->bad || map->end < map->start)
		return fail_damaged(r, record, "a mapping");
	/* The kernel's and its modules': no process has them. */
	if ((record->misc & PERF_MISC_CPUMODE) == PERF_MISC_KERNEL || map->pid == (uint32_t)NO_PID)
		return 0;
	if (!map->build_id.len)
		map->build_id = perf_find_build_id(r, map->path);
	importer_map(r->im, map);
	return 0;
}

static int take_mmap(struct perf_reader *r, const struct perf_record *record)
{
	struct slice body = record->body;
	struct import_map map = {.pid = slice_u32(&body),
				 .prot = record->misc & PERF_MISC_MMAP_DATA
						 ? BT_PROT_READ | BT_PROT_WRITE
						 : BT_PROT_READ | BT_PROT_EXEC};
	uint64_t len;

	slice_take(&body, 4);
	map.start = slice_u64(&body);
	len = slice_u64(&body);
	map.offset = slice_u64(&body);
	return put_map(r, record, &map, &body, len);
}

static int take_mmap2(struct perf_reader *r, const struct perf_record *record)
{
	struct slice body = record->body, identity;
	struct import_map map = {.pid = slice_u32(&body)};
	uint64_t len, major;

	slice_take(&body, 4);
	map.start = slice_u64(&body);
	len = slice_u64(&body);
	map.offset = slice_u64(&body);
	identity = slice_take(&body, 24);
	if (record->misc & PERF_MISC_MMAP_BUILD_ID) {
		size_t n = slice_u8(&identity);

		slice_take(&identity, 3);
		map.build_id = slice_take(&identity, n < 20 ? n : 20);
	} else {
		major = slice_u32(&identity);
		map.dev = major << 8 | slice_u32(&identity);
		map.ino = slice_u64(&identity);
	}
	map.prot = slice_u32(&body) & (BT_PROT_READ | BT_PROT_WRITE | BT_PROT_EXEC);
	map.shared = slice_u32(&body) & 1; /* MAP_SHARED */
	return put_map(r, record, &map, &body, len);
}

static int take_switch(struct perf_reader *r, const struct perf_record *record)
{
	const struct perf_fields *f = parse_trailer(r, record);
	enum bt_sched what = !(record->misc & PERF_MISC_SWITCH_OUT)    ? BT_SCHED_IN
			     : record->misc & PERF_MISC_SWITCH_PREEMPT ? BT_SCHED_PREEMPT
								       : BT_SCHED_OUT;

	if (f->id.tid)
		importer_sched(r->im, f->id, f->time, f->cpu, what);
	if (what == BT_SCHED_IN)
		perf_aux_runs(r, f->id, f->cpu);
	return 0;
}

/* Tracing of a thread that runs already begins. */
static int take_itrace_start(struct perf_reader *r, const struct perf_record *record)
{
	const struct perf_fields *f = parse_trailer(r, record);
	struct slice body = record->body;
	struct import_thread_id id = {slice_u32(&body), 0};

	id.tid = slice_u32(&body);
	if (body.bad)
		return fail_damaged(r, record, "the start of a trace");
	perf_aux_runs(r, id, f->cpu);
	return 0;
}

static int take_aux(struct perf_reader *r, const struct perf_record *record)
{
	perf_aux_record(r, record->body, parse_trailer(r, record));
	return 0;
}

static int take_lost(struct perf_reader *r, const struct perf_record *record)
{
	struct slice body = record->body;

	if (record->type == PERF_LOST)
		slice_take(&body, 8); /* the event's id */
	*(record->type == PERF_LOST ? &r->seen.lost : &r->seen.lost_samples) += slice_u64(&body);
	if (body.bad)
		return fail_damaged(r, record, "a note of lost records");
	importer_lost(r->im);
	return 0;
}

static int take_throttle(struct perf_reader *r, const struct perf_record *record)
{
	(void)record;
	r->seen.throttled++;
	return 0;
}

/* In the order of their times. */
static take_record *const kernel_records[] = {
	[PERF_MMAP] = take_mmap,
	[PERF_LOST] = take_lost,
	[PERF_COMM] = take_comm,
	[PERF_EXIT] = take_fork,
	[PERF_THROTTLE] = take_throttle,
	[PERF_FORK] = take_fork,
	[PERF_SAMPLE] = take_sample,
	[PERF_MMAP2] = take_mmap2,
	[PERF_AUX] = take_aux,
	[PERF_ITRACE_START] = take_itrace_start,
	[PERF_LOST_SAMPLES] = take_lost,
	[PERF_SWITCH] = take_switch,
	[PERF_SWITCH_CPU_WIDE] = take_switch,
};

static int deliver_record(struct perf_reader *r, const struct perf_record *record, uint64_t time)
{
	take_record *take =
		record->type < ARRAY_SIZE(kernel_records) ? kernel_records[record->type] : NULL;
	bool maps = record->type == PERF_MMAP || record->type == PERF_MMAP2;
	int rc = 0;

	/* A mapping is rather known too early than too late: the times of a trace are not as fine
	 * as the capture's. */
	if (take && time && !maps)
		rc = perf_aux_until(r, time);
	return take && !rc ? take(r, record) : rc;
}

/* --- order --- */

static int deliver_oldest(struct perf_reader *r)
{
	struct perf_queued item = perf_queue_take(&r->queue);
	int rc = deliver_record(r, &item.record, item.time);

	if (item.owned)
		free((void *)(uintptr_t)item.record.body.at);
	return rc;
}

/* perf's rule: at the end of a round nothing older than the newest record of the round before can
 * come any more. */
static int finish_round(struct perf_reader *r)
{
	int rc = 0;

	while (!rc && r->queue.count && r->queue.at[0].time <= r->flush_to)
		rc = deliver_oldest(r);
	r->flush_to = r->newest;
	return rc;
}

static int finish_all(struct perf_reader *r)
{
	int rc = 0;

	while (!rc && r->queue.count)
		rc = deliver_oldest(r);
	return rc;
}

/* A record of the kernel's: it waits for its time, or is taken at once where it has none.
 * transient: its bytes will not stay. */
static int take_kernel_record(struct perf_reader *r, const struct perf_record *record,
			      bool transient)
{
	const struct perf_attr *a = attr_of(r, record);
	uint64_t time = a ? perf_record_time(a, record->type, record->body) : 0;
	int rc = 0;

	if (!time || time == UINT64_MAX)
		return deliver_record(r, record, 0);
	if (time > r->newest)
		r->newest = time;
	if (!perf_queue_put(&r->queue, time, record, transient))
		return perf_no_memory(r);
	while (!rc && (r->queue.count > QUEUE_MAX || r->queue.bytes > QUEUE_BYTES_MAX))
		rc = deliver_oldest(r);
	return rc;
}

/* --- the stream --- */

/* The bytes behind a record that its size does not count: the trace behind AUXTRACE, in a pipe the
 * format of tracepoints. */
static uint64_t bytes_behind(const struct perf_record *record)
{
	struct slice body = record->body;

	if (record->type == PERF_AUXTRACE)
		return slice_u64(&body);
	if (record->type == PERF_TRACING_DATA)
		return ((uint64_t)slice_u32(&body) + 7) & ~7ull;
	return 0;
}

/* Takes the next record and the bytes behind it (*bytes) off in. Returns 1; 0 at the end, torn when
 * that is in the middle of a record; an error. */
static int next_record(struct perf_reader *r, struct slice *in, struct perf_record *record,
		       uint64_t end, struct slice *bytes)
{
	struct slice head = *in;
	uint64_t behind;
	uint16_t size;

	*record = (struct perf_record){
		.type = slice_u32(&head), .misc = slice_u16(&head), .offset = end - in->len};
	size = slice_u16(&head);
	if (!in->len)
		return 0;
	if (!head.bad && size < RECORD_HEADER)
		return bt_fail_at(r->err, BT_E_CORRUPT, record->offset,
				  "perf.data: the record at byte %" PRIu64
				  " has size %u, less than its header",
				  record->offset, size);
	if (head.bad || size > in->len) {
		r->seen.torn = true;
		return 0;
	}
	record->body = slice_take(&head, size - RECORD_HEADER);
	behind = bytes_behind(record);
	slice_take(in, size);
	if (behind > in->len) {
		r->seen.torn = true;
		return 0;
	}
	*bytes = slice_take(in, (size_t)behind);
	if (record->type == PERF_AUXTRACE) {
		r->seen.aux = true;
		r->seen.aux_bytes += behind;
	}
	return 1;
}

/* --- records of perf's own --- */

static int take_attr(struct perf_reader *r, const struct perf_record *record)
{
	struct slice body = record->body, attr = body;
	struct perf_attr parsed;

	if (!perf_attr_parse(&parsed, &body))
		return fail_damaged(r, record, "the event description");
	return perf_add_attr(r, &attr, body, record->offset);
}

static int take_update(struct perf_reader *r, const struct perf_record *record)
{
	struct slice body = record->body, name;
	uint64_t what = slice_u64(&body);
	struct perf_attr *a = perf_attr_by_id(r, slice_u64(&body));

	name = perf_c_string(body);
	if (what == EVENT_NAME && a && !body.bad && name.len)
		snprintf(a->name, sizeof a->name, "%.*s",
			 (int)(name.len < PERF_NAME_MAX ? name.len : PERF_NAME_MAX - 1),
			 (const char *)name.at);
	return 0;
}

static int take_compressed(struct perf_reader *r, const struct perf_record *record);

static int take_round(struct perf_reader *r, const struct perf_record *record)
{
	(void)record;
	return finish_round(r);
}

/* The trace data stand behind records anywhere in the file, and are needed in the order of time. */
static int take_auxtrace_info(struct perf_reader *r, const struct perf_record *record)
{
	struct slice body = record->body, in = r->data, bytes;
	struct perf_record next;
	int rc = 0;

	if (r->aux)
		return 0; /* said twice */
	r->seen.aux = true;
	r->seen.aux_type = slice_u32(&body);
	if (!perf_aux_begin(r, record->body))
		return perf_no_memory(r);
	while (r->aux && !rc &&
	       (rc = next_record(r, &in, &next, r->data_at + r->data.len, &bytes)) == 1)
		rc = next.type == PERF_AUXTRACE ? perf_aux_add(r, next.body, bytes) : 0;
	r->seen.aux_bytes = 0; /* counted when they are read in earnest */
	return rc < 0 ? rc : 0;
}

static take_record *const user_records[] = {
	[PERF_FINISHED_ROUND - PERF_USER_FIRST] = take_round,
	[PERF_AUXTRACE_INFO - PERF_USER_FIRST] = take_auxtrace_info,
	[PERF_EVENT_UPDATE - PERF_USER_FIRST] = take_update,
	[PERF_COMPRESSED - PERF_USER_FIRST] = take_compressed,
	[PERF_COMPRESSED2 - PERF_USER_FIRST] = take_compressed,
};

static int take_any_record(struct perf_reader *r, const struct perf_record *record, bool transient)
{
	uint32_t user = record->type - PERF_USER_FIRST;

	if (importer_failed(r->im))
		return 0;
	if (record->type < PERF_USER_FIRST)
		return take_kernel_record(r, record, transient);
	if (user < ARRAY_SIZE(user_records) && user_records[user])
		return user_records[user](r, record);
	return 0;
}

/* In a compressed record are the kernel's only. */
static int take_unpacked(struct perf_reader *r, const struct perf_record *record, bool transient)
{
	return record->type < PERF_USER_FIRST ? take_any_record(r, record, transient) : 0;
}

static int take_compressed(struct perf_reader *r, const struct perf_record *record)
{
	struct slice body = record->body;

	/* The later kind is padded: the number of bytes that count comes first. */
	if (record->type == PERF_COMPRESSED2) {
		uint64_t size = slice_u64(&body);

		if (body.bad || size > body.len)
			return fail_damaged(r, record, "the compressed record");
		body.len = (size_t)size;
	}
	return perf_unpack(r, body, record->offset, take_unpacked);
}

/* --- the whole --- */

/* Records that name events, which may be described later. */
struct scanned {
	struct slice event_names, tracing_data;
};

/* The global records of a pipe: events, sections, build-ids (these even at its end). All are needed
 * first. */
static int scan_record(struct perf_reader *r, const struct perf_record *record, struct slice behind,
		       struct scanned *s)
{
	struct slice body = record->body;
	uint64_t feature;

	if (record->type == PERF_HEADER_ATTR)
		return take_attr(r, record);
	if (record->type == PERF_HEADER_BUILD_ID)
		perf_add_build_id(r, body, record->misc);
	if (record->type == PERF_TRACING_DATA)
		s->tracing_data = behind;
	if (record->type != PERF_HEADER_FEATURE)
		return 0;
	feature = slice_u64(&body);
	if (feature == PERF_FEATURE_EVENT_DESC) {
		s->event_names = body;
		return 0;
	}
	return body.bad || feature > UINT8_MAX ? 0 : perf_feature(r, (unsigned)feature, body);
}

static int scan_records(struct perf_reader *r, struct slice in, uint64_t end)
{
	struct scanned seen = {.event_names = {0}};
	struct perf_record record;
	struct slice bytes;
	int rc;

	while ((rc = next_record(r, &in, &record, end, &bytes)) == 1) {
		rc = scan_record(r, &record, bytes, &seen);
		if (rc)
			return rc;
	}
	r->seen.aux_bytes = 0; /* counted when they are read in earnest */
	if (!rc)
		rc = perf_tracing_data(r, seen.tracing_data);
	return rc < 0 ? rc : perf_feature(r, PERF_FEATURE_EVENT_DESC, seen.event_names);
}

static void fill_header(struct perf_reader *r)
{
	struct bt_record_header *h = importer_header(r->im);

	h->argv = slice_of(r->argv.data, r->argv.len);
	h->cpu = slice_of(r->cpu.data, r->cpu.len);
	h->kernel = slice_of(r->kernel.data, r->kernel.len);
	h->source = bt_str("none");
	for (size_t i = 0; i < r->attr_count; i++)
		if (perf_attr_has_branches(&r->attrs[i]))
			h->source = bt_str("lbr");
}

static int take_all(struct perf_reader *r, struct slice in, uint64_t end)
{
	struct perf_record record;
	struct slice bytes;
	int rc = 0;

	fill_header(r);
	importer_comm(r->im, (struct import_thread_id){0}, 0, bt_str("swapper"),
		      false); /* as perf calls a processor's idle task */
	while (!rc && !importer_failed(r->im) &&
	       (rc = next_record(r, &in, &record, end, &bytes)) == 1)
		rc = take_any_record(r, &record, false);
	rc = rc ? rc : finish_all(r);
	return rc ? rc : perf_aux_finish(r);
}

static void note_losses(struct perf_reader *r)
{
	static const char *const types[] = {"",
					    "Intel PT",
					    "Intel BTS",
					    "CoreSight ETM",
					    "Arm SPE",
					    "S/390 CPU-measurement",
					    "HiSilicon PTT"};
	uint64_t type = r->seen.aux_type;

	if (r->seen.aux && !r->aux)
		importer_note(r->im,
			      "the capture holds %" PRIu64
			      " bytes of %s data, which this btrec does not decode",
			      r->seen.aux_bytes,
			      type && type < ARRAY_SIZE(types) ? types[type] : "AUX area");
	if (r->seen.lost)
		importer_note(r->im, "the kernel lost %" PRIu64 " records", r->seen.lost);
	if (r->seen.lost_samples)
		importer_note(r->im, "the hardware or the kernel lost %" PRIu64 " samples",
			      r->seen.lost_samples);
	if (r->seen.undescribed)
		importer_note(r->im,
			      "%" PRIu64 " samples are of events that the capture does not "
			      "describe: they are left out",
			      r->seen.undescribed);
	if (r->seen.throttled)
		importer_note(r->im, "the kernel throttled the sampling %" PRIu64 " times",
			      r->seen.throttled);
	if (r->seen.torn || r->seen.unclosed)
		importer_warn(r->im,
			      "the capture was cut off: its recording did not end as it should");
}

static void release_reader(struct perf_reader *r)
{
	free(r->attrs);
	free(r->ids);
	free(r->build_ids);
	perf_queue_release(&r->queue);
	perf_unpack_release(&r->unpack);
	perf_aux_release(r->aux);
	buf_release(&r->argv);
	buf_release(&r->cpu);
	buf_release(&r->kernel);
	free(r);
}

int perf_data_import(struct importer *im, struct slice file, struct bt_error *err)
{
	struct perf_reader *r = calloc(1, sizeof *r);
	struct slice data = {0};
	uint64_t offset = 0;
	bool pipe;
	int rc;

	if (!r)
		return bt_no_memory(err, "the import");
	r->im = im;
	r->file = file;
	r->err = err;
	rc = perf_file_open(r, &data, &offset);
	pipe = !rc && offset == 16;
	if (!rc && pipe)
		rc = scan_records(r, data, offset + data.len);
	perf_sort_tables(r);
	r->data = data;
	r->data_at = offset;
	if (!rc)
		rc = take_all(r, data, offset + data.len);
	if (!rc) {
		importer_writer(
			im); /* also of a capture without records; the header's strings are ours */
		note_losses(r);
	}
	release_reader(r);
	return rc;
}
