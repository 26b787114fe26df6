/* SPDX-License-Identifier: MIT */
#include "decoder/cause/fold.h"

#include <stdlib.h>
#include <string.h>

#include "lib/insn.h"

enum {
	STEPS = 4096, /* entries between two questions to who waits */
};

/* Folding works on tokens: at first one for each line, then, level by level, a run of equal rounds
 * becomes one. Tokens are compared by class, a hash of what they show; a loop's class leaves its
 * count out, so that an outer loop is seen although its inner loops go round a different number of
 * times. */
struct token {
	uint64_t class;
	uint32_t lines;
};

struct level {
	struct token *tokens;
	size_t token_count;
	struct fold_line *lines;
	size_t line_count;
};

/* The watcher that waits for the lines; stopped: it has given up. */
struct waiting {
	const struct history_watch *watch;
	size_t steps;
	bool stopped;
};

static bool goes_on(struct waiting *w, size_t done, size_t total)
{
	if (w->watch && !w->stopped && !(++w->steps % STEPS))
		w->stopped = !w->watch->goes_on(w->watch->arg, done, total);
	return !w->stopped;
}

static uint64_t mix_hash(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9E3779B97F4A7C15u;
	return h ^ h >> 32;
}

static uint64_t entry_class(const struct history_entry *e, size_t i)
{
	uint64_t h = mix_hash(mix_hash(mix_hash(1, e->from), e->to),
			      (uint64_t)e->space << 32 | (uint64_t)e->kind << 8 |
				      (e->flags & BT_BRANCH_TAKEN));

	/* A gap is never a repetition. */
	return e->kind == BT_BRANCH_GAP ? mix_hash(h, i) : h;
}

static void level_release(struct level *l)
{
	free(l->tokens);
	free(l->lines);
}

static bool level_init(struct level *l, size_t tokens, size_t lines)
{
	*l = (struct level){
		.tokens = reallocarray(NULL, tokens + 1, sizeof *l->tokens),
		.lines = reallocarray(NULL, lines + 1, sizeof *l->lines),
	};
	return l->tokens && l->lines;
}

static void add_line(struct level *l, uint64_t class, struct fold_line line)
{
	l->lines[l->line_count++] = line;
	l->tokens[l->token_count++] = (struct token){.class = class, .lines = 1};
}

static bool is_marked(const struct fold_options *o, size_t i, enum fold_mark mark)
{
	return o->marks && (o->marks[i] & mark & ~o->ignored);
}

static bool is_within_library(const struct fold_options *o, size_t i)
{
	return o->sides[i] == (FOLD_FROM_LIBRARY | FOLD_TO_LIBRARY);
}

/* Whether an entry is of library code that is inlined into the user's own: its own jumps, and its
 * calls into libraries. A call or return between functions of the user's is the user's. */
static bool is_of_inlined(const struct history_entry *e, uint8_t sides)
{
	switch (e->kind) {
	case BT_BRANCH_JCC:
		return sides & FOLD_FROM_INLINED;
	case BT_BRANCH_JMP: /* to the user's own it may be the call of a function */
	case BT_BRANCH_IJMP:
		return sides == (FOLD_FROM_INLINED | FOLD_TO_INLINED);
	case BT_BRANCH_CALL:
	case BT_BRANCH_ICALL:
		return sides == (FOLD_FROM_INLINED | FOLD_TO_LIBRARY);
	case BT_BRANCH_RET:
		return sides == (FOLD_FROM_LIBRARY | FOLD_TO_INLINED);
	default:
		return false;
	}
}

/* How many entries from `at` on, up to where the task stood, are within library code. inlined: set
 * where some of it is inlined; NULL: only what lies in libraries counts. */
static size_t library_run(const struct history *h, const struct fold_options *o, size_t at,
			  bool *inlined)
{
	size_t i = at;

	for (; i < h->count && (i == at || i != o->stop) && !is_marked(o, i, FOLD_OPEN); i++) {
		if (is_within_library(o, i))
			continue;
		if (!inlined || !is_of_inlined(&h->entries[i], o->sides[i]))
			break;
		*inlined = true;
	}
	return i - at;
}

