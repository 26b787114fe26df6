/* SPDX-License-Identifier: MIT */
/* The last lines that a process wrote to its standard error, as they would look. Used by the report
 * and the viewer. Pure; any bytes can be given. */
#ifndef BT_DECODER_LAST_WORDS_H
#define BT_DECODER_LAST_WORDS_H

#include "format/record.h"

enum {
	LAST_WORDS_LINES = 20,
	LAST_WORDS_LINE_MAX = 320, /* bytes of a line that are shown, NUL included */
};

struct kept_words {
	struct slice rest; /* the lines to come */
	bool earlier;      /* the process had written more before */
};

/* The last LAST_WORDS_LINES lines. w borrows from r; NULL: no lines. */
void last_words_begin(struct kept_words *w, const struct bt_record_last_words *r);

/* The next line, NUL-terminated. Colours and other terminal controls are removed, tabs become
 * spaces, and a carriage return leaves the last text written over; all else is unchanged. False:
 * there is none. */
bool last_words_next(struct kept_words *w, char line[LAST_WORDS_LINE_MAX]);

#endif
