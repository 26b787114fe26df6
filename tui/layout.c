/* SPDX-License-Identifier: MIT */
#include "tui/layout.h"

struct view *layout_main(struct viewer *v) { return &v->views[v->open[v->open_count - 1]]; }

bool layout_can_split(const struct viewer *v) { return v->screen.rows >= SPLIT_ROWS; }

/* Places a pane; its last row is its title if there is room for one. */
static void put_view(struct view *view, int y, int x, int height, int width)
{
	view->y = y;
	view->x = x;
	view->titled = height > 1;
	view->height = height - view->titled;
	view->width = width;
}

static void put_code(struct viewer *v, int y, int height)
{
	int columns = v->screen.columns, half = columns / 2;

	/* No room for a source that cannot be shown, unless it has the keys. */
	if (v->focus != VIEW_SOURCE && !source_view_has_text(v)) {
		put_view(&v->views[VIEW_DISASSEMBLY], y, 0, height, columns);
		return;
	}
	if (columns < SPLIT_COLUMNS) {
		put_view(&v->views[v->code_pane], y, 0, height, columns);
		return;
	}
	put_view(&v->views[VIEW_SOURCE], y, 0, height, half);
	put_view(&v->views[VIEW_DISASSEMBLY], y, half + 1, height, columns - half - 1);
}

size_t layout_panes(struct viewer *v, enum view_id panes[3])
{
	struct view *top = layout_main(v);

	panes[0] = top->ops->id;
	if (!top->ops->place || !v->code_shown)
		return 1;
	panes[1] = VIEW_SOURCE;
	panes[2] = VIEW_DISASSEMBLY;
	return 3;
}

static bool has_focus(struct viewer *v)
{
	enum view_id panes[3];
	size_t n = layout_panes(v, panes);

	for (size_t i = 0; i < n; i++)
		if (panes[i] == v->focus)
			return true;
	return false;
}

static int rows_for_panes(const struct viewer *v)
{
	return v->screen.rows > 1 ? v->screen.rows - 1 : 1;
}

/* Rows of the main view above code panes: half of all, or more where it wants that. */
static int upper_rows(const struct viewer *v, const struct view *main)
{
	int rows = rows_for_panes(v), half = rows / 2, most = rows - CODE_ROWS_MIN;

	if (most <= half || main->wanted < (size_t)half)
		return half;
	return main->wanted < (size_t)most ? (int)main->wanted + 1 : most;
}

size_t layout_room(const struct viewer *v, const struct view *main)
{
	int rows = layout_can_split(v) && v->code_shown ? upper_rows(v, main) : rows_for_panes(v);

	return rows > 1 ? (size_t)rows - 1 : 1;
}

void layout(struct viewer *v)
{
	struct view *top = layout_main(v);
	int rows = rows_for_panes(v), upper;
	bool code = top->ops->place && v->code_shown;

	for (size_t i = 0; i < VIEW_COUNT; i++)
		v->views[i].height = v->views[i].width = 0;
	viewer_ready(v, top->ops->id); /* it says how much room it wants */
	upper = upper_rows(v, top);
	if (!has_focus(v))
		v->focus = top->ops->id;
	if (v->focus == VIEW_SOURCE || v->focus == VIEW_DISASSEMBLY)
		v->code_pane = v->focus;
	if (!code || !layout_can_split(v)) {
		put_view(&v->views[v->focus], 0, 0, rows, v->screen.columns);
	} else {
		put_view(top, 0, 0, upper, v->screen.columns);
		put_code(v, upper, rows - upper);
	}
	for (size_t i = 0; i < VIEW_COUNT; i++)
		if (v->views[i].height) {
			viewer_ready(v, (enum view_id)i);
			view_fit(&v->views[i]);
		}
}
