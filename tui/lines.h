/* SPDX-License-Identifier: MIT */
/* Prepared lines for short views: summary, registers, threads, help. Lines do not change after the
 * view is loaded. */
#ifndef BT_LINES_H
#define BT_LINES_H

#include "decoder/report/report_lines.h"
#include "tui/view.h"

/* The target of Enter on a line. */
struct target {
	bool history; /* a task's history at a position */
	uint32_t task;
	uint64_t position;
	const struct model_snapshot *snapshot; /* NULL: the one shown */
	enum report_kind kind;
	size_t frame; /* of REPORT_FRAME: the call that made this one of the task's stack leads on
		       */
	bool has_place;
	struct view_place place;
	size_t group; /* for the view's own use */
};

struct line {
	char *text;
	struct row_span *spans;
	uint32_t span_count;
	size_t whole; /* the number of the line that it is a piece of */
	struct target target;
};

struct lines {
	struct line *at;
	size_t count, cap;
	bool goes_on; /* the next one is a piece of the same line */
	bool failed;  /* without memory */
};

void lines_add(struct lines *l, const struct row *row,
	       const struct target *target); /* target may be NULL */
/* The same for a line that may be wider than `columns`: it goes on, `hanging` columns further right
 * than its first column. */
void lines_add_wrapped(struct lines *l, const struct row *row, unsigned columns, unsigned hanging,
		       const struct target *target);
/* The number of a line of which line i is a piece, and its first piece: so a cursor stays when
 * lines are wrapped anew. */
size_t lines_whole(const struct lines *l, size_t i);
size_t lines_first_piece(const struct lines *l, size_t whole);
void lines_row(const struct lines *l, size_t i, struct row *out);
void lines_release(struct lines *l);

/* Operations of views whose state is a struct lines. */
size_t lines_view_count(const struct view *view);
void lines_view_row(struct viewer *v, const struct view *view, size_t line, struct row *out);
bool lines_view_place(struct viewer *v, const struct view *view, size_t line,
		      struct view_place *out);
void lines_view_release(struct view *view);
/* Empties the view's lines; makes them first if there are none. NULL without memory. */
struct lines *lines_view_begin(struct view *view, struct bt_error *err);
/* Returns 0, or -BT_E_NO_MEMORY when a line is missing. */
int lines_view_end(const struct lines *l, struct bt_error *err);
const struct target *lines_view_target(const struct view *view);

#endif
