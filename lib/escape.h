/* SPDX-License-Identifier: MIT */
/* Makes text from outside (paths, symbol names, arguments) fit to be shown: no byte of it can act
 * on a terminal, reorder what stands around it or hide. All names from traces and symbol tables
 * pass through it on their way to a terminal. Pure. */
#ifndef BT_ESCAPE_H
#define BT_ESCAPE_H

#include "lib/buf.h"
#include "lib/slice.h"

/* Appends the text. Printable characters pass (of UTF-8 only when utf8 is set); every byte of
 * anything else becomes \xNN: controls, invalid UTF-8, and the invisible and bidirectional format
 * characters. No NUL is added. */
void bt_escape(struct buf *out, struct slice text, bool utf8);

/* Escapes a C string into out[cap], always terminated, cut between two characters if it does not
 * fit. Returns the length written. cap > 0. */
size_t bt_escape_str(char *out, size_t cap, const char *text, bool utf8);

/* The length of the printable UTF-8 character at p, or 0 when the bytes there are none. */
size_t bt_printable(const uint8_t *p, size_t len);

#endif
