/* SPDX-License-Identifier: MIT */
/* Entries lie at their number modulo the capacity. The ring keeps the state (tick, transfers,
 * epoch) before its oldest entry and behind its newest: advance_state() brings a state over one
 * entry.
 *
 * A gap that says the counts behind it keeps them in the entry, in memory only. In what an observer
 * is told, the next run's `before` says them, so a run ends behind such a gap (run_end()).
 *
 * flush_branches() tells the newest entries as runs. `told` are ranges of entries that are still in
 * the ring and that were told before: they are passed over. When all has been told, the memory is
 * freed. An entry that gives way before it was told is lost, and a gap says so if the limit was
 * lowered. */
#include "collector/history/branch_ring.h"

#include <stdlib.h>
#include <string.h>

enum {
	FIRST_CAP = 1024,
	CHUNK = 65536, /* most entries of a run */
};

void branch_ring_init(struct branch_ring *r, size_t limit, const struct ring_state *start)
{
	size_t rounded = limit ? FIRST_CAP : 0;

	while (rounded < limit)
		rounded *= 2;
	*r = (struct branch_ring){.limit = rounded, .before = *start, .now = *start};
}

void branch_ring_release(struct branch_ring *r)
{
	free(r->entries);
	free(r->told);
	free(r->run);
	*r = (struct branch_ring){0};
}

static struct bt_branch *branch_slot(const struct branch_ring *r, uint64_t number)
{
	return &r->entries[number & (r->cap - 1)];
}

/* In memory only: a conditional branch that is not of a counted class carries no tick; a gap that
 * knows the counts behind it has the tick in `from` and the transfers in `to`, above the reason. */
enum {
	FLAG_NO_TICK = 8,
	FLAG_COUNTS = 16,
	REASON_BITS = 8,
	FLAGS_TOLD = BT_BRANCH_TAKEN | BT_BRANCH_PREDICTION_KNOWN | BT_BRANCH_MISPREDICTED,
};

static void advance_state(struct ring_state *s, const struct bt_branch *b)
{
	if (b->flags & FLAG_COUNTS) {
		s->tick = b->from;
		s->transfers = b->to >> REASON_BITS;
	} else if (b->kind == BT_BRANCH_EPOCH) {
		if (b->from)
			s->space = (uint32_t)b->from;
		s->epoch = (uint32_t)b->to;
	} else if (b->kind == BT_BRANCH_JCC && !(b->flags & FLAG_NO_TICK)) {
		if (s->tick != BT_TICKS_UNKNOWN)
			s->tick++;
		s->transfers = 0;
	} else if (bt_branch_info[b->kind].transfer) {
		s->transfers++;
	}
}

/* Doubles the room. False when the limit is reached or memory is short: then the oldest entry gives
 * way. */
static bool grow_ring(struct branch_ring *r)
{
	size_t cap = r->cap ? r->cap * 2 : FIRST_CAP;
	struct bt_branch *entries;

	if (cap > r->limit)
		return false;
	entries = malloc(cap * sizeof *entries);
	if (!entries)
		return false;
	for (uint64_t n = r->oldest; n < r->next; n++)
		entries[n & (cap - 1)] = *branch_slot(r, n);
	free(r->entries);
	r->entries = entries;
	r->cap = cap;
	return true;
}

static bool is_told(const struct branch_ring *r, uint64_t n)
{
	for (size_t i = 0; i < r->told_count; i++)
		if (n >= r->told[i].first && n < r->told[i].end)
			return true;
	return false;
}

static void drop_oldest_branch(struct branch_ring *r)
{
	r->lost |= r->limited && !is_told(r, r->oldest);
	advance_state(&r->before, branch_slot(r, r->oldest));
	r->oldest++;
}

static void flush_branches(struct branch_ring *r, const struct observer *o, uint32_t task,
			   size_t newest);

static void append_branch(struct branch_ring *r, const struct bt_branch *b)
{
	if (r->listener && r->next - r->oldest >= CHUNK)
		flush_branches(r, r->listener, r->listener_task, SIZE_MAX);
	r->told_gap = 0;
	if (!r->limit) {
		advance_state(&r->now, b);
		r->before = r->now;
		return;
	}
	if (r->next - r->oldest == r->cap && !grow_ring(r)) {
		if (!r->cap) { /* no memory at all: the entry is lost, its number shows as a gap */
			advance_state(&r->now, b);
			r->before = r->now;
			r->oldest = ++r->next;
			return;
		}
		drop_oldest_branch(r);
	}
	*branch_slot(r, r->next++) = *b;
	advance_state(&r->now, b);
}

