/* SPDX-License-Identifier: MIT */
/* A task's history is in its file as chunks, one BRANCHES or BRANCH_GRAPH record each. They may
 * overlap, lack what lies between them, or be damaged.
 *
 * The file is read twice. First only the heads of chunks are read and sorted; the first chunk that
 * has an entry keeps it; of too many entries the oldest are dropped. This gives the size of the
 * history. Then each chunk is decoded into its place, with tick, transfers and epoch counted on
 * from its head. At last the chunks are moved together, with a gap for missing entries between
 * them, and its reason.
 *
 * For sources that tell only branches taken, entries that they are known to record wrongly are
 * dropped (QUIRK(skl-dup0), QUIRK(lbr-speculative)).
 *
 * The code between two entries is not stored: history_straight() decodes it from the code of the
 * epoch. */
#include "decoder/model/history.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "format/branch_entries.h"
#include "format/trace_cursor.h"
#include "lib/bisect.h"
#include "lib/grow.h"
#include "lib/page.h"

enum {
	/* The newest entries that are read; older ones become a gap. About a gigabyte of memory. */
	ENTRIES_MAX = 1 << 24,
	/* Instructions between two branches; no real code runs longer without one. */
	STRAIGHT_MAX = 1 << 20,
	/* Instructions of a loop of one branch that are looked at. */
	LOOP_MAX = 4096,
};

/* The state of decoding a chunk. */
struct chunk_state {
	uint64_t tick, transfers;
	uint32_t space, epoch;
};

/* One record that is used. */
struct chunk {
	uint64_t first;   /* number of its first entry */
	uint64_t claimed; /* entries it says it has */
	size_t count;     /* the most entries that its bytes can hold; once decoded, their number */
	size_t skip;      /* of them, left to an earlier chunk */
	size_t index;     /* of the record in the file */
	struct chunk_state before; /* its first entry; once decoded, the first not skipped */
	struct chunk_state after;  /* its last one */
	size_t at;                 /* place of its entries in history.entries while loading */
	size_t used;               /* entries there: EPOCH folded away */
};

struct chunks {
	struct chunk *at;
	size_t count, cap;
	size_t dropped;  /* entries before the first that is read */
	bool is_limited; /* those entries are dropped because no reader can hold so many */
	bool failed;     /* no memory */
};

struct chunk_source {
	const struct model *m;
	const struct trace_file *file;
	uint32_t task;
	bool damaged; /* set while reading; a torn tail is no damage where the trace was not closed
		       */
	bool no_memory;                    /* the same */
	const struct history_watch *watch; /* NULL: nobody waits */
	size_t done, total;                /* entries, for watch */
	bool stopped;
};

/* Visits the task's chunks in file order: take(arg, index, record) until it is false. */
typedef bool take_chunk(void *arg, size_t index, const struct bt_record *rec);

static void for_chunks(struct chunk_source *l, take_chunk *take, void *arg)
{
	const struct bt_record_branches *r;
	struct trace_cursor c;
	struct bt_record rec;
	size_t index = 0;
	int rc;

	trace_cursor_init(&c, l->m->trace, l->file);
	while ((rc = trace_cursor_next(&c, &rec, NULL)) != 0) {
		l->no_memory |= rc == -BT_E_NO_MEMORY;
		if (rc < 0 && (rc != -BT_E_TRUNCATED || model_is_closed(l->m)))
			l->damaged = true;
		r = rc == 1 ? branch_entries_record(&rec) : NULL;
		if (!r || r->task != l->task)
			continue;
		l->done += l->total ? (size_t)r->count : 0;
		l->stopped = l->watch && !l->watch->goes_on(l->watch->arg, l->done, l->total);
		if (l->stopped || !take(arg, index++, &rec))
			break;
	}
	trace_cursor_release(&c);
}

