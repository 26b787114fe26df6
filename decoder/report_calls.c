/* SPDX-License-Identifier: MIT */
/* System calls in the text report: those that failed before the end, and the last ones of all. */
#include "decoder/failed_calls.h"
#include "decoder/report_private.h"
#include "lib/escape.h"

enum {
	LAST_CALLS = 10,
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

int report_failed_calls(struct report *r, struct bt_error *err)
{
	struct failed_calls f;
	int rc = failed_calls_find(&f, r->m, &r->focus, err);

	if (!rc && f.count)
		text_printf(&r->t, f.count == 1 ? "  The system call that failed last:\n"
						: "  The system calls that failed last:\n");
	for (size_t i = 0; !rc && i < f.count; i++) {
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
		.until = r->focus.snap && !focus_is_outside(&r->focus) ? r->focus.snap->rec->seq
								       : UINT64_MAX,
		.most = LAST_CALLS,
	};
	struct system_calls calls;
	int rc;

	if (!wanted.task)
		return 0;
	rc = system_calls_find(&calls, r->m, &wanted, err);
	if (!rc && calls.count) {
		text_printf(&r->t, "\nLast system calls of task %u\n", wanted.task);
		for (size_t i = 0; i < calls.count; i++) {
			put_call(r, &calls.at[i], "  ");
			text_printf(&r->t, "\n");
		}
	}
	system_calls_release(&calls);
	return rc;
}
