/* SPDX-License-Identifier: MIT */
/* The wait of each thread, in the text report of a moment from outside. */
#include <stdlib.h>

#include "decoder/cause/wait_groups.h"
#include "decoder/cause/waits.h"
#include "decoder/report/report_private.h"

enum {
	GROUPS_SUMMARY = 4,
};

static void put_group(struct report *r, const struct wait_group *g)
{
	struct inlined_frame part;
	struct location loc;
	char source[400];

	text_printf(&r->t, "  task %u", g->thread->task);
	if (g->threads > 1)
		text_printf(&r->t, " and %zu more, each", g->threads - 1);
	text_printf(&r->t, " ");
	text_outside(&r->t, g->text);
	text_printf(&r->t, "\n      ");
	symbols_lookup(r->s, r->focus.snap->rec->space, g->thread->epoch, g->place.addr,
		       g->place.is_return, &loc);
	part = own_code_part(&loc);
	if (*part.function)
		text_outside(&r->t, part.function);
	else
		text_place(&r->t, &loc, true);
	text_line(&r->t, part.file, part.line, false);
	if (symbols_source_line(r->s, part.file, part.line, source, sizeof source)) {
		text_printf(&r->t, ": ");
		text_outside(&r->t, source);
	}
	text_printf(&r->t, "\n");
}

void report_wait(struct report *r, const struct bt_record_thread *thread)
{
	char text[WAIT_TEXT_MAX];
	struct waits w;

	if (!waits_find(&w, r->m, r->s, r->focus.snap, NULL))
		for (size_t i = 0; i < w.count; i++)
			if (w.at[i].thread == thread) {
				text_printf(&r->t, "  task %u ", thread->task);
				text_outside(&r->t, wait_text(text, &w.at[i], r->s, r->focus.snap));
				text_printf(&r->t, "\n");
			}
	waits_release(&w);
}

int report_waits(struct report *r, struct bt_error *err)
{
	struct wait_groups *g;
	int rc = wait_groups_find(&g, r->m, r->s, r->focus.snap,
				  r->o->summary ? GROUPS_SUMMARY : WAIT_GROUPS_MAX, err);

	if (rc || !g->count) {
		free(g);
		return rc;
	}
	report_heading(r, wait_groups_heading(g));
	for (size_t i = 0; i < g->count; i++) {
		const struct wait_group *of = &g->at[i];

		report_about(r, &(struct report_about){.kind = REPORT_PLACE,
						       .task = of->thread->task,
						       .position = of->thread->position,
						       .has_place = true,
						       .space = r->focus.snap->rec->space,
						       .epoch = of->thread->epoch,
						       .addr = of->place.addr,
						       .is_return = of->place.is_return});
		put_group(r, &g->at[i]);
	}
	if (g->left)
		text_printf(&r->t, "  and %zu more threads\n", g->left);
	free(g);
	return 0;
}
