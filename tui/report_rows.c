/* SPDX-License-Identifier: MIT */
#include "tui/report_rows.h"

#include <stdlib.h>
#include <string.h>

enum {
	HANGING = 4,   /* deeper than its first line is the rest of a long one */
	ROOM_MIN = 16, /* columns for text, in a terminal that has none */
};

static const enum style kind_styles[] = {
	[REPORT_PLAIN] = STYLE_NORMAL, [REPORT_HEADING] = STYLE_HEADING,
	[REPORT_CAUSE] = STYLE_FAULT,  [REPORT_PLACE] = STYLE_NORMAL,
	[REPORT_FRAME] = STYLE_NORMAL, [REPORT_THREAD] = STYLE_HEADING,
	[REPORT_REMARK] = STYLE_DIM,   [REPORT_HISTORY] = STYLE_HEADING,
	[REPORT_TASK] = STYLE_NORMAL,  [REPORT_MOMENT] = STYLE_NORMAL,
};

/* The length of a text's next line: as many words as fit into the width. */
static size_t fitting_length(const char *text, size_t room)
{
	size_t len = strlen(text), cut = room;

	if (len <= room)
		return len;
	while (cut && text[cut] != ' ')
		cut--;
	if (cut > strspn(text, " "))
		return cut;
	for (cut = room; cut && ((unsigned char)text[cut] & 0xc0) == 0x80; cut--)
		; /* not in the midst of a character */
	return cut ? cut : room;
}

/* Puts a line of the report on as many lines as it needs. */
static void add_wrapped(struct viewer *v, struct lines *l, const char *text, enum style style,
			const struct target *target)
{
	size_t columns = v->screen.columns > ROOM_MIN ? (size_t)v->screen.columns : ROOM_MIN,
	       indent = 0, n;

	do {
		size_t room = columns > indent + ROOM_MIN ? columns - indent : ROOM_MIN;
		char piece[ROW_BYTES];
		struct row row;

		n = fitting_length(text, room < sizeof piece ? room : sizeof piece - 1);
		memcpy(piece, text, n);
		piece[n] = '\0';
		row_init(&row, v->screen.utf8);
		row_pad(&row, (unsigned)indent);
		row_outside(&row, style, piece, 0);
		l->goes_on = indent > 0;
		lines_add(l, &row, target);
		if (!indent)
			indent = strspn(text, " ") + HANGING;
		text += n + (text[n] == ' ');
	} while (*text);
}

struct target report_rows_target(const struct report_about *about, unsigned part, size_t ordinal)
{
	return (struct target){
		.history = about->task != 0,
		.task = about->task,
		.position = about->position,
		.snapshot = about->snap,
		.kind = about->kind,
		.frame = about->frame,
		.has_place = about->has_place,
		.place = {.addr = about->addr,
			  .space = about->space,
			  .epoch = about->epoch,
			  .is_return = about->is_return,
			  .part = part,
			  .entry = NO_ENTRY},
		.group = ordinal,
	};
}

void report_rows_add(struct viewer *v, struct lines *l, struct slice line,
		     const struct target *target)
{
	bool chosen = target->kind == REPORT_MOMENT && target->snapshot == v->snap;
	char *text = slice_dup(line);

	l->failed |= !text;
	add_wrapped(v, l, text ? text : "", chosen ? STYLE_MARK : kind_styles[target->kind],
		    target);
	free(text);
}
