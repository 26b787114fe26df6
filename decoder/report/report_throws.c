/* SPDX-License-Identifier: MIT */
/* The exceptions that a process threw before it failed, in the text report. */
#include <stdlib.h>

#include "decoder/cause/own_code.h"
#include "decoder/cause/throws.h"
#include "decoder/report/report_private.h"

enum {
	SHOWN = 4,
	FRAMES_MAX = 32, /* looked through for the user's own code */
	TEXT_MAX = THROWN_TYPE_MAX + THROWN_WHAT_MAX,
};

/* The newest place of the user's own code that led to the throw; else that of the throw. */
static void put_place(struct report *r, struct own_code *own, const struct thrown *t)
{
	const struct model_snapshot *snap = t->snap;
	const struct bt_record_thread *thread = focus_thread(snap, snap->rec->task);
	struct stack_frame frames[FRAMES_MAX];
	uint64_t addr = t->addr;
	struct inlined_frame part;
	struct location loc;
	char name[160];
	bool complete;
	size_t n = thread ? symbols_unwind(r->s, snap, thread, frames, FRAMES_MAX, &complete) : 0;

	for (size_t i = 1; i < n; i++)
		if (frames[i].is_return &&
		    own_code_has(own, snap->rec->space, t->epoch, frames[i].pc - 1)) {
			addr = frames[i].pc;
			break;
		}
	symbols_lookup(r->s, snap->rec->space, t->epoch, addr, true, &loc);
	part = own_code_part(&loc);
	if (!*part.function)
		return;
	text_printf(&r->t, ", in ");
	text_brief_name(name, sizeof name, part.function);
	text_outside(&r->t, name);
	text_line(&r->t, part.file, part.line, false);
}

void report_throws(struct report *r)
{
	const struct model_snapshot *throws[SHOWN], *snap = r->focus.snap;
	const struct bt_record_exit *end = model_process_end(r->m, snap->rec->task);
	struct own_code *own;
	size_t all, n;

	if (!end || (end->kind == BT_EXIT_STATUS && !end->status))
		return;
	n = throws_until(r->m, snap, throws, r->o->summary ? 1 : SHOWN, &all);
	if (!n || own_code_open(&own, r->m, r->s, snap, r->focus.thread, NULL))
		return;
	if (n > 1)
		text_printf(&r->t, "  It threw exceptions, the newest first:\n");
	for (size_t i = 0; i < n; i++) {
		struct thrown t;
		char text[TEXT_MAX];

		thrown_read(&t, r->s, throws[i]);
		text_printf(&r->t, n > 1 ? "    " : "  It threw ");
		text_outside(&r->t, thrown_text(&t, text, sizeof text));
		if (t.has_place)
			put_place(r, own, &t);
		text_printf(&r->t, "\n");
	}
	if (all > n && !r->o->summary)
		text_printf(&r->t, "    and %zu older\n", all - n);
	own_code_close(own);
}
