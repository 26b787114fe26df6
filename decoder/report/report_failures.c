/* SPDX-License-Identifier: MIT */
/* The processes of the tree that failed, a line each, with the option that shows it; and how many
 * of them were not kept. */
#include <inttypes.h>

#include "decoder/cause/failures.h"
#include "decoder/report/report_private.h"

enum {
	OPTION_WIDTH = 18, /* with the margin */
	END_WIDTH = 42,
	SUMMARY_FAILURES = 2, /* failures shown in a summary */
};

static void put_failure(struct report *r, const struct model_failure *f)
{
	size_t from = r->t.buf.len;
	char text[FAILURE_TEXT_MAX];

	report_about(r, &(struct report_about){.kind = f->snap ? REPORT_MOMENT : REPORT_TASK,
					       .snap = f->snap,
					       .task = f->snap ? f->snap->rec->task : f->task->task,
					       .position = f->snap ? f->snap->rec->position
								   : UINT64_MAX});
	text_printf(&r->t, "%s", f->snap && f->snap == r->focus.snap ? "> " : "  ");
	if (f->snap)
		text_printf(&r->t, "--snapshot %" PRIu32, f->snap->rec->snapshot);
	else
		text_printf(&r->t, "not kept");
	text_pad(&r->t, from, OPTION_WIDTH);
	text_printf(&r->t, "%s", failure_end(f, text));
	text_pad(&r->t, from, END_WIDTH);
	text_outside(&r->t, failure_command(f, text));
	text_printf(&r->t, "\n");
}

void report_failures(struct report *r)
{
	size_t chosen[FAILURES_SHOWN], count;
	char text[FAILURE_TEXT_MAX];

	if (!failures_are_told(r->m, r->focus.snap))
		return;
	report_heading(r, failures_heading(r->m, text));
	count = failures_choose(r->m, chosen);
	/* the line that counts the rest has room for one */
	if (r->o->summary && r->m->failure_count > SUMMARY_FAILURES + 1)
		count = SUMMARY_FAILURES;
	for (size_t i = 0; i < count; i++)
		put_failure(r, &r->m->failures[chosen[i]]);
	report_about_nothing(r);
	if (*failures_rest(r->m, count, text))
		text_printf(&r->t, "  %s\n", text);
}

void report_suppressed(struct report *r)
{
	for (size_t i = 0; i < r->m->task_count; i++)
		if (r->m->tasks[i].suppressed)
			text_printf(&r->t,
				    "  task %" PRIu32 ": %" PRIu64 " further snapshots were "
				    "suppressed, because they came too fast\n",
				    r->m->tasks[i].task, r->m->tasks[i].suppressed);
	if (r->m->failures_suppressed)
		text_printf(&r->t,
			    "  %" PRIu64 " exits with failure were counted and not kept: they came "
			    "too fast, or there were too many\n",
			    r->m->failures_suppressed);
}