void branch_ring_push(struct branch_ring *r, const struct bt_branch *b, bool tick)
{
	struct bt_branch entry = *b;

	entry.flags &= FLAGS_TOLD;
	if (!tick && b->kind == BT_BRANCH_JCC)
		entry.flags |= FLAG_NO_TICK;
	append_branch(r, &entry);
}

void branch_ring_gap(struct branch_ring *r, enum bt_gap_reason reason)
{
	struct bt_branch b = {.kind = BT_BRANCH_GAP, .to = reason};

	append_branch(r, &b);
}

void branch_ring_resume(struct branch_ring *r, enum bt_gap_reason reason,
			const struct ring_state *state)
{
	struct bt_branch b = {.kind = BT_BRANCH_GAP,
			      .flags = FLAG_COUNTS,
			      .from = state->tick,
			      .to = state->transfers << REASON_BITS | reason};
	struct bt_branch *last = r->next > r->oldest ? branch_slot(r, r->next - 1) : NULL;

	if (last && last->flags & FLAG_COUNTS && (last->to & ((1u << REASON_BITS) - 1)) == reason) {
		*last = b;
		advance_state(&r->now, &b);
	} else if (r->told_gap == reason + 1) {
		advance_state(&r->now, &b);
		r->before = r->now;
	} else {
		append_branch(r, &b);
	}
	branch_ring_epoch(r, state->space, state->epoch);
}

void branch_ring_skip(struct branch_ring *r, enum bt_gap_reason reason, uint64_t ticks,
		      uint64_t transfers)
{
	struct ring_state state = r->now;

	state.transfers = transfers + (ticks ? 0 : state.transfers);
	if (state.tick != BT_TICKS_UNKNOWN)
		state.tick += ticks;
	branch_ring_resume(r, reason, &state);
}

void branch_ring_count(struct branch_ring *r, uint64_t ticks, uint64_t transfers)
{
	r->now.transfers = transfers + (ticks ? 0 : r->now.transfers);
	if (r->now.tick != BT_TICKS_UNKNOWN)
		r->now.tick += ticks;
	r->before = r->now;
}

void branch_ring_epoch(struct branch_ring *r, uint32_t space, uint32_t epoch)
{
	struct bt_branch b = {
		.kind = BT_BRANCH_EPOCH, .from = space == r->now.space ? 0 : space, .to = epoch};

	if (space != r->now.space || epoch != r->now.epoch)
		append_branch(r, &b);
}

void branch_ring_lower(struct branch_ring *r, size_t limit)
{
	size_t rounded = FIRST_CAP;
	struct bt_branch *entries;

	while (rounded < limit)
		rounded *= 2;
	if (rounded >= r->limit)
		return;
	r->limit = rounded;
	r->limited = true;
	if (r->cap <= rounded)
		return;
	entries = malloc(rounded * sizeof *entries);
	while (r->next - r->oldest > rounded)
		drop_oldest_branch(r);
	for (uint64_t n = r->oldest; entries && n < r->next; n++)
		entries[n & (rounded - 1)] = *branch_slot(r, n);
	if (!entries) { /* all of it, then */
		while (r->oldest < r->next)
			drop_oldest_branch(r);
		rounded = 0;
	}
	free(r->entries);
	r->entries = entries;
	r->cap = rounded;
}

const struct bt_branch *branch_ring_newest(const struct branch_ring *r)
{
	return r->next > r->oldest ? branch_slot(r, r->next - 1) : NULL;
}

uint64_t branch_ring_find(const struct branch_ring *r, uint64_t tick, uint64_t transfers)
{
	struct ring_state state = r->before;
	uint64_t at = r->oldest;

	while (at < r->next && (state.tick != tick || state.transfers != transfers))
		advance_state(&state, branch_slot(r, at++));
	return state.tick == tick && state.transfers == transfers ? at : UINT64_MAX;
}

size_t branch_ring_memory(const struct branch_ring *r) { return r->cap * sizeof *r->entries; }

/* A gap in the place of the oldest entry says why those before it are missing. */
static void mark_lost(struct branch_ring *r)
{
	if (!r->lost || r->oldest == r->next || is_told(r, r->oldest))
		return;
	advance_state(&r->before, branch_slot(r, r->oldest));
	*branch_slot(r, r->oldest) =
		(struct bt_branch){.kind = BT_BRANCH_GAP,
				   .flags = FLAG_COUNTS,
				   .from = r->before.tick,
				   .to = r->before.transfers << REASON_BITS | BT_GAP_LIMIT};
	r->lost = false;
}

