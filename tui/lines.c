/* SPDX-License-Identifier: MIT */
#include "tui/lines.h"

#include <stdlib.h>
#include <string.h>

#include "lib/bisect.h"
#include "lib/grow.h"

enum {
	COLUMNS_MIN = 16, /* for text, in a terminal that has none */
};

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
	if (l->count)
		line.whole = l->at[l->count - 1].whole + !l->goes_on;
	l->goes_on = false;
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

/* How many bytes from `from` on fit into the columns: whole words, where one does. */
static size_t fitting_bytes(const char *text, unsigned columns)
{
	size_t fits = 0, words = 0, n, begin = strspn(text, " ");
	unsigned used = 0;

	for (; text[fits]; fits += n) {
		used += row_columns(text + fits, &n);
		if (used > columns)
			return words > begin ? words : fits ? fits : n;
		if (text[fits] == ' ')
			words = fits;
	}
	return fits;
}

static void put_piece(struct row *out, const struct row *row, size_t from, size_t n)
{
	size_t pad = out->len, room = ROW_BYTES - 1 - pad;

	n = n < room ? n : room;
	memcpy(out->text + pad, row->text + from, n);
	out->len += n;
	out->text[out->len] = '\0';
	for (size_t i = 0; i < row->span_count; i++) {
		size_t start = row->spans[i].start > from ? row->spans[i].start - from : 0;

		if (start >= n || (i + 1 < row->span_count && row->spans[i + 1].start <= from) ||
		    out->span_count == ROW_SPANS)
			continue;
		out->spans[out->span_count++] = (struct row_span){.start = (uint16_t)(pad + start),
								  .style = row->spans[i].style};
	}
}

void lines_add_wrapped(struct lines *l, const struct row *row, unsigned columns, unsigned hanging,
		       const struct target *target)
{
	size_t from = 0, n;

	columns = columns > COLUMNS_MIN ? columns : COLUMNS_MIN;
	hanging = hanging < columns / 2 ? hanging : columns / 2;
	do {
		struct row piece;

		row_init(&piece, row->utf8);
		if (from)
			row_pad(&piece, hanging);
		n = fitting_bytes(row->text + from, from ? columns - hanging : columns);
		put_piece(&piece, row, from, n);
		l->goes_on = from > 0;
		lines_add(l, &piece, target);
		from += n;
		from += strspn(row->text + from, " ");
	} while (row->text[from] && !l->failed);
}

size_t lines_whole(const struct lines *l, size_t i) { return i < l->count ? l->at[i].whole : 0; }

size_t lines_first_piece(const struct lines *l, size_t whole)
{
	size_t low;

	BISECT(low, l->count, l->at[low].whole < whole);
	return low < l->count ? low : l->count ? l->count - 1 : 0;
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
