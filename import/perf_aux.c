/* SPDX-License-Identifier: MIT */
/* AUX area data of perf.data: Intel PT and BTS. The bytes stand behind AUXTRACE records, anywhere
 * in the file, a stream for each CPU or thread; other records tell which thread ran when. Intel PT
 * has times: before a record is taken, the streams are decoded up to its time. BTS has none: a
 * piece is taken with its AUX record. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hardware_decoders/bts_flow.h"
#include "hardware_decoders/pt_flow.h"
#include "import/perf_private.h"
#include "lib/bisect.h"

enum {
	TYPE_PT = 1,
	TYPE_BTS = 2,
	STREAMS_MAX = 1 << 14,
	NO_CPU = -1,
	/* PERF_AUX_FLAG_* */
	AUX_TRUNCATED = 1,
	AUX_OVERWRITE = 2,
	AUX_PARTIAL = 4,
	AUX_COLLISION = 8,
};

/* Indices of AUXTRACE_INFO for Intel PT (tools/perf/util/intel-pt.h). BTS has the first five. */
enum pt_info {
	INFO_PMU_TYPE,
	INFO_TIME_SHIFT,
	INFO_TIME_MULT,
	INFO_TIME_ZERO,
	INFO_HAS_TIME,
	INFO_TSC_BIT,
	INFO_MTC_FREQ_BITS = 11,
	INFO_TSC_CTC_N,
	INFO_TSC_CTC_D,
	INFO_NONTURBO = 15,
	INFO_WORDS,
};

/* Bytes that follow each other in the stream. */
struct aux_piece {
	uint64_t offset;
	struct slice bytes;
	uint8_t *owned; /* bytes of several records put together; NULL: in the file */
	size_t room;
};

struct aux_stream {
	struct perf_aux *aux;
	uint32_t idx;
	int32_t cpu; /* NO_CPU: of a thread */
	struct import_thread_id
		running; /* the thread whose code the stream has now; tid 0: no traced thread */
	struct aux_piece *pieces;
	size_t count, cap, at, part; /* part: bytes of the piece that were begun with */
	uint64_t end;                /* of that part: its offset in the stream */
	/* Without times: offsets before which something is missing, and that several threads ran
	 * there. */
	uint64_t *cuts;
	size_t cut_count, cut_cap;
	bool shared;
	uint64_t taken; /* of BTS: the offset up to which it was */
	struct pt_flow *flow;
	struct flow_item next;
	bool has_next;
};

/* A thread's way in and out of user code, by tid. */
struct way {
	uint32_t tid;
	struct flow_join join;
};

struct perf_aux {
	struct perf_reader *r;
	uint64_t type, info[INFO_WORDS];
	uint16_t family;
	uint8_t model, stepping;
	bool intel, timed, failed; /* failed: no memory */
	struct aux_stream *streams;
	size_t count, cap;
	struct way *ways; /* sorted by tid */
	size_t way_count, way_cap;
	uint64_t gaps, truncated, partial;
};

/* --- the bytes --- */

static struct aux_stream *stream_of(struct perf_aux *x, uint32_t idx, uint32_t tid, int32_t cpu)
{
	struct aux_stream *at;

	for (size_t i = 0; i < x->count; i++)
		if (x->streams[i].idx == idx && x->streams[i].cpu == cpu)
			return &x->streams[i];
	at = array_grow(x->streams, x->count, &x->cap, sizeof *at);
	if (!at)
		return NULL;
	x->streams = at;
	at[x->count] = (struct aux_stream){
		.idx = idx, .cpu = cpu, .running = {0, cpu == NO_CPU ? tid : 0}};
	return &at[x->count++];
}

static bool append_to_piece(struct aux_piece *p, struct slice bytes)
{
	size_t len = p->bytes.len + bytes.len, room = p->room ? p->room : len;
	uint8_t *at;

	while (room < len)
		room *= 2;
	at = room == p->room ? p->owned : realloc(p->owned, room);
	if (!at)
		return false;
	if (!p->owned)
		memcpy(at, p->bytes.at, p->bytes.len);
	memcpy(at + p->bytes.len, bytes.at, bytes.len);
	p->owned = at;
	p->room = room;
	p->bytes = slice_of(at, len);
	return true;
}