static bool collect_chunk(void *arg, size_t index, const struct bt_record *rec)
{
	const struct bt_record_branches *r = branch_entries_record(rec);
	struct chunks *c = arg;
	size_t n = (size_t)branch_entries_most(rec);
	struct chunk *at = array_grow(c->at, c->count, &c->cap, sizeof *at);

	if (!at) {
		c->failed = true;
		return false;
	}
	c->at = at;
	if (n && r->first <= UINT64_MAX - n)
		c->at[c->count++] = (struct chunk){.first = r->first,
						   .claimed = r->count,
						   .count = n,
						   .index = index,
						   .before = {.tick = r->tick,
							      .transfers = r->transfers,
							      .space = r->space,
							      .epoch = r->epoch}};
	return true;
}

static int compare_first(const void *a, const void *b)
{
	const struct chunk *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int compare_index(const void *a, const void *b)
{
	const struct chunk *x = a, *y = b;

	return x->index < y->index ? -1 : x->index > y->index;
}

/* Puts the chunks in order, leaves each entry to the first chunk that has it, and drops the oldest
 * of too many. */
static void trim_chunks(struct chunks *c, size_t most)
{
	uint64_t next = 0;
	size_t kept = 0, total = 0, oldest;

	if (c->count)
		qsort(c->at, c->count, sizeof *c->at, compare_first);
	for (size_t i = 0; i < c->count; i++) {
		struct chunk *chunk = &c->at[i];
		uint64_t end = chunk->first + chunk->count;

		if (end <= next)
			continue;
		chunk->skip = next > chunk->first ? (size_t)(next - chunk->first) : 0;
		next = end;
		c->at[kept++] = *chunk;
	}
	c->count = oldest = kept;
	while (oldest && total < most) {
		oldest--;
		total += c->at[oldest].count - c->at[oldest].skip;
	}
	c->dropped = 0;
	for (size_t i = 0; i < oldest; i++)
		c->dropped += c->at[i].count - c->at[i].skip;
	if (oldest)
		memmove(c->at, c->at + oldest, (kept - oldest) * sizeof *c->at);
	c->count = kept - oldest;
	if (total > most) { /* a chunk may have millions */
		c->at[0].skip += total - most;
		c->dropped += total - most;
	}
	c->is_limited = c->dropped && most == ENTRIES_MAX;
}

static size_t chunks_entries(const struct chunks *c)
{
	size_t total = 0;

	for (size_t i = 0; i < c->count; i++)
		total += c->at[i].count;
	return total;
}

/* Whether the conditional branch at addr counts as a tick. Two classes of it are one byte with
 * prefixes before. */
static bool is_tick(const struct model *m, const struct history_entry *e)
{
	unsigned classes = m->trace->header.tick_classes;
	uint8_t bytes[BT_INSN_MAX];
	struct bt_insn insn;
	size_t n;

	if ((classes & (BT_TICK_JCC | BT_TICK_JRCXZ | BT_TICK_LOOP)) ==
	    (BT_TICK_JCC | BT_TICK_JRCXZ | BT_TICK_LOOP))
		return true;
	n = trace_index_code(m->index, e->space, e->epoch, e->from, bytes, sizeof bytes);
	if (!n || bt_insn_decode(bytes, n, &insn) || !bt_insn_tick_class(insn.class))
		return true;
	return classes & bt_insn_tick_class(insn.class);
}

/* Counts are not known behind a gap in which an unknown number of ticks may have retired. */
static void advance_gap(struct chunk_state *s, const struct bt_branch *b)
{
	if (b->to == BT_GAP_START || b->to == BT_GAP_UNDECODED || b->to == BT_GAP_SCRIBBLED)
		return;
	s->tick = BT_TICKS_UNKNOWN;
	s->transfers = 0;
}

static void advance_state(struct chunk_state *s, const struct model *m, struct history_entry *e)
{
	if (e->kind == BT_BRANCH_JCC && is_tick(m, e)) {
		s->tick += s->tick != BT_TICKS_UNKNOWN;
		s->transfers = 0;
	} else if (bt_branch_info[e->kind].transfer) {
		s->transfers++;
	}
}

struct fill {
	struct history *h;
	const struct model *m;
	const struct chunks *chunks; /* by index */
	size_t next;
	uint64_t newest; /* first of the newest chunk */
	bool calls_only;
	bool in_order; /* the chunks lie in the file in the order of their numbers */
	bool no_memory;
};

/* Conditional branches and direct jumps, most of a history, do not matter to calls and returns. */
static bool is_wanted(const struct fill *f, const struct history_entry *e)
{
	return !f->calls_only || (e->kind != BT_BRANCH_JCC && e->kind != BT_BRANCH_JMP);
}

/* False without memory. */
static bool decode_chunk(struct fill *f, struct chunk *chunk, const struct bt_record *rec)
{
	struct history_entry *out = f->h->entries + chunk->at;
	struct branch_entries entries;
	struct chunk_state s = chunk->before;
	struct bt_branch b;
	size_t i;
	int rc = branch_entries_init(&entries, rec);

	for (i = 0; !rc && i < chunk->count && branch_entries_next(&entries, &b) == 1; i++) {
		struct history_entry e;

		if (i == chunk->skip)
			chunk->before = s;
		if (b.kind == BT_BRANCH_EPOCH) {
			s.epoch = (uint32_t)b.to;
			s.space = b.from ? (uint32_t)b.from : s.space;
			continue;
		}
		if (b.kind == BT_BRANCH_GAP)
			advance_gap(&s, &b);
		e = (struct history_entry){.number = chunk->first + i,
					   .from = b.from,
					   .to = b.to,
					   .space = s.space,
					   .epoch = s.epoch,
					   .kind = b.kind,
					   .flags = b.flags,
					   .cycles = b.cycles};
		advance_state(&s, f->m, &e);
		e.tick = s.tick;
		e.transfers = s.transfers;
		if (i >= chunk->skip && is_wanted(f, &e))
			out[chunk->used++] = e;
	}
	branch_entries_release(&entries);
	chunk->count = i;
	chunk->after = s;
	if (chunk->first == f->newest) {
		f->h->space = s.space;
		f->h->epoch = s.epoch;
	}
	return !rc;
}

/* The number behind a chunk that was decoded. */
static uint64_t chunk_end(const struct chunk *c)
{
	return c->first + (c->count > c->skip ? c->count : c->skip);
}

static bool is_in_order(const struct chunks *c)
{
	for (size_t i = 1; i < c->count; i++)
		if (c->at[i].first < c->at[i - 1].first)
			return false;
	return true;
}

/* Right behind the one before, as join_chunks() would put it: nothing need be moved. */
static void place_chunk(struct fill *f, struct chunk *chunk)
{
	const struct chunk *before = f->next ? chunk - 1 : NULL;
	size_t at = before ? before->at + before->used : 0;

	chunk->at = at + (chunk->first + chunk->skip > (before ? chunk_end(before) : 0));
}

static bool fill_chunk(void *arg, size_t index, const struct bt_record *rec)
{
	struct fill *f = arg;

	if (f->next < f->chunks->count && f->chunks->at[f->next].index == index) {
		struct chunk *chunk = &f->chunks->at[f->next];

		if (f->in_order)
			place_chunk(f, chunk);
		f->no_memory |= !decode_chunk(f, chunk, rec);
		f->next++;
	}
	return f->next < f->chunks->count;
}

/* Gives each chunk its place in the array, with one before it for a gap. Returns the places needed.
 */
static size_t lay_out_chunks(struct chunks *c)
{
	size_t at = 0;

	for (size_t i = 0; i < c->count; i++) {
		c->at[i].at = at + 1;
		at += 1 + c->at[i].count - c->at[i].skip;
	}
	return at;
}

/* Why entries before number end of an undamaged file are missing. Entries that the ring still held
 * when the newest chunk was written were not overwritten: only the newest entries of a handled
 * event were kept, and no full snapshot followed. */
static enum bt_gap_reason why_missing(const struct chunk_source *l, uint64_t end,
				      uint64_t newest_end)
{
	uint64_t ring = l->m->trace->header.ring;

	return ring && newest_end - end < ring ? BT_GAP_NOT_KEPT : BT_GAP_OVERWRITTEN;
}

/* A gap that stands for the missing numbers before it, too. */
static bool absorbs_gap(const struct history_entry *e, const struct chunk *chunk)
{
	return chunk->used && e->kind == BT_BRANCH_GAP && e->to == BT_GAP_LIMIT;
}

/* Moves the entries of the chunks together, always towards the front, with a gap for missing ones
 * between them. A gap has the counts at the start of the chunk behind it, and the space and epoch
 * of the entries before it, whose targets are there. */
static void join_chunks(struct history *h, const struct chunk_source *l, const struct chunks *c)
{
	const struct chunk *newest = &c->at[c->count - 1];
	const struct chunk_state *before = &c->at[0].before;
	enum bt_gap_reason reason = l->damaged      ? BT_GAP_DAMAGED
				    : c->is_limited ? BT_GAP_UNREAD
						    : BT_GAP_NOT_KEPT;
	uint64_t next = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct chunk *chunk = &c->at[i];
		uint64_t first = chunk->first + chunk->skip;

		if (reason != BT_GAP_DAMAGED && !(i == 0 && c->dropped))
			reason = why_missing(l, first, newest->first + newest->count);
		if (first > next && absorbs_gap(&h->entries[chunk->at], chunk)) {
			h->entries[chunk->at].number = next;
			h->entries[chunk->at].space = before->space;
			h->entries[chunk->at].epoch = before->epoch;
		} else if (first > next) {
			h->entries[h->count++] =
				(struct history_entry){.number = next,
						       .tick = chunk->before.tick,
						       .transfers = chunk->before.transfers,
						       .from = first - next,
						       .to = reason,
						       .space = before->space,
						       .epoch = before->epoch,
						       .kind = BT_BRANCH_GAP};
		}
		if (h->count != chunk->at)
			memmove(h->entries + h->count, h->entries + chunk->at,
				chunk->used * sizeof *h->entries);
		h->count += chunk->used;
		/* A chunk that ends early is damage, even with right checksums. */
		reason = l->damaged || chunk->claimed > chunk->count ? BT_GAP_DAMAGED
								     : BT_GAP_NOT_KEPT;
		next = chunk_end(chunk);
		before = chunk->count > chunk->skip ? &chunk->after : before;
	}
	h->next = next;
}

