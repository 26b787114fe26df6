/* SPDX-License-Identifier: MIT */
#include "decoder/last_words.h"

#include <string.h>

enum {
	ESC = 0x1b,
	BEL = 7,
	TAB_COLUMNS = 8,
};

static bool is_in_range(uint8_t c, uint8_t first, uint8_t last) { return c >= first && c <= last; }

/* The length of a control sequence of ECMA-48 (CSI and OSC, with which terminals are told colours
 * and titles) at p, 0: there is none. */
static size_t sequence_len(const uint8_t *p, size_t len)
{
	size_t n = 2;

	if (len < 2 || p[0] != ESC || (p[1] != '[' && p[1] != ']'))
		return 0;
	if (p[1] == '[') {
		while (n < len && is_in_range(p[n], 0x20, 0x3f))
			n++;
		return n < len && is_in_range(p[n], 0x40, 0x7e) ? n + 1 : n;
	}
	while (n < len && p[n] != BEL && p[n] != ESC)
		n++;
	if (n + 1 < len && p[n] == ESC && p[n + 1] == '\\')
		return n + 2;
	return n < len && p[n] == BEL ? n + 1 : n;
}

void last_words_begin(struct kept_words *w, const struct bt_record_last_words *r)
{
	struct slice s = r && r->text.len ? r->text : slice_of("", 0); /* no bytes are at NULL */
	size_t start, lines = 0;

	while (s.len && s.at[s.len - 1] == '\n')
		s.len--;
	start = s.len;
	while (start && (s.at[start - 1] != '\n' || ++lines < LAST_WORDS_LINES))
		start--;
	*w = (struct kept_words){.rest = slice_of(s.at + start, s.len - start),
				 .earlier = r && (start || r->total > r->text.len)};
}

/* The part of a line that carriage returns leave visible: the text behind the last one that text
 * follows. */
static struct slice seen(struct slice s)
{
	size_t start;

	while (s.len && s.at[s.len - 1] == '\r')
		s.len--;
	for (start = s.len; start && s.at[start - 1] != '\r'; start--)
		;
	return slice_of(s.at + start, s.len - start);
}

bool last_words_next(struct kept_words *w, char line[LAST_WORDS_LINE_MAX])
{
	const uint8_t *end = w->rest.len ? memchr(w->rest.at, '\n', w->rest.len) : NULL;
	struct slice s = w->rest;
	size_t used = 0;

	if (!w->rest.len)
		return false;
	s.len = end ? (size_t)(end - s.at) : s.len;
	slice_take(&w->rest, s.len + (end != NULL));
	s = seen(s);
	while (s.len && used + TAB_COLUMNS < LAST_WORDS_LINE_MAX) {
		size_t n = sequence_len(s.at, s.len);

		if (n) {
			slice_take(&s, n);
			continue;
		}
		if (*s.at == '\t')
			do
				line[used++] = ' ';
			while (used % TAB_COLUMNS);
		else if (*s.at)
			line[used++] = (char)*s.at;
		slice_take(&s, 1);
	}
	if (s.len) /* cut, not in the midst of a character */
		while (used && ((uint8_t)line[used - 1] & 0xc0) == 0x80)
			used--;
	if (s.len) {
		used -= used && (uint8_t)line[used - 1] >= 0xc0;
		memcpy(line + used, "...", 3);
		used += 3;
	}
	line[used] = '\0';
	return true;
}
