/* SPDX-License-Identifier: MIT */
/* What happened: the program, its end, the fault, the snapshots, and what the trace lacks. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/signals.h"
#include "tui/label.h"

enum {
	NAME_WIDTH = 12,
};

static const char *const snapshot_kinds[BT_SNAPSHOT_KINDS] = {
	[BT_SNAPSHOT_FAULT] = "fault, handled", [BT_SNAPSHOT_SIGNAL] = "signal, handled", [BT_SNAPSHOT_FATAL] = "fatal signal",
	[BT_SNAPSHOT_EXIT] = "exit",		[BT_SNAPSHOT_REQUEST] = "requested",	  [BT_SNAPSHOT_IMPORT] = "imported",
};

static void begin(struct viewer *v, struct row *row, const char *name)
{
	row_init(row, v->screen.utf8);
	row_put(row, STYLE_HEADING, "%s", name);
	row_pad(row, NAME_WIDTH);
}

static void add_command(struct viewer *v, struct lines *l)
{
	struct slice argv = v->m->trace->header.argv;
	struct row row;

	begin(v, &row, "command");
	while (argv.len) {
		size_t n = strnlen((const char *)argv.at, argv.len);
		char *arg = slice_dup(slice_take(&argv, n));

		row_outside(&row, STYLE_NORMAL, arg ? arg : "", 0);
		row_put(&row, STYLE_NORMAL, " ");
		free(arg);
		slice_take(&argv, argv.len > 0);
	}
	lines_add(l, &row, NULL);
}

static void add_end(struct viewer *v, struct lines *l)
{
	const struct bt_record_end *end = v->m->end;
	char name[SIGNAL_NAME_MAX];
	struct row row;

	begin(v, &row, "end");
	if (!end)
		row_put(&row, STYLE_GAP, "the trace was not closed: the recorder was cut off");
	else if (end->kind == BT_EXIT_SIGNAL)
		row_put(&row, STYLE_FAULT, "killed by %s", signal_name(end->status, name));
	else if (end->kind == BT_EXIT_STATUS)
		row_put(&row, STYLE_NORMAL, "exited with status %" PRIu32, end->status);
	else
		row_put(&row, STYLE_NORMAL, "how it ended is not known");
	lines_add(l, &row, NULL);
	if (v->m->stopped) {
		char *text = slice_dup(v->m->stopped->text);

		begin(v, &row, "");
		row_put(&row, STYLE_GAP, "recording stopped early: ");
		row_outside(&row, STYLE_GAP, text ? text : "", 0);
		lines_add(l, &row, NULL);
		free(text);
	}
}

static void add_snapshot(struct viewer *v, struct lines *l, const struct model_snapshot *snap, const char *heading)
{
	const struct bt_record_snapshot *s = snap->rec;
	char name[SIGNAL_NAME_MAX], code[SIGNAL_NAME_MAX];
	struct target target = {
		.history = true, .task = s->task, .position = s->position, .snapshot = snap, .has_place = true,
		.place = {.addr = s->point.rip, .space = s->space, .epoch = s->epoch, .entry = NO_ENTRY},
	};
	struct row row;

	begin(v, &row, heading);
	row_put(&row, STYLE_NORMAL, "%s", s->kind < BT_SNAPSHOT_KINDS ? snapshot_kinds[s->kind] : "of an unknown kind");
	if (snap->signal)
		row_put(&row, STYLE_FAULT, " %s (%s)", signal_name(snap->signal->signo, name),
			signal_code_name(snap->signal->signo, snap->signal->code, code));
	row_put(&row, STYLE_NORMAL, ", task %" PRIu32 ", at ", s->task);
	label_code(v, &row, s->space, s->epoch, s->point.rip, false, 0);
	lines_add(l, &row, &target);
}

static void add_damage(struct viewer *v, struct lines *l)
{
	for (size_t i = 0; i < v->m->damage_count; i++) {
		const struct model_damage *d = &v->m->damage[i];
		struct row row;

		begin(v, &row, i ? "" : "damage");
		row_outside(&row, STYLE_GAP, d->text, 0);
		lines_add(l, &row, NULL);
	}
}

static int load(struct viewer *v, struct view *view, struct bt_error *err)
{
	struct lines *l = lines_view_begin(view, err);

	if (!l)
		return -BT_E_NO_MEMORY;
	add_command(v, l);
	add_end(v, l);
	if (v->snap)
		add_snapshot(v, l, v->snap, "shown");
	for (size_t i = 0; i < v->m->snapshot_count; i++)
		add_snapshot(v, l, &v->m->snapshots[i], i ? "" : "snapshots");
	add_damage(v, l);
	return lines_view_end(l, err);
}

static bool request(struct viewer *v, struct view *view, enum request r)
{
	const struct target *target = lines_view_target(view);

	if (r != REQUEST_ENTER || !target || !target->history)
		return false;
	viewer_follow(v, target);
	return true;
}

const struct view_ops summary_view = {
	.id = VIEW_SUMMARY,
	.name = "summary",
	.load = load,
	.release = lines_view_release,
	.count = lines_view_count,
	.row = lines_view_row,
	.place = lines_view_place,
	.request = request,
};