/* All of it has been told. */
static void forget_branches(struct branch_ring *r)
{
	const struct bt_branch *last = r->next > r->oldest ? branch_slot(r, r->next - 1) : NULL;

	if (last)
		r->told_gap = last->flags & FLAG_COUNTS
				      ? (uint8_t)((last->to & ((1u << REASON_BITS) - 1)) + 1)
				      : 0;
	free(r->told);
	r->told = NULL;
	r->told_count = 0;
	r->oldest = r->next;
	r->before = r->now;
	if (r->listener) /* the room will be needed again at once */
		return;
	free(r->entries);
	r->entries = NULL;
	r->cap = 0;
}

/* The room is kept for the next run: new memory costs more than what is done to a run. */
static bool has_room_for_run(struct branch_ring *r, uint64_t n)
{
	if (n <= r->run_cap)
		return true;
	free(r->run);
	r->run = malloc(n * sizeof *r->run);
	r->run_cap = r->run ? n : 0;
	return r->run;
}

static void tell_run(struct branch_ring *r, const struct observer *o, uint32_t task, uint64_t first,
		     uint64_t end, const struct ring_state *before)
{
	struct branch_run run = {
		.task = task, .first = first, .count = end - first, .before = *before};

	if (!has_room_for_run(r, end - first))
		return;
	run.entries = r->run;
	for (uint64_t n = first; n < end; n++) {
		struct bt_branch b = *branch_slot(r, n);

		if (b.flags & FLAG_COUNTS) {
			b.from = 0;
			b.to &= (1u << REASON_BITS) - 1;
		}
		b.flags &= FLAGS_TOLD;
		r->run[n - first] = b;
	}
	o->ops->branches(o->arg, &run);
}

/* Where a run that starts at first ends: at most at end, not too long, and behind a gap that
 * changes the counts, which only the next run can say. */
static uint64_t run_end(const struct branch_ring *r, uint64_t first, uint64_t end)
{
	if (end > first + CHUNK)
		end = first + CHUNK;
	for (uint64_t n = first; n < end; n++)
		if (branch_slot(r, n)->flags & FLAG_COUNTS)
			return n + 1;
	return end;
}

/* The first range already told that ends behind n, or NULL. */
static const struct ring_range *told_after(const struct branch_ring *r, uint64_t n)
{
	for (size_t i = 0; i < r->told_count; i++)
		if (r->told[i].end > n)
			return &r->told[i];
	return NULL;
}

/* Notes [first, end) as told. Forgets ranges that the ring has dropped, and merges those inside. */
static void note_told(struct branch_ring *r, uint64_t first, uint64_t end)
{
	struct ring_range *ranges = malloc((r->told_count + 1) * sizeof *ranges);
	size_t count = 0;

	if (!ranges)
		return; /* the worst is that a run is told twice: readers trim overlaps */
	for (size_t i = 0; i < r->told_count; i++)
		if (r->told[i].end > r->oldest && r->told[i].end <= first)
			ranges[count++] = r->told[i];
	ranges[count++] = (struct ring_range){first, end};
	free(r->told);
	r->told = ranges;
	r->told_count = count;
}

static void flush_branches(struct branch_ring *r, const struct observer *o, uint32_t task,
			   size_t newest)
{
	uint64_t start = r->next - r->oldest > newest ? r->next - newest : r->oldest;
	struct ring_state state;
	uint64_t at = r->oldest;

	if (start == r->oldest)
		mark_lost(r);
	state = r->before;
	while (start < r->next) {
		const struct ring_range *done = told_after(r, start);
		uint64_t end = done ? done->first : r->next;

		if (done && done->first <= start) {
			start = done->end;
			continue;
		}
		end = run_end(r, start, end);
		for (; at < start; at++)
			advance_state(&state, branch_slot(r, at));
		tell_run(r, o, task, start, end, &state);
		start = end;
	}
	start = r->next - r->oldest > newest ? r->next - newest : r->oldest;
	if (start == r->oldest)
		forget_branches(r);
	else
		note_told(r, start, r->next);
}

void branch_ring_flush(struct branch_ring *r, const struct observer *o, uint32_t task,
		       size_t newest)
{
	r->listener = NULL;
	flush_branches(r, o, task, newest);
	free(r->run);
	r->run = NULL;
	r->run_cap = 0;
}

void branch_ring_stream(struct branch_ring *r, const struct observer *o, uint32_t task)
{
	r->listener = o;
	r->listener_task = task;
}
