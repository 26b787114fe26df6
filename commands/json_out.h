/* SPDX-License-Identifier: MIT */
/* JSON that is written as text into a buffer. Used by btrec list: it need not load jansson. */
#ifndef BT_JSON_OUT_H
#define BT_JSON_OUT_H

#include "lib/buf.h"
#include "lib/slice.h"

/* Adds a piece of JSON as it is. */
void json_out(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a string. Of bytes that are no printable UTF-8 it has \xNN (bt_escape()), as reports do. */
void json_out_text(struct buf *b, struct slice text);

#endif
