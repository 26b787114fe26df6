/* SPDX-License-Identifier: MIT */
/* One line of a view, laid out: text that is fit for a terminal, and its styles. Views make rows
 * only for the lines that show. Pure. All text is made harmless when it is added: a terminal only
 * shows it. */
#ifndef BT_ROW_H
#define BT_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum style {
	STYLE_NORMAL,
	STYLE_DIM, /* of little interest: line numbers, branches not taken */
	STYLE_HEADING,
	STYLE_ADDRESS,
	STYLE_FUNCTION,
	STYLE_FILE,
	STYLE_CALL,
	STYLE_RETURN,
	STYLE_SYSTEM, /* system calls, signals */
	STYLE_GAP,
	STYLE_FAULT,
	STYLE_MARK, /* executed code, changed values */
	STYLE_COUNT
};

enum { ROW_BYTES = 4096, ROW_SPANS = 48 };

struct row_span {
	uint16_t start; /* byte in text; up to the next span */
	uint8_t style;  /* enum style */
};

struct row {
	bool utf8;  /* the terminal shows UTF-8 */
	bool whole; /* for a search: names are not cut to fit, and inlined functions are told as
		       well */
	bool cut;   /* as whole it would say more */
	size_t len;
	unsigned width; /* columns */
	size_t span_count;
	struct row_span spans[ROW_SPANS];
	char text[ROW_BYTES]; /* NUL-terminated; ends where it is full */
};

void row_init(struct row *r, bool utf8);

/* Appends text of our own making: printable ASCII. */
void row_put(struct row *r, enum style style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Appends text from a trace, a symbol table or a file, escaped, at most columns wide (0: no limit).
 * Text that is too wide is cut and ends in '~'. */
void row_outside(struct row *r, enum style style, const char *text, unsigned columns);

/* The same, with tabs as spaces up to the next multiple of 8 columns from where the text begins. */
void row_source(struct row *r, enum style style, const char *text, size_t len);

/* Spaces up to a column, if the row is not there yet. */
void row_pad(struct row *r, unsigned column);

/* Columns of the UTF-8 character at p, its length in *len (>= 1 unless at the end). */
unsigned row_columns(const char *p, size_t *len);

#endif
