/* SPDX-License-Identifier: MIT */
/* The calls that a branch history left open, and whether an unwound stack agrees with them. Two
 * accounts of the same thing: one from memory, which a crash may have spoilt, one from the branches
 * that were executed. Used by the report, the JSON, the explanation of faults and the viewer.
 * Neither account is believed alone: the check says where they part. */
#ifndef BT_CALLSTACK_H
#define BT_CALLSTACK_H

#include "decoder/model/history.h"
#include "decoder/symbols/symbols.h"

struct open_call {
	uint64_t from, to; /* the call instruction and where it went; of a handler where it
			      interrupted and its entry */
	uint64_t ret;      /* the return address it pushed; 0: unknown */
	size_t entry;      /* index in the history */
	bool is_handler;
};

struct callstack {
	struct open_call *calls; /* outermost first */
	size_t count;
	size_t unmatched; /* returns that no call of the history had opened: they end calls older
			     than it */
};

/* The calls open after the first n entries. Without memory: those found until then. */
void callstack_build(struct callstack *c, const struct history *h, struct symbols *s, size_t n);
void callstack_release(struct callstack *c);

/* The same entry by entry, for those that want the calls open at each. */
struct callstack_walk {
	struct callstack stack; /* the calls open behind the entries that were taken */
	size_t cap;
	struct return_places *places;
};

/* Errors: BT_E_NO_MEMORY. */
int callstack_walk_init(struct callstack_walk *w, struct bt_error *err) BT_MUST_USE;
void callstack_walk_release(struct callstack_walk *w);

/* Takes entry i of h, the next one. Either closes open calls, or opens one, or neither. */
void callstack_walk_take(struct callstack_walk *w, const struct history *h, struct symbols *s,
			 size_t i);

enum stack_verdict {
	STACK_AGREES,    /* every frame that the history can know of is in it */
	STACK_DISAGREES, /* from frame `frame` on */
	STACK_UNKNOWN,   /* the history holds none of these calls */
};

struct stack_check {
	enum stack_verdict verdict;
	size_t frame;   /* of a disagreement */
	size_t callers; /* frames that a call made */
	size_t checked; /* of these in the history */
	size_t left;    /* open calls that the stack skipped: left by longjmp or an exception */
	size_t outer; /* open calls older than all that were found: calls[0] to calls[outer - 1] */
};

struct stack_check callstack_check(const struct callstack *c, const struct stack_frame *frames,
				   size_t count);

/* The open call that made frame `frame`, an index of c->calls; c->count when the history has none.
 */
size_t callstack_call_of(const struct callstack *c, const struct stack_frame *frames, size_t frame);

enum {
	STACK_WORDS_MAX = 160,
};

/* Remarks on a frame that is_history, and on one that is_guess. */
#define STACK_BY_HISTORY "by the branch history"
#define STACK_GUESS      "guessed: no unwind information"

/* The check's finding, as a sentence; "" when it has none. Returns words. */
const char *callstack_words(const struct stack_check *check, char words[STACK_WORDS_MAX]);

/* The remark behind the last frame of a stack that was not unwound to its end. goes_on: the
 * history's frames follow. */
const char *callstack_end_words(const struct stack_frame *last, bool goes_on);

/* Where unwinding stopped early and nothing disagrees, adds the older open calls to the frames, at
 * most to max of them. Returns the number of frames then. */
size_t callstack_extend(const struct callstack *c, const struct stack_check *check,
			struct stack_frame *frames, size_t count, size_t max);

#endif