/* Adds a gap for entries missing behind the newest chunk; damage or a later snapshot tells of
 * them. */
static void add_tail(struct history *h, const struct chunk_source *l, const struct chunk *newest)
{
	bool short_chunk = newest && newest->claimed > newest->count,
	     damaged = short_chunk || (!newest && l->damaged);
	const struct model_task *task = model_task(l->m, l->task);
	uint64_t end = task ? task->position : 0;

	if (!damaged && end <= h->next)
		return;
	if (short_chunk && newest->claimed <= UINT64_MAX - newest->first &&
	    newest->first + newest->claimed > end)
		end = newest->first + newest->claimed;
	h->entries[h->count++] = (struct history_entry){
		.number = h->next,
		.tick = BT_TICKS_UNKNOWN,
		.from = end > h->next ? end - h->next : 0,
		.to = damaged || l->damaged || model_is_closed(l->m) ? BT_GAP_DAMAGED
								     : BT_GAP_CUT_OFF,
		.kind = BT_BRANCH_GAP,
		.space = h->space,
		.epoch = h->epoch};
}

/* Hardware records tell only branches that were taken. */
static bool is_taken_only(const struct model *m)
{
	struct slice source = m->trace->header.source;

	return slice_is(source, "lbr") || slice_is(source, "bts");
}