/* Snapshots may overlap or leave gaps. Bytes that are there already are skipped; bytes that do not
 * follow begin a new piece. */
static bool add_bytes(struct aux_stream *s, uint64_t offset, struct slice bytes)
{
	struct aux_piece *last = s->count ? &s->pieces[s->count - 1] : NULL;
	uint64_t end = last ? last->offset + last->bytes.len : 0,
		 known = last && offset < end && offset >= last->offset ? end - offset : 0;

	slice_take(&bytes, known < bytes.len ? (size_t)known : bytes.len);
	if (!bytes.len)
		return true;
	if (last && offset + known == end)
		return append_to_piece(last, bytes);
	last = array_grow(s->pieces, s->count, &s->cap, sizeof *last);
	if (!last)
		return false;
	s->pieces = last;
	last[s->count++] = (struct aux_piece){.offset = offset + known, .bytes = bytes};
	return true;
}

int perf_aux_add(struct perf_reader *r, struct slice body, struct slice bytes)
{
	uint64_t offset;
	uint32_t idx, tid;
	struct aux_stream *s;

	slice_take(&body, 8);
	offset = slice_u64(&body);
	slice_take(&body, 8);
	idx = slice_u32(&body);
	tid = slice_u32(&body);
	if (r->aux->count == STREAMS_MAX)
		return bt_fail(r->err, BT_E_UNSUPPORTED, 0,
			       "perf.data: more than %d streams of trace data", STREAMS_MAX - 1);
	s = stream_of(r->aux, idx, tid, (int32_t)slice_u32(&body));
	return s && add_bytes(s, offset, bytes) ? 0 : perf_no_memory(r);
}

/* --- the capture's own description --- */

static uint64_t config_of(const struct perf_aux *x)
{
	for (size_t i = 0; i < x->r->attr_count; i++)
		if (x->r->attrs[i].type == x->info[INFO_PMU_TYPE])
			return x->r->attrs[i].config;
	return 0;
}

/* "GenuineIntel,6,78,3": family, model, stepping. */
static void read_cpuid(struct perf_aux *x)
{
	unsigned family, model, stepping;

	x->intel = sscanf(x->r->cpuid, "GenuineIntel,%u,%u,%u", &family, &model, &stepping) == 3;
	if (!x->intel)
		return;
	x->family = (uint16_t)family;
	x->model = (uint8_t)model;
	x->stepping = (uint8_t)stepping;
}

bool perf_aux_begin(struct perf_reader *r, struct slice body)
{
	struct perf_aux *x = calloc(1, sizeof *x);

	if (!x)
		return false;
	x->r = r;
	x->type = slice_u32(&body);
	slice_take(&body, 4);
	for (size_t i = 0; i < INFO_WORDS && body.len >= 8; i++)
		x->info[i] = slice_u64(&body);
	if (x->type != TYPE_PT && x->type != TYPE_BTS) {
		free(x);
		return true;
	}
	read_cpuid(x);
	x->timed = x->type == TYPE_PT && x->info[INFO_HAS_TIME] && x->info[INFO_TIME_SHIFT] < 64 &&
		   config_of(x) & x->info[INFO_TSC_BIT];
	r->aux = x;
	importer_traced(r->im);
	importer_header(r->im)->source = bt_str(x->type == TYPE_PT ? "pt" : "bts");
	return true;
}

void perf_aux_release(struct perf_aux *x)
{
	if (!x)
		return;
	for (size_t i = 0; i < x->count; i++) {
		pt_flow_free(x->streams[i].flow);
		for (size_t k = 0; k < x->streams[i].count; k++)
			free(x->streams[i].pieces[k].owned);
		free(x->streams[i].pieces);
		free(x->streams[i].cuts);
	}
	free(x->streams);
	free(x->ways);
	free(x);
}

