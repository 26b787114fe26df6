/* SPDX-License-Identifier: MIT */
/* A moment from outside: a snapshot that was asked for, or a signal that nothing in the program has
 * raised. The program may hang: the explanation tells whether some of its threads can never go on
 * (waits.h), and of a thread that runs for how long it has not left a function. Of one that waits
 * the place is the user's own, and not libc's. */
#include <inttypes.h>

#include "decoder/cause/callstack.h"
#include "decoder/cause/fault_private.h"
#include "decoder/cause/own_code.h"
#include "decoder/cause/waits.h"
#include "decoder/symbols/text.h"

enum {
	FRAMES_MAX = 64,
	LONG_RUN = 100000, /* ticks: less is no sign of a hang */
};

static size_t say_deadlock(struct fault_context *c)
{
	const struct wait *first;
	char text[WAIT_TEXT_MAX];
	struct waits w;
	size_t dead = 0;

	if (!waits_find(&w, c->m, c->s, c->snap, NULL))
		dead = waits_deadlock_text(text, &w, c->s, c->snap, &first);
	if (dead) {
		fault_say(c, "; %s", text);
		*c->f->brief = '\0'; /* the deadlock matters more than the signal's sender */
		c->f->brief_is_sender = false;
		fault_brief(c, "deadlock of %zu thread%s", dead, dead == 1 ? "" : "s");
		fault_set_kind(c, "deadlock");
		c->f->stuck = first->thread;
	} else if (waits_ring_text(text, &w)) {
		fault_say(c, "; %s", text);
	}
	waits_release(&w);
	return dead;
}

/* The tick of the last gap, or of the first entry behind it: since then the open calls are known.
 * BT_TICKS_UNKNOWN if there is none in the space. */
static uint64_t last_gap(const struct fault_context *c)
{
	uint64_t after = BT_TICKS_UNKNOWN;

	for (size_t i = c->h ? c->end : 0; i-- > 0;) {
		const struct history_entry *e = &c->h->entries[i];

		if (e->kind == BT_BRANCH_GAP)
			return e->tick == BT_TICKS_UNKNOWN ? after : e->tick;
		if (e->space != c->f->space)
			break;
		after = e->tick;
	}
	return BT_TICKS_UNKNOWN;
}

/* The innermost frame whose call is older than the history lasts since that began. */
static void say_loop(struct fault_context *c)
{
	uint64_t now = c->snap->rec->point.tick, then = last_gap(c);
	struct stack_frame frames[FRAMES_MAX];
	struct stack_check check;
	struct callstack calls;
	struct location loc;
	char name[160];
	bool complete;
	size_t count;

	if (now == BT_TICKS_UNKNOWN || then == BT_TICKS_UNKNOWN || then > now ||
	    now - then < LONG_RUN)
		return;
	count = symbols_unwind(c->s, c->snap, c->thread, frames, FRAMES_MAX, &complete);
	callstack_build(&calls, c->h, c->s, c->end);
	check = callstack_check(&calls, frames, count);
	callstack_release(&calls);
	if (check.verdict == STACK_DISAGREES || check.checked >= count)
		return;
	symbols_lookup(c->s, c->f->space, c->f->epoch, frames[check.checked].pc,
		       frames[check.checked].is_return, &loc);
	text_brief_name(name, sizeof name, loc.function);
	if (*name)
		fault_say(c, "; task %" PRIu32 " has not left %s for at least %" PRIu64 " ticks",
			  c->thread->task, name, now - then);
}

void fault_explain_hang(struct fault_context *c)
{
	if (!say_deadlock(c) && c->thread && !c->thread->in_syscall)
		say_loop(c);
}

void fault_take_waiting_place(struct fault_context *c)
{
	bool is_asked = c->thread && c->thread->task != c->snap->rec->task; /* --thread */
	const struct bt_record_thread *t = c->f->stuck && !is_asked ? c->f->stuck : c->thread;
	struct own_place place;
	struct own_code *own;
	bool found;

	if (!t || !t->in_syscall || own_code_open(&own, c->m, c->s, c->snap, t, NULL))
		return;
	found = own_code_frame(own, c->snap, t, &place);
	own_code_close(own);
	if (!found)
		return;
	c->f->where = place.addr;
	c->f->where_is_return = place.is_return;
	c->f->epoch = t->epoch;
	c->f->waiting = t;
	c->f->has_caller = c->f->has_insn = false;
	c->f->value_count = 0;
}