/* Whether straight-line code cannot lead from the entry's target to its own instruction again,
 * which two equal entries would need. */
static bool cannot_repeat(const struct model *m, const struct history_entry *e)
{
	struct bt_insn insn = {.class = 0};
	uint64_t pc = e->to;

	for (unsigned n = 0; pc < e->from && n < LOOP_MAX; n++, pc += insn.len) {
		uint8_t bytes[BT_INSN_MAX];
		size_t len =
			trace_index_code(m->index, e->space, e->epoch, pc, bytes, sizeof bytes);
		int kind;

		if (!len || bt_insn_decode(bytes, len, &insn))
			return false; /* not known: the entry stays */
		kind = bt_insn_branch_kind(insn.class);
		if (kind >= 0 && kind != BT_BRANCH_JCC && kind != BT_BRANCH_SYSCALL)
			return true;
	}
	return pc > e->from;
}

/* QUIRK(skl-dup0): the newest entry of a run is duplicated. Real loops of one branch look the same
 * and stay. */
static void drop_duplicates(struct history *h, const struct model *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->count; i++) {
		const struct history_entry *e = &h->entries[i],
					   *before = kept ? &h->entries[kept - 1] : NULL;
		bool newest = i + 1 == h->count || h->entries[i + 1].kind == BT_BRANCH_GAP;

		if (newest && before && bt_branch_kind_is_branch(e->kind) &&
		    bt_branch_kind_is_branch(before->kind) && before->from == e->from &&
		    before->to == e->to && before->space == e->space && before->epoch == e->epoch &&
		    cannot_repeat(m, e))
			continue;
		h->entries[kept++] = *e;
	}
	h->count = kept;
}