/* Of a call into a library the entries behind it, up to its return; 0: it is no such call, or does
 * not return to where it was called. */
static size_t library_call(const struct history *h, const struct fold_options *o, size_t at)
{
	const struct history_entry *call = &h->entries[at], *ret;
	size_t end = at + 1;

	if ((call->kind != BT_BRANCH_CALL && call->kind != BT_BRANCH_ICALL) ||
	    o->sides[at] != FOLD_TO_LIBRARY || end == o->stop)
		return 0;
	end += library_run(h, o, end, NULL);
	if (end == h->count || end == o->stop)
		return 0;
	ret = &h->entries[end];
	return ret->kind == BT_BRANCH_RET && (o->sides[end] & FOLD_FROM_LIBRARY) &&
			       !(o->sides[end] & FOLD_TO_LIBRARY) &&
			       ret->to - call->from - 1 < BT_INSN_MAX
		       ? end - at
		       : 0;
}

/* The line that begins with an entry, and its class. A library's line stands for whatever the
 * library did: a loop that calls it is still a loop. */
static struct fold_line line_from(const struct history *h, const struct fold_options *o, size_t at,
				  uint64_t *class)
{
	const struct history_entry *e = &h->entries[at];
	bool inlined = false;
	size_t run = o->sides ? library_run(h, o, at, &inlined) : 0,
	       call = o->sides ? library_call(h, o, at) : 0;

	if (run) {
		*class = mix_hash(3, e->space);
		return (struct fold_line){.entry = (uint32_t)at,
					  .count = (uint32_t)run,
					  .kind = FOLD_LIBRARY,
					  .inlined = inlined};
	}
	*class = mix_hash(entry_class(e, at), call != 0);
	/* So that it is in no loop. */
	if (is_marked(o, at, FOLD_OPEN))
		*class = mix_hash(*class, at);
	return (struct fold_line){.entry = (uint32_t)at,
				  .count = (uint32_t)call,
				  .kind = call ? FOLD_CALL : FOLD_ENTRY};
}

static bool first_level(struct level *l, const struct history *h, const struct fold_options *o,
			struct waiting *w)
{
	if (!level_init(l, h->count + 1, h->count + 1))
		return false;
	for (size_t i = 0; i <= h->count && goes_on(w, i, h->count);) {
		struct fold_line line;
		uint64_t class;

		if (i == o->stop)
			add_line(l, 0, (struct fold_line){.entry = (uint32_t)i, .kind = FOLD_STOP});
		if (i == h->count)
			break;
		if (is_marked(o, i, FOLD_LEFT_OUT)) {
			i++;
			continue;
		}
		line = line_from(h, o, i, &class);
		add_line(l, class, line);
		i += line.kind == FOLD_LIBRARY ? line.count : line.count + 1;
	}
	return true;
}

static size_t count_rounds(const struct level *l, size_t at, size_t period)
{
	size_t same = 0;

	while (at + period + same < l->token_count &&
	       l->tokens[at + same].class == l->tokens[at + period + same].class)
		same++;
	return same / period + 1;
}

/* The period of the loop that begins at token `at`, and its rounds; 0: none. */
static size_t find_loop(const struct level *l, size_t at, size_t *rounds)
{
	for (size_t period = 1; period <= FOLD_PERIOD_MAX; period++) {
		*rounds = count_rounds(l, at, period);
		if (*rounds >= FOLD_ROUNDS_MIN)
			return period;
	}
	return 0;
}

static size_t lines_of(const struct level *l, size_t token, size_t count)
{
	size_t lines = 0;

	for (size_t i = 0; i < count; i++)
		lines += l->tokens[token + i].lines;
	return lines;
}

/* Of a level that is folded: behind the first `tokens` and `lines`, which are done, comes what is
 * still as it was, from token `at` and line `line` on. A loop has at least three rounds and becomes
 * a heading and one round, so nothing that is written lies behind what is read. */
