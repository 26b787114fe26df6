/* SPDX-License-Identifier: MIT */
#include "tui/view.h"

static size_t clamp_line(const struct view *view, size_t line)
{
	size_t count = view_count(view);

	return !count ? 0 : line < count ? line : count - 1;
}

static size_t shifted_line(size_t line, long by)
{
	if (by < 0)
		return line > (size_t)-by ? line - (size_t)-by : 0;
	return line + (size_t)by < line ? SIZE_MAX : line + (size_t)by;
}

void view_move(struct view *view, long lines)
{
	view->cursor = clamp_line(view, shifted_line(view->cursor, lines));
	view_fit(view);
}

void view_scroll(struct view *view, long lines)
{
	view->cursor = clamp_line(view, shifted_line(view->cursor, lines));
	view->top = shifted_line(view->top, lines);
	view_fit(view);
}

/* Within the screen it does not scroll; beyond, the line comes into the middle. */
void view_jump(struct view *view, size_t line)
{
	size_t target = clamp_line(view, line);

	if (target == view->cursor)
		return;
	view->before_jump = view->cursor + 1;
	view->cursor = target;
	if (target < view->top || (view->height > 0 && target >= view->top + (size_t)view->height))
		view_centre(view, target);
	view_fit(view);
}

void view_forget_marks(struct view *view)
{
	for (size_t i = 0; i < MARKS; i++)
		view->marks[i] = 0;
	view->before_jump = 0;
}

void view_fit(struct view *view)
{
	size_t count = view_count(view), height = view->height > 0 ? (size_t)view->height : 1;

	view->cursor = clamp_line(view, view->cursor);
	if (view->centre && view->height > 0) {
		view->top = view->cursor > height / 2 ? view->cursor - height / 2 : 0;
		view->centre = false;
	}
	/* No empty room below the last line while there are lines above. */
	if (view->top + height > count)
		view->top = count > height ? count - height : 0;
	if (view->cursor < view->top)
		view->top = view->cursor;
	if (view->cursor >= view->top + height)
		view->top = view->cursor - height + 1;
}

void view_centre(struct view *view, size_t line)
{
	view->cursor = clamp_line(view, line);
	view->centre = true;
	view_fit(view);
}
