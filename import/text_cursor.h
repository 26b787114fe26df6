/* SPDX-License-Identifier: MIT */
/* Words and numbers off the front of text that nobody vouches for. Used by the readers of text
 * formats. Pure: words are slices of the text. */
#ifndef BT_TEXT_CURSOR_H
#define BT_TEXT_CURSOR_H

#include "lib/slice.h"

static inline bool text_is_blank(uint8_t c) { return c == ' ' || c == '\t' || c == '\r'; }

/* Takes blanks; returns how many. */
size_t text_take_blanks(struct slice *in);

/* Takes the next word, with the blanks before it; empty at the end. */
struct slice text_take_word(struct slice *in);

/* Takes a line, without its end. */
struct slice text_take_line(struct slice *in);

bool text_take_char(struct slice *in, char c);

/* Takes a number. False when there is none, or it has more than 64 bits. */
bool text_take_number(struct slice *in, unsigned base, uint64_t *out);

/* The slice without blanks at either end. */
struct slice text_trimmed(struct slice s);

#endif