/* The capture's clock from the processor's (perf_event_mmap_page, time_zero). */
static uint64_t time_of_tsc(const struct perf_aux *x, uint64_t tsc)
{
	unsigned shift = (unsigned)x->info[INFO_TIME_SHIFT];
	uint64_t mult = x->info[INFO_TIME_MULT], rest = tsc & ((1ull << shift) - 1);

	return x->info[INFO_TIME_ZERO] + (tsc >> shift) * mult + (rest * mult >> shift);
}

/* --- entries --- */

static struct flow_join *join_of(struct perf_aux *x, uint32_t tid)
{
	size_t i;
	struct way *at;

	BISECT(i, x->way_count, x->ways[i].tid < tid);
	if (i < x->way_count && x->ways[i].tid == tid)
		return &x->ways[i].join;
	at = array_grow(x->ways, x->way_count, &x->way_cap, sizeof *at);
	if (!at)
		return NULL;
	x->ways = at;
	memmove(at + i + 1, at + i, (x->way_count - i) * sizeof *at);
	at[i] = (struct way){.tid = tid};
	x->way_count++;
	return &at[i].join;
}

/* The thread whose code is read or entered now. A thread of unknown process counts as a process of
 * its own. */
static const struct import_thread_id *running_of(struct aux_stream *s)
{
	if (s->running.tid && !s->running.pid)
		s->running.pid = s->running.tid;
	return &s->running;
}

static void take_item(void *arg, const struct flow_item *item)
{
	struct aux_stream *s = arg;
	const struct import_thread_id *running = running_of(s);
	struct flow_join *join = running->tid ? join_of(s->aux, running->tid) : NULL;
	struct bt_branch b;

	s->aux->failed |= running->tid && !join;
	if (!join)
		return;
	if (item->kind == FLOW_GAP && item->branch.to == BT_GAP_UNDECODED && item->addr &&
	    !flow_is_kernel(item->addr) &&
	    !importer_code(s->aux->r->im, *running, item->addr, (uint8_t[1]){0}, 1))
		importer_lacks(s->aux->r->im, *running, item->addr);
	if (flow_join(join, item, &b) && importer_entry(s->aux->r->im, *running, &b))
		s->aux->gaps += item->kind == FLOW_GAP;
}

static size_t read_code(void *arg, uint64_t addr, uint8_t *bytes, size_t n)
{
	struct aux_stream *s = arg;
	const struct import_thread_id *running = running_of(s);

	return running->tid ? importer_code(s->aux->r->im, *running, addr, bytes, n) : 0;
}

static void take_gap(struct aux_stream *s, enum bt_gap_reason reason)
{
	const struct flow_item gap = {.kind = FLOW_GAP,
				      .branch = {.kind = BT_BRANCH_GAP, .to = reason}};

	take_item(s, &gap);
}

/* --- Intel PT --- */

static int begin_flow(struct aux_stream *s, struct slice bytes, enum bt_gap_reason head)
{
	const struct perf_aux *x = s->aux;
	uint64_t bits = x->info[INFO_MTC_FREQ_BITS], config = config_of(x);
	struct pt_flow_config c = {.bytes = bytes,
				   .intel = x->intel,
				   .family = x->family,
				   .model = x->model,
				   .stepping = x->stepping,
				   .ctc_numerator = (uint32_t)x->info[INFO_TSC_CTC_N],
				   .ctc_denominator = (uint32_t)x->info[INFO_TSC_CTC_D],
				   .nominal_ratio = (uint8_t)x->info[INFO_NONTURBO],
				   .head = head,
				   .code = read_code,
				   .arg = s};

	if (bits)
		c.mtc_freq = (uint8_t)((config & bits) / (bits & -bits));
	return pt_flow_new(&s->flow, &c, x->r->err);
}

/* The first cut at or behind an offset; UINT64_MAX: there is none. */
static uint64_t next_cut(const struct aux_stream *s, uint64_t offset)
{
	size_t i;

	BISECT(i, s->cut_count, s->cuts[i] < offset);
	return i < s->cut_count ? s->cuts[i] : UINT64_MAX;
}

