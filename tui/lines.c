/* SPDX-License-Identifier: MIT */
#include "tui/lines.h"

#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"

static bool grow_lines(struct lines *l)
{
	struct line *at = array_grow(l->at, l->count, &l->cap, sizeof *at);

	if (at)
		l->at = at;
	return at != NULL;
}

void lines_add(struct lines *l, const struct row *row, const struct target *target)
{
	struct line line = {.span_count = (uint32_t)row->span_count};

	if (l->failed || !grow_lines(l)) {
		l->failed = true;
		return;
	}
	if (target)
		line.target = *target;
	line.text = strdup(row->text);
	line.spans = calloc(row->span_count + 1, sizeof *line.spans);
	if (!line.text || !line.spans) {
		free(line.text);
		free(line.spans);
		l->failed = true;
		return;
	}
	memcpy(line.spans, row->spans, row->span_count * sizeof *line.spans);
	l->at[l->count++] = line;
}

void lines_row(const struct lines *l, size_t i, struct row *out)
{
	const struct line *line = &l->at[i];
	size_t n;

	out->len = strlen(line->text);
	memcpy(out->text, line->text, out->len + 1);
	out->span_count = line->span_count;
	memcpy(out->spans, line->spans, line->span_count * sizeof *line->spans);
	out->width = 0;
	for (const char *p = out->text; *p; p += n)
		out->width += row_columns(p, &n);
}

void lines_release(struct lines *l)
{
	for (size_t i = 0; i < l->count; i++) {
		free(l->at[i].text);
		free(l->at[i].spans);
	}
	free(l->at);
	*l = (struct lines){0};
}

size_t lines_view_count(const struct view *view)
{
	const struct lines *l = view->state;

	return l ? l->count : 0;
}

void lines_view_row(struct viewer *v, const struct view *view, size_t line, struct row *out)
{
	(void)v;
	lines_row(view->state, line, out);
}

bool lines_view_place(struct viewer *v, const struct view *view, size_t line,
		      struct view_place *out)
{
	const struct lines *l = view->state;

	(void)v;
	if (!l || line >= l->count || !l->at[line].target.has_place)
		return false;
	*out = l->at[line].target.place;
	return true;
}

void lines_view_release(struct view *view)
{
	if (!view->state)
		return;
	lines_release(view->state);
	free(view->state);
	view->state = NULL;
}

struct lines *lines_view_begin(struct view *view, struct bt_error *err)
{
	lines_view_release(view);
	view->state = calloc(1, sizeof(struct lines));
	if (!view->state)
		bt_no_memory(err, NULL);
	return view->state;
}

int lines_view_end(const struct lines *l, struct bt_error *err)
{
	return l->failed ? bt_no_memory(err, NULL) : 0;
}

const struct target *lines_view_target(const struct view *view)
{
	const struct lines *l = view->state;

	return l && view->cursor < l->count ? &l->at[view->cursor].target : NULL;
}
