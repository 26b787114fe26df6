/* SPDX-License-Identifier: MIT */
/* A text report as a terminal shows it: its marks (decoder/symbols/text.h) as colours, its lines
 * broken where the terminal ends. Used by btview. Pure. */
#ifndef BT_TERMINAL_TEXT_H
#define BT_TERMINAL_TEXT_H

#include "lib/buf.h"
#include "lib/slice.h"

struct terminal_text_options {
	unsigned width; /* columns; 0: lines are not broken */
	bool colour;
};

/* Appends the text without its marks. A line that is too wide goes on, four columns further in than
 * it began, with the next word; a word that no line has room for is broken, but of a path the
 * beginning is left out. The text is UTF-8 as the locale has it, or ASCII. out->failed: without
 * memory. */
void terminal_text_make(struct buf *out, struct slice text, const struct terminal_text_options *o);

#endif