static int compare_cuts(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The next part of the stream: as far as bytes follow each other, and up to where something is
 * missing. */
static int begin_part(struct aux_stream *s)
{
	const struct aux_piece *p = &s->pieces[s->at];
	uint64_t start = p->offset + s->part, cut;
	enum bt_gap_reason before = BT_GAP_OVERWRITTEN;
	struct slice bytes = p->bytes;

	if (!s->at && !s->part && s->cut_count)
		qsort(s->cuts, s->cut_count, sizeof *s->cuts, compare_cuts);
	if (s->at || s->part) {
		before = next_cut(s, s->end) <= start ? BT_GAP_LOST : BT_GAP_OVERWRITTEN;
		take_gap(s, before);
	}
	slice_take(&bytes, s->part);
	cut = next_cut(s, start + 1);
	if (cut > start && cut - start < bytes.len) /* offsets of the file are not trusted */
		bytes.len = (size_t)(cut - start);
	s->part += bytes.len;
	s->end = start + bytes.len;
	return begin_flow(s, bytes, before);
}

/* Makes s->next the stream's next item. */
static int next_item(struct aux_stream *s)
{
	int rc;

	s->has_next = false;
	while (s->at < s->count && !s->has_next) {
		rc = s->flow ? 0 : begin_part(s);
		if (rc)
			return rc;
		s->has_next = pt_flow_next(s->flow, &s->next) == 1;
		if (s->has_next)
			break;
		pt_flow_free(s->flow);
		s->flow = NULL;
		if (s->part == s->pieces[s->at].bytes.len) {
			s->at++;
			s->part = 0;
		}
		if (s->at == s->count && next_cut(s, s->end) != UINT64_MAX)
			take_gap(s, BT_GAP_LOST);
	}
	return 0;
}

static int pull_items(struct aux_stream *s, uint64_t time)
{
	int rc = 0;

	while (!rc && !importer_failed(s->aux->r->im)) {
		if (s->has_next && s->next.tsc && time != UINT64_MAX &&
		    time_of_tsc(s->aux, s->next.tsc) > time)
			return 0;
		if (s->has_next)
			take_item(s, &s->next);
		rc = next_item(s);
		if (!s->has_next)
			break;
	}
	return rc;
}

/* A stream of a thread says its tid alone: its process is told by the records, sooner or later. */
static void know_process(struct perf_aux *x, struct aux_stream *s)
{
	s->aux = x;
	if (s->running.tid && !s->running.pid)
		s->running.pid = importer_pid(x->r->im, s->running.tid);
}

static bool add_cut(struct aux_stream *s, uint64_t offset)
{
	uint64_t *at = array_grow(s->cuts, s->cut_count, &s->cut_cap, sizeof *at);

	if (!at)
		return false;
	s->cuts = at;
	at[s->cut_count++] = offset;
	return true;
}

/* Bytes are missing. With times: before now. Without: behind the record's bytes, if it names
 * them. */
static void take_missing(struct perf_aux *x, struct aux_stream *s, uint64_t end, uint64_t flags)
{
	s->aux = x;
	if (x->timed)
		take_gap(s, BT_GAP_LOST);
	else if (!(flags & AUX_OVERWRITE))
		x->failed |= !add_cut(s, end);
}

int perf_aux_until(struct perf_reader *r, uint64_t time)
{
	struct perf_aux *x = r->aux;
	int rc = 0;

	if (!x || x->type != TYPE_PT || (time != UINT64_MAX && !x->timed))
		return 0;
	for (size_t i = 0; i < x->count && !rc; i++) {
		know_process(x, &x->streams[i]);
		rc = x->streams[i].shared ? 0 : pull_items(&x->streams[i], time);
	}
	return !rc && x->failed ? perf_no_memory(r) : rc;
}

/* --- BTS --- */

static void take_bts(struct aux_stream *s, uint64_t offset, uint64_t end)
{
	const struct bts_code code = {.code = read_code, .arg = s};

	for (size_t i = 0; i < s->count; i++) {
		struct slice bytes = s->pieces[i].bytes;
		uint64_t from = s->pieces[i].offset, skip = offset > from ? offset - from : 0;

		if (skip >= bytes.len || end <= from)
			continue;
		if (end - from < bytes.len)
			bytes.len = (size_t)(end - from);
		slice_take(&bytes, (size_t)skip);
		bts_records(bytes, &code, take_item, s);
	}
	s->taken = end;
}

static void take_bts_piece(struct perf_aux *x, struct aux_stream *s, const struct perf_fields *f,
			   uint64_t offset, uint64_t end, bool missing)
{
	s->aux = x;
	s->running = f->id;
	take_bts(s, offset, end);
	if (missing)
		take_gap(s, BT_GAP_LOST);
}

/* --- AUX records --- */

static struct aux_stream *stream_of_record(struct perf_aux *x, const struct perf_fields *f)
{
	for (size_t i = 0; i < x->count; i++)
		if (x->streams[i].cpu == NO_CPU ? x->streams[i].running.tid == f->id.tid
						: x->streams[i].cpu == (int32_t)f->cpu - 1)
			return &x->streams[i];
	return NULL;
}

void perf_aux_record(struct perf_reader *r, struct slice body, const struct perf_fields *f)
{
	uint64_t offset = slice_u64(&body), size = slice_u64(&body), flags = slice_u64(&body);
	bool missing = flags & (AUX_TRUNCATED | AUX_PARTIAL | AUX_COLLISION);
	struct perf_aux *x = r->aux;
	struct aux_stream *s = x && !body.bad ? stream_of_record(x, f) : NULL;

	if (!x || body.bad)
		return;
	x->truncated += (flags & AUX_TRUNCATED) != 0;
	x->partial += missing && !(flags & AUX_TRUNCATED);
	if (!s || size > UINT64_MAX - offset)
		return;
	if (s->cpu == NO_CPU && !s->running.pid)
		s->running.pid = f->id.pid;
	if (x->type == TYPE_BTS)
		take_bts_piece(x, s, f, offset, offset + size, missing);
	else if (missing)
		take_missing(x, s, offset + size, flags);
}

/* --- the running threads --- */

void perf_aux_runs(struct perf_reader *r, struct import_thread_id id, uint32_t cpu)
{
	struct perf_aux *x = r->aux;

	for (size_t i = 0; x && i < x->count; i++) {
		struct aux_stream *s = &x->streams[i];

		if (s->cpu == NO_CPU || s->cpu != (int32_t)cpu - 1 || (!x->timed && !id.tid))
			continue;
		s->shared |= x->type == TYPE_PT && !x->timed && s->running.tid &&
			     s->running.tid != id.tid;
		s->running = id;
	}
}

static void note_losses(struct perf_aux *x)
{
	const char *name = x->type == TYPE_PT ? "Intel PT" : "Intel BTS";
	struct importer *im = x->r->im;

	if (x->gaps)
		importer_note(
			im, "%s: %" PRIu64 " gaps, where data could not be decoded or are missing",
			name, x->gaps);
	if (x->truncated)
		importer_note(im,
			      "the buffer for %s was too small %" PRIu64
			      " times: data are missing there (perf record -m,SIZE)",
			      name, x->truncated);
	if (x->partial)
		importer_note(im,
			      "%s was not recorded in whole %" PRIu64
			      " times: data are missing there (virtual machines ran, or the "
			      "processor lost some)",
			      name, x->partial);
	for (size_t i = 0; i < x->count; i++)
		if (x->streams[i].shared)
			importer_note(im,
				      "%s of CPU %d has no times, and several threads ran there: "
				      "whose branches it holds nobody can tell",
				      name, (int)x->streams[i].cpu);
}

int perf_aux_finish(struct perf_reader *r)
{
	struct perf_aux *x = r->aux;
	int rc = perf_aux_until(r, UINT64_MAX);

	if (!x || rc)
		return rc;
	for (size_t i = 0; x->type == TYPE_BTS && i < x->count; i++) {
		know_process(x, &x->streams[i]);
		take_bts(&x->streams[i], x->streams[i].taken, UINT64_MAX);
	}
	if (x->failed)
		return perf_no_memory(r);
	note_losses(x);
	return 0;
}