struct folding {
	struct level *l;
	size_t at, line;
	size_t tokens, lines;
};

static void keep_lines(struct folding *f, size_t line, size_t count, unsigned deeper)
{
	struct fold_line *to = f->l->lines + f->lines;

	memmove(to, f->l->lines + line, count * sizeof *to);
	for (size_t i = 0; deeper && i < count; i++)
		to[i].nesting++;
	f->lines += count;
}

static void fold_loop(struct folding *f, size_t period, size_t rounds)
{
	const struct level *l = f->l;
	size_t last = f->at + period * (rounds - 1), skipped = lines_of(l, f->at, last - f->at),
	       kept = lines_of(l, last, period);
	struct fold_line first = l->lines[f->line];
	uint64_t class = 2;

	for (size_t i = 0; i < period; i++)
		class = mix_hash(class, l->tokens[f->at + i].class);
	l->lines[f->lines++] = (struct fold_line){.entry = first.entry,
						  .count = (uint32_t)rounds,
						  .kind = FOLD_LOOP,
						  .nesting = first.nesting};
	keep_lines(f, f->line + skipped, kept, 1);
	f->line += skipped + kept;
	l->tokens[f->tokens++] = (struct token){.class = class, .lines = (uint32_t)kept + 1};
	f->at = last + period;
}

static void keep_token(struct folding *f)
{
	struct token token = f->l->tokens[f->at++];

	keep_lines(f, f->line, token.lines, 0);
	f->line += token.lines;
	f->l->tokens[f->tokens++] = token;
}

/* Folds the loops of one level, in place. Returns whether there are any. */
static bool fold_level(struct level *l, struct waiting *w)
{
	struct folding f = {.l = l};
	bool found = false;

	while (f.at < l->token_count && goes_on(w, f.at, l->token_count)) {
		size_t rounds, period = find_loop(l, f.at, &rounds);

		if (period)
			fold_loop(&f, period, rounds);
		else
			keep_token(&f);
		found |= period != 0;
	}
	l->token_count = f.tokens;
	l->line_count = f.lines;
	return found;
}

/* Of millions of entries there may be some hundred lines. */
static void finish_level(struct fold *f, struct level *l)
{
	struct fold_line *fitting = reallocarray(l->lines, l->line_count + 1, sizeof *fitting);

	f->lines = fitting ? fitting : l->lines;
	f->count = l->line_count;
	for (size_t i = 0; i < f->count; i++)
		if (f->lines[i].nesting > f->nesting)
			f->nesting = f->lines[i].nesting;
	l->lines = NULL;
	level_release(l);
}

int fold_init(struct fold *f, const struct history *h, const struct fold_options *o,
	      struct bt_error *err)
{
	struct waiting waiting = {.watch = o->watch};
	struct level level;
	bool memory;

	*f = (struct fold){0};
	memory = h->count < UINT32_MAX && first_level(&level, h, o, &waiting);
	for (unsigned n = 0; memory && !waiting.stopped && o->loops && n < FOLD_NESTING_MAX; n++)
		if (!fold_level(&level, &waiting))
			break;
	if (!memory) {
		if (h->count < UINT32_MAX)
			level_release(&level);
		return bt_fail(err, BT_E_NO_MEMORY, 0,
			       "out of memory for a history of %zu branches", h->count);
	}
	if (waiting.stopped) {
		level_release(&level);
		return 1;
	}
	finish_level(f, &level);
	return 0;
}

void fold_release(struct fold *f)
{
	free(f->lines);
	*f = (struct fold){0};
}

size_t fold_line_of(const struct fold *f, size_t entry)
{
	size_t low = 0, high = f->count;

	/* Entries never decrease from line to line. */
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (f->lines[middle].entry <= entry)
			low = middle;
		else
			high = middle;
	}
	/* Of lines that share the number (the stop line and the entry behind it) the last: the
	 * entry's. */
	return low;
}
