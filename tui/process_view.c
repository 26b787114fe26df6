/* SPDX-License-Identifier: MIT */
/* The processes, as a tree of who created whom. Enter goes to the last moment that was kept of one;
 * else to the end of its history. */
#include <inttypes.h>
#include <stdlib.h>

#include "decoder/model/signals.h"
#include "tui/label.h"

enum {
	INDENT_PART = 3, /* of the width at most: deeper ones stand there */
	COMMAND_COLUMNS = 40,
	HANGING = 4,
};

/* The links of each task of the model, by its index. Parents come before their children: other
 * links, which no recorder writes, are left out. */
struct family {
	size_t process, parent, child, last, sibling; /* indices; NOBODY */
	const struct model_snapshot *snap;            /* of a process: its last; NULL: none */
	bool listed;
};

#define NOBODY SIZE_MAX

static bool is_process(const struct model_task *t) { return t->how != BT_TASK_THREAD; }

static void add_child(struct family *f, size_t parent, size_t child)
{
	f[child].parent = parent;
	if (f[parent].child == NOBODY)
		f[parent].child = child;
	else
		f[f[parent].last].sibling = child;
	f[parent].last = child;
}

static struct family *find_family(const struct model *m)
{
	struct family *f = calloc(m->task_count + 1, sizeof *f);

	for (size_t i = 0; f && i < m->task_count; i++) {
		const struct model_task *t = &m->tasks[i], *parent = model_task(m, t->parent);
		size_t at = parent && parent < t ? (size_t)(parent - m->tasks) : NOBODY;

		f[i] = (struct family){
			.process = i, .parent = NOBODY, .child = NOBODY, .sibling = NOBODY};
		if (at == NOBODY)
			continue;
		if (!is_process(t))
			f[i].process = f[at].process;
		else
			add_child(f, f[at].process, i);
	}
	return f;
}

static void find_moments(const struct model *m, struct family *f)
{
	for (size_t i = 0; i < m->snapshot_count; i++) {
		const struct model_task *t = model_task(m, m->snapshots[i].rec->task);

		if (t)
			f[f[t - m->tasks].process].snap = &m->snapshots[i];
	}
}

static void put_end(struct row *row, const struct bt_record_exit *e)
{
	char name[SIGNAL_NAME_MAX];

	if (!e)
		row_put(row, STYLE_DIM, "its end is not in the trace");
	else if (e->kind == BT_EXIT_SIGNAL)
		row_put(row, STYLE_FAULT, "killed by %s%s", signal_name(e->status, name),
			e->core ? ", core dumped" : "");
	else if (e->kind == BT_EXIT_STATUS)
		row_put(row, e->status ? STYLE_FAULT : STYLE_NORMAL, "exited with status %" PRIu32,
			e->status);
	else
		row_put(row, STYLE_DIM, "vanished");
}

static void add_process(struct viewer *v, struct lines *l, const struct family *f, size_t i,
			unsigned depth)
{
	const struct model_task *t = &v->m->tasks[i];
	const struct model_snapshot *snap = f[i].snap;
	struct target target = {.history = true,
				.task = snap ? snap->rec->task : t->task,
				.position = snap ? snap->rec->position : UINT64_MAX,
				.snapshot = snap};
	unsigned columns = screen_width(&v->screen), most = columns / INDENT_PART / 2 * 2,
		 indent = depth < most / 2 ? 2 * depth : most;
	struct row row;

	row_init(&row, v->screen.utf8);
	row_pad(&row, indent);
	row_put(&row, snap && snap == v->snap ? STYLE_MARK : STYLE_HEADING, "process %" PRIu32 " ",
		t->pid);
	row_outside(&row, STYLE_HEADING, t->command, COMMAND_COLUMNS);
	row_put(&row, STYLE_NORMAL, ": ");
	put_end(&row, t->exit);
	row_put(&row, STYLE_DIM, ", task %" PRIu32 ", %" PRIu64 " branches", t->task,
		t->branch_count);
	if (snap)
		row_put(&row, STYLE_DIM, ", snapshot %" PRIu32, snap->rec->snapshot);
	lines_add_wrapped(l, &row, columns, indent + HANGING, &target);
}

/* A process and those that it created, with no more memory than the links. */
static void add_tree(struct viewer *v, struct lines *l, struct family *f, size_t root)
{
	size_t i = root;
	unsigned depth = 0;

	for (;;) {
		if (!f[i].listed)
			add_process(v, l, f, i, depth);
		if (!f[i].listed && f[i].child != NOBODY) {
			f[i].listed = true;
			i = f[i].child;
			depth++;
			continue;
		}
		f[i].listed = true;
		if (i == root)
			return;
		if (f[i].sibling != NOBODY) {
			i = f[i].sibling;
			continue;
		}
		i = f[i].parent;
		depth--;
	}
}

static int process_view_load(struct viewer *v, struct view *view, struct bt_error *err)
{
	size_t whole = view->state ? lines_whole(view->state, view->cursor) : 0;
	struct lines *l = lines_view_begin(view, err);
	struct family *f = l ? find_family(v->m) : NULL;
	struct row row;

	if (!f)
		return bt_no_memory(err, NULL);
	find_moments(v->m, f);
	for (size_t i = 0; i < v->m->task_count; i++)
		if (f[i].process == i && f[i].parent == NOBODY)
			add_tree(v, l, f, i);
	free(f);
	if (!l->count) {
		row_init(&row, v->screen.utf8);
		row_put(&row, STYLE_DIM, "the trace has no processes");
		lines_add(l, &row, NULL);
	}
	view->cursor = lines_first_piece(l, whole);
	return lines_view_end(l, err);
}

static bool process_view_request(struct viewer *v, struct view *view, enum request r)
{
	const struct target *target = lines_view_target(view);

	if (r != REQUEST_ENTER || !target || !target->history)
		return false;
	viewer_follow(v, target);
	return true;
}

const struct view_ops process_view = {
	.id = VIEW_PROCESSES,
	.name = "processes",
	.load = process_view_load,
	.release = lines_view_release,
	.count = lines_view_count,
	.row = lines_view_row,
	.request = process_view_request,
};
