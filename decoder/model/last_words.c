/* SPDX-License-Identifier: MIT */
#include "decoder/model/last_words.h"

#include <inttypes.h>
#include <stdio.h>
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

static struct slice words(struct slice s)
{
	return s.len ? s : slice_of("", 0); /* no bytes are at NULL */
}

/* The length of the first lines, with their ends: of whole ones, `most` of them. */
static size_t first_lines(struct slice s, unsigned most)
{
	size_t end = 0;

	for (unsigned n = 0; n < most; n++) {
		const uint8_t *at = end < s.len ? memchr(s.at + end, '\n', s.len - end) : NULL;

		if (!at)
			break;
		end = (size_t)(at - s.at) + 1;
	}
	return end;
}

/* Where the last `most` lines begin. */
static size_t last_lines(struct slice s, unsigned most)
{
	size_t start = s.len;
	unsigned lines = 0;

	if (start && s.at[start - 1] == '\n')
		start--;
	while (start && (s.at[start - 1] != '\n' || ++lines < most))
		start--;
	return start;
}

static struct slice without_empty_end(struct slice s)
{
	while (s.len && s.at[s.len - 1] == '\n')
		s.len--;
	return s;
}

/* first: the process's first bytes; text, its last, of `total`. */
static void choose_lines(struct kept_words *w, struct slice first, struct slice text,
			 uint64_t total, unsigned first_count, unsigned count)
{
	bool is_whole = total <= text.len;
	uint64_t skipped = is_whole ? 0 : total - text.len; /* bytes before text */
	struct slice shown = without_empty_end(text), head = is_whole ? shown : first;
	size_t start = last_lines(shown, count), head_len;
	uint64_t behind;

	*w = (struct kept_words){.head = slice_of("", 0)};
	if ((is_whole && !start) || !head.len) {
		w->rest = slice_of(shown.at + start, shown.len - start);
		w->earlier = !is_whole || start;
		return;
	}
	head_len = first_lines(head, first_count);
	start = last_lines(shown, count - first_count);
	behind = skipped + start;
	if (behind < head_len) { /* they meet */
		start = head_len > skipped ? (size_t)(head_len - skipped) : 0;
		start = start < shown.len ? start : shown.len;
		behind = skipped + start;
	}
	w->head = slice_of(head.at, head_len);
	w->rest = slice_of(shown.at + start, shown.len - start);
	w->left_out = behind - head_len;
}

static bool ends_with(struct slice s, const char *end)
{
	size_t len = strlen(end);

	return s.len >= len && !memcmp(s.at + s.len - len, end, len);
}

/* Where the dump of shadow bytes begins that ends an AddressSanitizer's report; SIZE_MAX: the text
 * does not end with one. It tells nobody anything, and half of the text is it. */
static size_t shadow_bytes(struct slice text)
{
	static const char title[] = "Shadow bytes around the buggy address:\n";
	const uint8_t *at = NULL, *next = text.at;

	if (!ends_with(without_empty_end(text), "==ABORTING"))
		return SIZE_MAX;
	while ((next = memmem(next, text.len - (size_t)(next - text.at), title, sizeof title - 1)))
		at = next++;
	return at ? (size_t)(at - text.at) : SIZE_MAX;
}

/* Whether the first lines that are shown are a sanitizer's, and not what the program said before.
 */
static bool begins_with_report(struct slice s)
{
	static const char title[] = "ERROR: AddressSanitizer";

	return memmem(s.at, first_lines(s, FIRST_WORDS_LINES), title, sizeof title - 1);
}

void last_words_begin(struct kept_words *w, const struct bt_record_last_words *r)
{
	struct slice first = words(r ? r->first : (struct slice){0}),
		     text = words(r ? r->text : (struct slice){0});
	uint64_t total = r ? r->total : 0;
	size_t shadow = shadow_bytes(text), left, last;

	if (shadow == SIZE_MAX) {
		choose_lines(w, first, text, total, FIRST_WORDS_LINES, LAST_WORDS_LINES);
		return;
	}
	left = text.len - shadow;
	choose_lines(w, first, slice_of(text.at, shadow), total > left ? total - left : 0,
		     begins_with_report(total > text.len ? first : text) ? REPORT_FIRST_LINES
									 : FIRST_WORDS_LINES,
		     REPORT_LINES);
	if (w->head.len || w->earlier)
		return;
	last = last_lines(text, 1);
	w->head = w->rest;
	w->rest = without_empty_end(slice_of(text.at + last, text.len - last));
	w->left_out = last - shadow;
}

void last_words_begin_telling(struct kept_words *w, const struct bt_record_last_words *r)
{
	struct slice lines = words(r ? r->telling : (struct slice){0});

	choose_lines(w, lines, lines, lines.len, TELLING_LINES / 2, TELLING_LINES);
}

bool last_words_has_lines(const struct kept_words *w) { return w->head.len || w->rest.len; }

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
	struct slice *from = w->head.len ? &w->head : &w->rest, s = *from;
	const uint8_t *end = from->len ? memchr(from->at, '\n', from->len) : NULL;
	size_t used = 0;

	if (!w->head.len && w->left_out) {
		snprintf(line, LAST_WORDS_LINE_MAX, "[... %" PRIu64 " bytes left out ...]",
			 w->left_out);
		w->left_out = 0;
		return true;
	}
	if (!from->len)
		return false;
	s.len = end ? (size_t)(end - s.at) : s.len;
	slice_take(from, s.len + (end != NULL));
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