/* QUIRK(lbr-speculative): branches of an abandoned speculative path are no history. */
static void drop_wrong_paths(struct history *h)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->count; i++)
		if (!bt_branch_kind_is_branch(h->entries[i].kind) ||
		    (h->entries[i].flags & BT_BRANCH_TAKEN))
			h->entries[kept++] = h->entries[i];
	h->count = kept;
}

/* Room for n entries, which are zero: where there are millions, in large pages, if the kernel has
 * some, at a hundredth of the faults. */
static struct history_entry *allocate_entries(size_t n)
{
	struct history_entry *room = calloc(n, sizeof *room);
	uintptr_t start, end;

	if (!room)
		return NULL;
	start = ((uintptr_t)room + BT_LARGE_PAGE - 1) / BT_LARGE_PAGE * BT_LARGE_PAGE;
	end = (uintptr_t)(room + n) / BT_LARGE_PAGE * BT_LARGE_PAGE;
	if (start < end)
		madvise((void *)start, end - start, MADV_HUGEPAGE);
	return room;
}

static int load_entries(struct history *h, const struct model *m, uint32_t task, bool calls_only,
			size_t most, const struct history_watch *watch, struct bt_error *err)
{
	struct chunk_source l = {
		.m = m, .task = task, .file = trace_branch_file(m->trace, task), .watch = watch};
	struct chunks chunks = {0};
	struct fill f = {.h = h, .m = m, .chunks = &chunks, .calls_only = calls_only};
	const struct model_task *t = model_task(m, task);

	*h = (struct history){.task = task, .space = t ? t->space : 0};
	if (l.file)
		for_chunks(&l, collect_chunk, &chunks);
	trim_chunks(&chunks, most);
	h->is_part = chunks.dropped && !chunks.is_limited;
	h->unread = chunks.is_limited ? chunks.dropped : 0;
	/* One more for a gap behind the newest chunk. */
	h->entries = chunks.failed ? NULL : allocate_entries(lay_out_chunks(&chunks) + 1);
	if (!h->entries) {
		free(chunks.at);
		return bt_fail(err, BT_E_NO_MEMORY, 0,
			       "out of memory for the branch history of task %u", task);
	}
	if (chunks.count && !l.stopped) {
		l.total = chunks_entries(&chunks);
		f.newest = chunks.at[chunks.count - 1].first;
		qsort(chunks.at, chunks.count, sizeof *chunks.at, compare_index);
		f.in_order = is_in_order(&chunks);
		for_chunks(&l, fill_chunk, &f);
	}
	if (l.stopped) {
		free(chunks.at);
		history_release(h);
		return 1;
	}
	if (chunks.count) {
		qsort(chunks.at, chunks.count, sizeof *chunks.at, compare_first);
		join_chunks(h, &l, &chunks);
	}
	add_tail(h, &l, chunks.count ? &chunks.at[chunks.count - 1] : NULL);
	if (is_taken_only(m)) {
		drop_wrong_paths(h);
		drop_duplicates(h, m);
	}
	free(chunks.at);
	if (!l.no_memory && !f.no_memory)
		return 0;
	history_release(h);
	return bt_fail(err, BT_E_NO_MEMORY, 0, "out of memory for the branch history of task %u",
		       task);
}

