/* SPDX-License-Identifier: MIT */
#include "decoder/report/report_lines.h"

#include <stdlib.h>
#include <string.h>

#include "decoder/report/report_private.h"
#include "lib/bisect.h"
#include "lib/grow.h"

void report_about(struct report *r, const struct report_about *about)
{
	struct report_lines *lines = r->lines;
	struct report_mark *marks;

	if (!lines)
		return;
	marks = array_grow(lines->marks, lines->count, &lines->cap, sizeof *marks);
	if (!marks) {
		lines->failed = true;
		return;
	}
	lines->marks = marks;
	marks[lines->count++] = (struct report_mark){.at = r->t.buf.len, .about = *about};
}

void report_about_moment(struct report *r, enum report_kind kind)
{
	const struct model_snapshot *snap = r->focus.snap;

	if (snap)
		report_about(r, &(struct report_about){.kind = kind,
						       .snap = snap,
						       .task = snap->rec->task,
						       .position = snap->rec->position,
						       .has_place = true,
						       .space = snap->rec->space,
						       .epoch = snap->rec->epoch,
						       .addr = snap->rec->point.rip});
}

void report_about_nothing(struct report *r) { report_about(r, &(struct report_about){0}); }

struct report_piece report_take_marks(struct report *r, size_t from)
{
	struct report_lines *lines = r->lines;
	struct report_piece piece = {0};
	size_t first = lines ? lines->count : 0;

	while (first && lines->marks[first - 1].at >= from)
		first--;
	if (!lines || first == lines->count)
		return piece;
	piece.marks = calloc(lines->count - first, sizeof *piece.marks);
	lines->failed |= !piece.marks;
	for (size_t i = first; piece.marks && i < lines->count; i++) {
		piece.marks[piece.count] = lines->marks[i];
		piece.marks[piece.count++].at -= from;
	}
	lines->count = first;
	return piece;
}

void report_put_marks(struct report *r, const struct report_piece *piece)
{
	size_t base = r->t.buf.len;

	for (size_t i = 0; i < piece->count; i++) {
		report_about(r, &piece->marks[i].about);
		if (!r->lines->failed)
			r->lines->marks[r->lines->count - 1].at = base + piece->marks[i].at;
	}
}

void report_piece_release(struct report_piece *piece)
{
	free(piece->marks);
	*piece = (struct report_piece){0};
}

/* The newest mark at or before a byte; NULL: none. */
static const struct report_mark *mark_at(const struct report_lines *lines, size_t at)
{
	size_t i;

	BISECT(i, lines->count, lines->marks[i].at <= at);
	return i ? &lines->marks[i - 1] : NULL;
}

static unsigned count_lines(const struct report_lines *lines, size_t from, size_t to)
{
	unsigned n = 0;

	for (size_t i = from; i < to; i++)
		n += lines->text.data[i] == '\n';
	return n;
}

bool report_lines_next(const struct report_lines *lines, size_t *at, struct slice *line,
		       struct report_about *about, unsigned *part)
{
	const struct report_mark *mark = mark_at(lines, *at);
	const uint8_t *begin = lines->text.data + *at, *end;
	size_t left = lines->text.len - *at;

	if (!left)
		return false;
	end = memchr(begin, '\n', left);
	*line = slice_of(begin, end ? (size_t)(end - begin) : left);
	*about = mark ? mark->about : (struct report_about){0};
	*part = about->kind == REPORT_FRAME || about->kind == REPORT_PLACE
			? count_lines(lines, mark->at, *at)
			: 0;
	*at += line->len + (end != NULL);
	return true;
}

void report_lines_release(struct report_lines *lines)
{
	buf_release(&lines->text);
	free(lines->marks);
	*lines = (struct report_lines){0};
}
