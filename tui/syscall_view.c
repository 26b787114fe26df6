/* SPDX-License-Identifier: MIT */
/* The system calls of the task shown, until the moment shown, as strace(1) writes them. */
#include <inttypes.h>

#include "decoder/model/system_calls.h"
#include "tui/label.h"

enum {
	SHOWN = 10000, /* the newest */
	TICK_WIDTH = 14,
};

static void add_call(struct viewer *v, struct lines *l, const struct system_call *call)
{
	struct buf text = {0};
	struct row row;

	row_init(&row, v->screen.utf8);
	if (call->tick == BT_TICKS_UNKNOWN)
		row_put(&row, STYLE_DIM, "?");
	else
		row_put(&row, STYLE_DIM, "%" PRIu64, call->tick);
	row_pad(&row, TICK_WIDTH);
	syscall_put_call(&text, &call->known);
	buf_u8(&text, 0);
	row_outside(&row, STYLE_SYSTEM, text.failed ? "" : (const char *)text.data, 0);
	buf_reset(&text);
	syscall_put_result(&text, &call->known);
	buf_u8(&text, 0);
	row_outside(&row, syscall_has_failed(&call->known) ? STYLE_FAULT : STYLE_NORMAL,
		    text.failed ? "" : (const char *)text.data, 0);
	lines_add(l, &row, NULL);
	buf_release(&text);
}

static int syscall_view_load(struct viewer *v, struct view *view, struct bt_error *err)
{
	const struct system_calls_wanted wanted = {
		.task = v->task,
		.until = v->snap && v->stopped ? v->snap->rec->seq : UINT64_MAX,
		.most = SHOWN,
	};
	struct lines *l = lines_view_begin(view, err);
	struct system_calls calls;
	struct row row;
	int rc;

	if (!l)
		return -BT_E_NO_MEMORY;
	rc = system_calls_find(&calls, v->m, &wanted, err);
	if (!rc && calls.before) {
		row_init(&row, v->screen.utf8);
		row_put(&row, STYLE_GAP, "%" PRIu64 " older ones are not shown", calls.before);
		lines_add(l, &row, NULL);
	}
	for (size_t i = 0; !rc && i < calls.count; i++)
		add_call(v, l, &calls.at[i]);
	if (!rc && !calls.count) {
		row_init(&row, v->screen.utf8);
		row_put(&row, STYLE_DIM, "no system call of task %" PRIu32 " is in the trace",
			v->task);
		lines_add(l, &row, NULL);
	}
	if (!rc)
		rc = lines_view_end(l, err);
	view->cursor = l->count ? l->count - 1 : 0;
	system_calls_release(&calls);
	return rc;
}

static void syscall_view_title(struct viewer *v, const struct view *view, struct row *out)
{
	(void)view;
	row_put(out, STYLE_NORMAL, "task %" PRIu32, v->task);
}

const struct view_ops syscall_view = {
	.id = VIEW_SYSCALLS,
	.name = "system calls",
	.load = syscall_view_load,
	.release = lines_view_release,
	.count = lines_view_count,
	.row = lines_view_row,
	.title = syscall_view_title,
};
