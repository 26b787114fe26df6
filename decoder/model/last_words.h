/* SPDX-License-Identifier: MIT */
/* The first and last lines that a process wrote to its standard error, and those that say why it
 * ended, as they would look. Used by the report and the viewer. Pure; any bytes can be given. */
#ifndef BT_DECODER_LAST_WORDS_H
#define BT_DECODER_LAST_WORDS_H

#include "format/record.h"

enum {
	LAST_WORDS_LINES = 20, /* lines shown; one more tells the bytes left out between them */
	FIRST_WORDS_LINES = 5, /* lines from the beginning, if lines are left out */
	REPORT_LINES = 60,     /* lines shown of a sanitizer's report, the end of the text */
	REPORT_FIRST_LINES = 40,
	TELLING_LINES = 6,         /* the first of those that say why, and the last */
	LAST_WORDS_LINE_MAX = 320, /* bytes of a line that are shown, NUL included */
};

struct kept_words {
	struct slice head, rest; /* the lines still to come: before the omission, and behind it */
	uint64_t left_out;       /* bytes between them; 0: none */
	bool earlier; /* the process had written more before; the trace does not have that */
};

/* The lines that are to be shown. w borrows from r; NULL: no lines. */
void last_words_begin(struct kept_words *w, const struct bt_record_last_words *r);

/* The lines that say why the process ended: a sanitizer's ERROR, a panic, a failed assertion. */
void last_words_begin_telling(struct kept_words *w, const struct bt_record_last_words *r);

/* Whether there are any to come. */
bool last_words_has_lines(const struct kept_words *w);

/* The next line, NUL-terminated. Colours and other terminal controls are removed, tabs become
 * spaces, and a carriage return leaves the last text written over; all else is unchanged. Where
 * bytes were left out, a line says how many. False: there is none. */
bool last_words_next(struct kept_words *w, char line[LAST_WORDS_LINE_MAX]);

#endif
