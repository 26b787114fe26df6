/* SPDX-License-Identifier: MIT */
/* The keys, from the list they are made from. */
#include "lib/array_size.h"
#include "tui/viewer.h"

enum {
	KEYS_WIDTH = 16,
};

static const struct view_ops *const all_views[] = {
	&summary_view, &branch_view,  &source_view, &disassembly_view, &register_view,
	&thread_view,  &syscall_view, &tree_view,   &process_view,     &help_view};

static void add_key(struct viewer *v, struct lines *l, const struct key_row *key)
{
	struct row row;

	row_init(&row, v->screen.utf8);
	row_put(&row, STYLE_MARK, "  %s", key->keys);
	row_pad(&row, KEYS_WIDTH);
	row_put(&row, STYLE_NORMAL, "  %s", key->help);
	lines_add_wrapped(l, &row, screen_width(&v->screen), KEYS_WIDTH + 2, NULL);
}

static void add_heading(struct viewer *v, struct lines *l, const char *text)
{
	struct row row;

	row_init(&row, v->screen.utf8);
	row_put(&row, STYLE_HEADING, "%s", text);
	lines_add(l, &row, NULL);
}

static void add_view_keys(struct viewer *v, struct lines *l, const struct view_ops *ops)
{
	bool any = false;

	for (size_t i = 0; i < key_row_count; i++) {
		if (key_rows[i].views == VIEWS_ALL || !(key_rows[i].views & 1u << ops->id))
			continue;
		if (!any)
			add_heading(v, l, ops->name);
		any = true;
		add_key(v, l, &key_rows[i]);
	}
}

static int help_view_load(struct viewer *v, struct view *view, struct bt_error *err)
{
	size_t whole = view->state ? lines_whole(view->state, view->cursor) : 0;
	struct lines *l = lines_view_begin(view, err);

	if (!l)
		return -BT_E_NO_MEMORY;
	add_heading(v, l, "in every view");
	for (size_t i = 0; i < key_row_count; i++)
		if (key_rows[i].views == VIEWS_ALL)
			add_key(v, l, &key_rows[i]);
	for (size_t i = 0; i < ARRAY_SIZE(all_views); i++)
		add_view_keys(v, l, all_views[i]);
	view->cursor = lines_first_piece(l, whole);
	return lines_view_end(l, err);
}

const struct view_ops help_view = {
	.id = VIEW_HELP,
	.name = "help",
	.load = help_view_load,
	.release = lines_view_release,
	.count = lines_view_count,
	.row = lines_view_row,
};