int history_load(struct history *h, const struct model *m, uint32_t task, struct bt_error *err)
{
	return load_entries(h, m, task, false, ENTRIES_MAX, NULL, err);
}

int history_load_watched(struct history *h, const struct model *m, uint32_t task,
			 const struct history_watch *watch, struct bt_error *err)
{
	return load_entries(h, m, task, false, ENTRIES_MAX, watch, err);
}

int history_load_newest(struct history *h, const struct model *m, uint32_t task, size_t most,
			size_t few_most, struct bt_error *err)
{
	const struct model_task *t = model_task(m, task);
	bool few = !t || t->branch_count <= few_most;

	return load_entries(h, m, task, false, few ? ENTRIES_MAX : most, NULL, err);
}

int history_load_calls(struct history *h, const struct model *m, uint32_t task,
		       const struct history_watch *watch, struct bt_error *err)
{
	/* Wrong and duplicate entries of those sources show only among all entries. */
	bool is_calls = !is_taken_only(m);
	int rc = load_entries(h, m, task, is_calls, ENTRIES_MAX, watch, err);

	h->is_calls = is_calls;
	return rc;
}

void history_release(struct history *h)
{
	free(h->entries);
	*h = (struct history){0};
}

size_t history_index(const struct history *h, uint64_t position)
{
	size_t i;

	BISECT(i, h->count, h->entries[i].number < position);
	return i;
}

void history_target(const struct history *h, const struct history_entry *e, uint32_t *space,
		    uint32_t *epoch)
{
	size_t behind = e->kind == BT_BRANCH_SYSCALL ? history_index(h, e->number + 1) : 0;
	uint32_t next_space = behind < h->count ? h->entries[behind].space : h->space;
	uint32_t next_epoch = behind < h->count ? h->entries[behind].epoch : h->epoch;
	bool is_exec = behind && next_space != e->space;

	*space = is_exec ? next_space : e->space;
	*epoch = is_exec ? next_epoch : e->epoch;
}

struct insns {
	struct history_insn *at;
	size_t count, cap;
};

static bool add_insn(struct insns *v, uint64_t addr, const uint8_t *bytes, uint8_t len)
{
	struct history_insn *at;

	if (v->count == STRAIGHT_MAX)
		return false;
	at = array_grow(v->at, v->count, &v->cap, sizeof *at);
	if (!at)
		return false;
	v->at = at;
	at = &v->at[v->count++];
	*at = (struct history_insn){.addr = addr, .len = len};
	memcpy(at->bytes, bytes, len);
	return true;
}

/* The source of straight-line code. */
struct code {
	const struct model *m;
	uint32_t space, epoch;
	bool taken_only; /* the source leaves out branches not taken, and system calls */
};

