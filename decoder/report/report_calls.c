/* SPDX-License-Identifier: MIT */
/* The program's own evidence of its end, in the text report: lines of its standard error that say
 * why, the system calls that failed before it, and the last ones of all. */
#include <string.h>

#include "decoder/cause/failed_calls.h"
#include "decoder/cause/throws.h"
#include "decoder/model/last_words.h"
#include "decoder/report/report_private.h"
#include "lib/escape.h"

enum {
	LAST_CALLS = 10,
	/* The numbers of lines in a summary. */
	SUMMARY_TELLING = 4,
	SUMMARY_CALLS = 2,
};

static void put_call(struct report *r, const struct system_call *call, const char *indent)
{
	struct buf text = {0};

	syscall_put_call(&text, &call->known);
	syscall_put_result(&text, &call->known);
	text_printf(&r->t, "%s", indent);
	bt_escape(&r->t.buf, slice_of(text.data, text.len), r->t.utf8);
	r->t.buf.failed |= text.failed;
	buf_release(&text);
}

/* Whether it is a line of libstdc++ or libc++ about an exception that nothing catches. */
static bool tells_of_throw(const char *line)
{
	return strstr(line, "terminate called ") || !strncmp(line, "  what():  ", 11) ||
	       strstr(line, "terminating due to uncaught exception");
}

void report_telling_words(struct report *r, const char *message)
{
	const struct model_snapshot *thrown = NULL;
	size_t throws;
	/* A summary has told of the throw itself. */
	bool told = r->o->summary && r->focus.snap &&
		    throws_until(r->m, r->focus.snap, &thrown, 1, &throws);
	struct kept_words w;
	char line[LAST_WORDS_LINE_MAX], last[LAST_WORDS_LINE_MAX] = "";
	size_t lines = 0;

	last_words_begin_telling(&w, focus_last_words(&r->focus));
	while (last_words_next(&w, line)) {
		if ((*message && strstr(line, message)) || (told && tells_of_throw(line)) ||
		    (r->o->summary && (lines == SUMMARY_TELLING || !strcmp(line, last))))
			continue;
		snprintf(last, sizeof last, "%s", line);
		if (!lines++)
			text_printf(&r->t, "  Its standard error says:\n");
		text_mark(&r->t, TEXT_REASON);
		text_printf(&r->t, "    ");
		report_outside(r, line);
		text_printf(&r->t, "\n");
	}
}

int report_failed_calls(struct report *r, struct bt_error *err)
{
	struct failed_calls f;
	int rc = failed_calls_find(&f, r->m, &r->focus, err);
	size_t first = 0;

	if (!rc && r->o->summary && f.count > SUMMARY_CALLS)
		first = f.count - SUMMARY_CALLS;
	if (!rc && f.count)
		text_printf(&r->t, f.count - first == 1 ? "  The system call that failed last:\n"
							: "  The system calls that failed last:\n");
	for (size_t i = first; !rc && i < f.count; i++) {
		put_call(r, f.shown[i], "    ");
		if (f.repeated[i] > 1)
			text_printf(&r->t, ", %u times", f.repeated[i]);
		text_printf(&r->t, "\n");
	}
	failed_calls_release(&f);
	return rc;
}

int report_last_calls(struct report *r, struct bt_error *err)
{
	struct system_calls_wanted wanted = {
		.task = r->focus.task ? r->focus.task->task : 0,
		.until = r->focus.snap && !focus_is_outside(&r->focus) ? r->focus.snap->until
								       : UINT64_MAX,
		.most = LAST_CALLS,
	};
	struct system_calls calls;
	int rc;

	if (!wanted.task)
		return 0;
	rc = system_calls_find(&calls, r->m, &wanted, err);
	if (!rc && calls.count) {
		text_printf(&r->t, "\n");
		text_mark(&r->t, TEXT_HEADING);
		text_printf(&r->t, "Last system calls of task %u\n", wanted.task);
		for (size_t i = 0; i < calls.count; i++) {
			put_call(r, &calls.at[i], "  ");
			text_printf(&r->t, "\n");
		}
	}
	system_calls_release(&calls);
	return rc;
}
