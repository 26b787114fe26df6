/* SPDX-License-Identifier: MIT */
#include "tui/row.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "lib/escape.h"

void row_init(struct row *r, bool utf8)
{
	r->utf8 = utf8;
	r->whole = r->cut = false;
	r->len = 0;
	r->width = 0;
	r->span_count = 0;
	r->text[0] = '\0';
}

static void begin_span(struct row *r, enum style style)
{
	if (r->span_count && r->spans[r->span_count - 1].style == style)
		return;
	if (r->span_count < ROW_SPANS)
		r->spans[r->span_count++] =
			(struct row_span){.start = (uint16_t)r->len, .style = (uint8_t)style};
}

/* Appends one character of n bytes; false when the row is full. */
static bool put_char(struct row *r, const char *p, size_t n, unsigned columns)
{
	if (r->len + n >= ROW_BYTES)
		return false;
	memcpy(r->text + r->len, p, n);
	r->len += n;
	r->text[r->len] = '\0';
	r->width += columns;
	return true;
}

void row_put(struct row *r, enum style style, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	begin_span(r, style);
	for (const char *p = text; *p && put_char(r, p, 1, 1); p++)
		;
}

unsigned row_columns(const char *p, size_t *len)
{
	mbstate_t state = {0};
	wchar_t wc;
	size_t n = mbrtowc(&wc, p, strlen(p), &state);
	int columns;

	if (n == (size_t)-1 || n == (size_t)-2) {
		*len = 1;
		return 1;
	}
	*len = n;
	columns = wcwidth(wc);
	return columns < 0 ? 1 : (unsigned)columns;
}

static unsigned text_columns(const char *p)
{
	unsigned columns = 0;
	size_t n;

	for (; *p; p += n)
		columns += row_columns(p, &n);
	return columns;
}

void row_outside(struct row *r, enum style style, const char *text, unsigned columns)
{
	char safe[ROW_BYTES];
	unsigned used = 0, all;
	size_t n;

	bt_escape_str(safe, sizeof safe, text, r->utf8);
	all = columns ? text_columns(safe) : 0;
	begin_span(r, style);
	for (const char *p = safe; *p; p += n) {
		unsigned c = row_columns(p, &n);

		if (columns && all > columns && used + c + 1 > columns) {
			put_char(r, "~", 1, 1);
			r->cut = true;
			break;
		}
		if (!put_char(r, p, n, c))
			break;
		used += c;
	}
}

void row_source(struct row *r, enum style style, const char *text, size_t len)
{
	char piece[ROW_BYTES];
	unsigned start = r->width;

	begin_span(r, style);
	while (len) {
		const char *tab = memchr(text, '\t', len);
		size_t n = tab ? (size_t)(tab - text) : len;

		if (n >= sizeof piece)
			n = sizeof piece - 1;
		memcpy(piece, text, n);
		piece[n] = '\0';
		if (strlen(piece) < n) { /* a NUL in a source file shows, and ends the piece */
			n = strlen(piece);
			row_outside(r, style, piece, 0);
			row_put(r, style, "\\x00");
			text += n + 1;
			len -= n + 1;
			continue;
		}
		row_outside(r, style, piece, 0);
		if (text + n == tab)
			row_pad(r, start + ((r->width - start) / 8 + 1) * 8);
		n += text + n == tab;
		text += n;
		len -= n;
	}
}

void row_pad(struct row *r, unsigned column)
{
	begin_span(r, STYLE_NORMAL);
	while (r->width < column && put_char(r, " ", 1, 1))
		;
}
