/* SPDX-License-Identifier: MIT */
/* How reports write locations, sizes of things and text from outside. Used by report and JSON, the
 * explanations, and the viewer's labels. All of it goes to a buf, escaped: whatever a trace says, a
 * terminal only shows it. */
#ifndef BT_TEXT_H
#define BT_TEXT_H

#include "decoder/symbols/symbols.h"
#include "lib/buf.h"

/* The style of the text behind such a mark, up to the next one or to the end of the line. Marks are
 * bytes that no text has otherwise, as text from outside is escaped, and take no room. Only a text
 * with `marks` has them: one for a terminal, which tui/terminal_text.h draws. No mark tells what
 * the words do not. */
enum text_mark {
	TEXT_PLAIN = 1,
	TEXT_HEADING,
	TEXT_FAILURE, /* the failure itself */
	TEXT_REASON,  /* the program's own words about it */
	TEXT_SOURCE,  /* a line of source */
	TEXT_QUIET,   /* of little interest: libraries */
	TEXT_MISSING, /* branches are missing */
	TEXT_MARKS,
};

struct text {
	struct buf buf;
	bool utf8;      /* printable characters beyond ASCII may pass */
	bool marks;     /* it has marks */
	unsigned width; /* columns that a line should fit in; 0: no limit */
};

void text_printf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void text_mark(struct text *t, enum text_mark mark);

/* Text from outside. */
void text_outside(struct text *t, const char *s);

/* "function+0x12", else "libc.so.6+0x1234", else the address. brief: without a long name's
 * parameters and template arguments, for columns. */
void text_place(struct text *t, const struct location *loc, bool brief);

/* " file.c:12", nothing when it is unknown; full: with its folder. */
void text_line(struct text *t, const char *file, int line, bool full);

/* "price shop.cc:12, inlined into", a new line and `indent` spaces for each inlined function, and
 * the function that holds them with its own line, or its module where there is none. full as in
 * text_line. */
void text_frame(struct text *t, const struct location *loc, unsigned indent, bool full);

/* The same, with arguments behind the name of each part of the frame for which put() puts some:
 * that name goes without offset and types of parameters then. part: as of a struct location's
 * inlined, or inlined_count. */
void text_frame_arguments(struct text *t, const struct location *loc, unsigned indent, bool full,
			  bool (*put)(void *arg, struct text *t, size_t part), void *arg);

/* The width on a terminal of what was written from byte `from` on, counted in characters. */
size_t text_width(const struct text *t, size_t from);

/* Spaces until what was written from byte `from` on is `width` wide. */
void text_pad(struct text *t, size_t from, size_t width);

const char *text_basename(const char *path);

/* The name of a code address in an instruction's text, "function+0x12"; false where no function is
 * known. For disasm_style: arg is a struct text_names. */
struct text_names {
	struct symbols *s;
	uint32_t space, epoch;
};
bool text_address_name(void *arg, uint64_t addr, char *out, size_t size);

/* A name as it is when it is short; else without parameters, and with its template arguments, if
 * need be, as <...>, into out[cap]. */
void text_brief_name(char *out, size_t cap, const char *name);

#endif