/* Takes one instruction at *pc. False when it cannot be read. */
static bool step_insn(const struct code *c, struct insns *v, uint64_t *pc, struct bt_insn *insn)
{
	uint8_t bytes[BT_INSN_MAX];
	size_t n = trace_index_code(c->m->index, c->space, c->epoch, *pc, bytes, sizeof bytes);

	if (!n || bt_insn_decode(bytes, n, insn) || !add_insn(v, *pc, bytes, insn->len))
		return false;
	*pc += insn->len;
	return true;
}

/* Whether code can run past the instruction without an entry. */
static bool goes_straight(const struct code *c, const struct bt_insn *insn)
{
	int kind = bt_insn_branch_kind(insn->class);

	return kind < 0 || (c->taken_only && (kind == BT_BRANCH_JCC || kind == BT_BRANCH_SYSCALL));
}

/* Walks from start up to and without stop; every branch on the way would have been an entry.
 * Exception (in_syscall): a system call right before stop that has not returned has no entry. */
static bool walk_code(const struct code *c, struct insns *v, uint64_t start, uint64_t stop,
		      bool in_syscall)
{
	uint64_t pc = start;
	struct bt_insn insn;

	while (pc != stop) {
		if (pc > stop || !step_insn(c, v, &pc, &insn))
			return false;
		if (!goes_straight(c, &insn) &&
		    !(in_syscall && insn.class == BT_INSN_SYSCALL && pc == stop))
			return false;
	}
	return true;
}

/* Whether the kernel restarted an interrupted system call: it continues at its own instruction, not
 * behind it; no branch leads back there. The kernel ignores prefixes: it goes back by the two bytes
 * of syscall and int 0x80. */
static bool is_restarted(const struct history_entry *call, const struct history_entry *next)
{
	return call->kind == BT_BRANCH_SYSCALL &&
	       (next->kind == BT_BRANCH_SYSCALL || next->kind == BT_BRANCH_ASYNC) &&
	       (next->from == call->from || next->from == call->to - 2);
}

bool history_start(const struct history *h, size_t i, uint64_t *start)
{
	const struct history_entry *before;

	if (!i || i > h->count || !bt_branch_kind_is_branch(h->entries[i - 1].kind))
		return false;
	before = &h->entries[i - 1];
	*start = i < h->count && is_restarted(before, &h->entries[i]) ? h->entries[i].from
								      : before->to;
	return true;
}

static bool is_kind(const struct bt_insn *insn, unsigned kind)
{
	int of_code = bt_insn_branch_kind(insn->class);

	if (insn->traits & BT_TRAIT_BEGINS) /* a transaction that was given up */
		return kind == BT_BRANCH_JMP || kind == BT_BRANCH_BRANCH;
	return kind == BT_BRANCH_BRANCH ? of_code >= 0 : of_code == (int)kind;
}

long history_straight(const struct history *h, const struct model *m, size_t i, uint64_t stop,
		      struct history_insn **out)
{
	/* Of the code that runs into a gap only the place of a snapshot before it is known. */
	const struct history_entry *last =
		i < h->count && bt_branch_kind_is_branch(h->entries[i].kind) ? &h->entries[i]
									     : NULL;
	struct code code = {
		.m = m, .space = h->space, .epoch = h->epoch, .taken_only = is_taken_only(m)};
	struct insns v = {0};
	struct bt_insn insn;
	uint64_t pc;
	bool good = history_start(h, i, &pc);

	*out = NULL;
	if (last)
		stop = last->from;
	if (i < h->count) {
		const struct history_entry *in = last || !i ? &h->entries[i] : &h->entries[i - 1];

		code.space = in->space;
		code.epoch = in->epoch;
	}
	good = good && walk_code(&code, &v, pc, stop, !last);
	/* A handler is entered before the instruction at from, not by it. */
	if (good && last && last->kind != BT_BRANCH_ASYNC) {
		pc = stop;
		good = step_insn(&code, &v, &pc, &insn) && is_kind(&insn, last->kind);
	}
	if (!good) {
		free(v.at);
		return -BT_E_CORRUPT;
	}
	*out = v.at;
	return (long)v.count;
}
