/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "export/export_private.h"

enum {
	/* The most empty slots of a run; no processor has as many. */
	SLOTS_MAX = 4096,
	/* A run is a snapshot's history; of a longer one the newest part is kept. */
	RUN_MAX = 1 << 20,
	/* Entries that are read of a task, and more for each byte of its file. A record of some
	 * bytes may stand for millions: a stranger's trace would keep us busy for ever. */
	ENTRIES_BASE = 1 << 30,
	ENTRIES_PER_BYTE = 64,
};

static uint64_t next_word(struct run_words *w)
{
	while (!w->left && w->in.len && !w->in.bad) {
		w->left = slice_leb(&w->in);
		w->word = slice_leb(&w->in);
	}
	if (!w->left)
		return 0;
	w->left--;
	return w->word;
}

static void take_words(struct run_words *w, const struct bt_record_branch_words *r)
{
	buf_reset(&w->bytes);
	buf_put(&w->bytes, r->words.at, r->words.len);
	w->in = slice_of(w->bytes.data, w->bytes.failed ? 0 : w->bytes.len);
	w->first = r->first;
	w->left = 0;
}

static void take_chunk(struct run_reader *r, const struct bt_record *rec)
{
	const struct bt_record_branches *b = branch_entries_record(rec);

	if (b->first < r->number)
		return; /* damaged: each entry is in a trace once */
	if (b->first > r->number)
		r->count = 0;
	if (r->flags.first != b->first)
		r->flags.in = (struct slice){0};
	branch_entries_release(&r->entries);
	r->damaged |= branch_entries_init(&r->entries, rec) != 0;
	r->number = b->first;
	r->end = b->count > UINT64_MAX - b->first ? UINT64_MAX : b->first + b->count;
}

/* The next chunk of the task. False when there is none. */
static bool next_chunk(struct run_reader *r)
{
	struct bt_record rec;
	int rc;

	while ((rc = trace_cursor_next(&r->cursor, &rec, NULL)) != 0) {
		if (rc < 0) {
			r->torn |= rc == -BT_E_TRUNCATED;
			r->damaged |= rc != -BT_E_TRUNCATED;
			continue;
		}
		if (rec.kind == BT_RECORD_BRANCH_WORDS && rec.u.branch_words.what == BT_WORDS_FLAGS)
			take_words(&r->flags, &rec.u.branch_words);
		if (!branch_entries_record(&rec))
			continue;
		r->claimed += branch_entries_most(&rec);
		if (r->claimed > ENTRIES_BASE + ENTRIES_PER_BYTE * r->cursor.file->size) {
			r->damaged = true;
			return false;
		}
		take_chunk(r, &rec);
		return true;
	}
	return false;
}

static bool make_room_for_entry(struct run_reader *r)
{
	size_t cap = r->cap ? r->cap * 2 : 64;
	struct run_entry *at;

	if (r->cap == 2 * RUN_MAX) {
		memcpy(r->at, r->at + RUN_MAX, RUN_MAX * sizeof *r->at);
		r->count = RUN_MAX;
		return true;
	}
	at = realloc(r->at, cap * sizeof *at);
	if (!at)
		return false;
	r->at = at;
	r->cap = cap;
	return true;
}

static inline bool push_entry(struct run_reader *r, const struct run_entry *e)
{
	if (r->count == r->cap && !make_room_for_entry(r))
		return false;
	r->at[r->count++] = *e;
	return true;
}

/* perf's type of a branch whose kind we know and the source did not tell. */
static uint64_t type_of(const struct bt_branch *b)
{
	static const uint8_t types[BT_BRANCH_KINDS] = {
		[BT_BRANCH_JCC] = 1,     [BT_BRANCH_JMP] = 2,    [BT_BRANCH_IJMP] = 3,
		[BT_BRANCH_CALL] = 4,    [BT_BRANCH_ICALL] = 5,  [BT_BRANCH_RET] = 6,
		[BT_BRANCH_SYSCALL] = 7, [BT_BRANCH_ASYNC] = 12,
	};

	return (uint64_t)types[b->kind] << 20;
}

static bool take_entry(struct run_reader *r, const struct bt_branch *b, uint64_t word)
{
	struct run_entry e = {
		.from = b->from, .to = b->to, .flags = word ^ bt_branch_perf_flags(b)};

	if (bt_branch_is_branch(b)) {
		if (!r->imported)
			e.flags |= type_of(b);
		return (!bt_branch_taken(b) && !r->imported) ||
		       push_entry(r, &e); /* a capture has all entries of its record */
	}
	if (b->kind != BT_BRANCH_GAP)
		return true;
	if (b->to != BT_GAP_EMPTY)
		r->count = 0;
	e.from = e.to = 0;
	for (uint64_t i = 0; b->to == BT_GAP_EMPTY && i < b->from && i < SLOTS_MAX; i++)
		if (!push_entry(r, &e))
			return false;
	return true;
}

static bool open_reader(struct run_reader *r, const struct trace *t, uint32_t task)
{
	const struct trace_file *file = trace_branch_file(t, task);

	if (r->opened || !file)
		return r->opened;
	trace_cursor_init(&r->cursor, t, file);
	r->opened = true;
	r->imported = slice_is(t->header.backend, "import");
	r->whole = r->imported &&
		   (slice_is(t->header.source, "pt") || slice_is(t->header.source, "bts"));
	return true;
}

bool run_reader_advance(struct run_reader *r, const struct trace *t, uint32_t task,
			uint64_t position)
{
	r->count = 0;
	if (!open_reader(r, t, task) || r->whole)
		return true;
	while (r->number < position) {
		struct bt_branch b;

		if (r->number >= r->end && !next_chunk(r))
			return true;
		/* Entries are missing: they were not kept, or a chunk begins behind the
		 * position. */
		if (r->number >= position)
			break;
		if (r->number >= r->end)
			continue;
		if (branch_entries_next(&r->entries, &b) != 1) {
			r->damaged |= true;
			r->number = r->end;
			r->count = 0;
			continue;
		}
		r->number++;
		if (!take_entry(r, &b, r->flags.in.at ? next_word(&r->flags) : 0))
			return false;
	}
	return true;
}

void run_reader_release(struct run_reader *r)
{
	if (r->opened)
		trace_cursor_release(&r->cursor);
	branch_entries_release(&r->entries);
	buf_release(&r->flags.bytes);
	free(r->at);
}
