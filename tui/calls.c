/* SPDX-License-Identifier: MIT */
#include "tui/calls.h"

#include <stdlib.h>

enum {
	/* How far down a return looks for its call. Bounds the work on a history full of returns
	   that have none. */
	SEARCH_DEPTH = 256,
	CALL_LENGTH_MIN = 2,
	SYSCALL_SIZE = 2, /* of syscall, sysenter and int 0x80 */
	STEPS = 4096,     /* entries between two questions to who waits */
};

struct call_walk {
	const struct history *h;
	uint32_t *stack; /* indices of the open calls */
	size_t open;
	uint32_t below; /* returns out of functions that were entered before the history began */
};

/* Whether end ends open: a return ends its call, by its target; sigreturn, a system call that goes
 * on elsewhere, ends its handler. */
static bool ends_call(const struct history_entry *open, const struct history_entry *end)
{
	if (end->kind == BT_BRANCH_SYSCALL || open->kind == BT_BRANCH_ASYNC)
		return end->kind == BT_BRANCH_SYSCALL && open->kind == BT_BRANCH_ASYNC;
	return end->to - open->from >= CALL_LENGTH_MIN && end->to - open->from <= BT_INSN_MAX;
}

static bool is_end(const struct history_entry *e)
{
	return e->kind == BT_BRANCH_RET ||
	       (e->kind == BT_BRANCH_SYSCALL && e->to != e->from + SYSCALL_SIZE);
}

static void enter_call(struct call_walk *w, uint32_t i) { w->stack[w->open++] = i; }

static void leave_call(struct call_walk *w, struct calls *c, uint32_t i)
{
	size_t least = w->open > SEARCH_DEPTH ? w->open - SEARCH_DEPTH : 0;

	for (size_t k = w->open; k-- > least;) {
		if (!ends_call(&w->h->entries[w->stack[k]], &w->h->entries[i]))
			continue;
		c->partner[i] = w->stack[k];
		c->partner[w->stack[k]] = i;
		w->open = k;
		return;
	}
	/* With calls open it is a jump made with ret. */
	if (!w->open)
		w->below++;
}

/* Returns 1 when the watch stopped it. */
static int walk_entries(struct call_walk *w, struct calls *c, const struct history_watch *watch)
{
	for (uint32_t i = 0; i < c->count; i++) {
		const struct history_entry *e = &w->h->entries[i];

		if (watch && !(i % STEPS) && !watch->goes_on(watch->arg, i, c->count))
			return 1;
		if (i &&
		    e->space != e[-1].space) /* an execve: no return leads to the old program */
			w->open = 0;
		c->caller[i] = w->open ? w->stack[w->open - 1] : CALLS_NONE;
		c->partner[i] = CALLS_NONE;
		/* Modulo 2^32 until the outermost level is known. */
		c->depth[i] = (uint32_t)w->open - w->below;
		if (e->kind == BT_BRANCH_CALL || e->kind == BT_BRANCH_ICALL ||
		    e->kind == BT_BRANCH_ASYNC)
			enter_call(w, i);
		else if (is_end(e))
			leave_call(w, c, i);
	}
	for (size_t i = 0; i < c->count; i++)
		c->depth[i] += w->below;
	return 0;
}

int calls_init(struct calls *c, const struct history *h, const struct history_watch *watch,
	       struct bt_error *err)
{
	int rc;
	struct call_walk w = {.h = h, .stack = calloc(h->count + 1, sizeof *w.stack)};

	*c = (struct calls){
		.depth = calloc(h->count + 1, sizeof *c->depth),
		.caller = calloc(h->count + 1, sizeof *c->caller),
		.partner = calloc(h->count + 1, sizeof *c->partner),
		.count = h->count,
	};
	if (!w.stack || !c->depth || !c->caller || !c->partner || h->count >= CALLS_NONE) {
		free(w.stack);
		calls_release(c);
		return bt_fail(err, BT_E_NO_MEMORY, 0,
			       "out of memory for a history of %zu branches", h->count);
	}
	rc = walk_entries(&w, c, watch);
	free(w.stack);
	if (rc)
		calls_release(c);
	return rc;
}

void calls_release(struct calls *c)
{
	free(c->depth);
	free(c->caller);
	free(c->partner);
	*c = (struct calls){0};
}
