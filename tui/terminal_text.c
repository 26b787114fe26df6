/* SPDX-License-Identifier: MIT */
/* A line is taken word by word: the blanks before a word, and the word, with the marks that stand
 * in front of it. A colour ends with the line on the screen and begins anew in the next one, since
 * less(1) carries none over. */
#include "tui/terminal_text.h"

#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "decoder/symbols/text.h"

enum {
	WIDTH_MIN = 20, /* narrower terminals break lines themselves */
	FURTHER_IN = 4,
	CHAR_MAX_BYTES = 4, /* UTF-8 */
};

static const char left_out[] = "...";

/* ECMA-48, SGR. */
static const char *const colours[TEXT_MARKS] = {
	[TEXT_HEADING] = "1", [TEXT_FAILURE] = "1;31", [TEXT_REASON] = "33",
	[TEXT_SOURCE] = "36", [TEXT_QUIET] = "2",      [TEXT_MISSING] = "35",
};

struct page {
	struct buf *out;
	const struct terminal_text_options *o;
	unsigned width;  /* 0: no limit */
	unsigned column; /* of the next character */
	unsigned indent; /* of the line's continuation */
	uint8_t mark;    /* enum text_mark, of the text to come */
	bool begun;      /* the line has a character that is no blank */
};

static bool is_mark(uint8_t c) { return c && c < TEXT_MARKS; }

/* Columns of the character at p, its length in *len. */
static unsigned columns_of(const uint8_t *p, size_t left, size_t *len)
{
	mbstate_t state = {0};
	wchar_t wc;
	size_t n;
	int columns;

	*len = 1;
	if (*p < 0x80)
		return !is_mark(*p);
	n = mbrtowc(&wc, (const char *)p, left < CHAR_MAX_BYTES ? left : CHAR_MAX_BYTES, &state);
	if (n == (size_t)-1 || n == (size_t)-2 || !n)
		return 1;
	*len = n;
	columns = wcwidth(wc);
	return columns < 0 ? 1 : (unsigned)columns;
}

static unsigned columns_of_all(struct slice s)
{
	unsigned columns = 0;

	for (size_t at = 0, n; at < s.len; at += n)
		columns += columns_of(s.at + at, s.len - at, &n);
	return columns;
}

static void put(struct page *p, const char *s) { buf_put(p->out, s, strlen(s)); }

static void begin_colour(struct page *p)
{
	if (!p->o->colour || !colours[p->mark])
		return;
	put(p, "\033[");
	put(p, colours[p->mark]);
	put(p, "m");
}

static void end_colour(struct page *p)
{
	if (p->o->colour && colours[p->mark])
		put(p, "\033[0m");
}

static void go_on_below(struct page *p)
{
	end_colour(p);
	put(p, "\n");
	for (p->column = 0; p->column < p->indent; p->column++)
		put(p, " ");
	p->begun = false;
	begin_colour(p);
}

/* Bytes and marks as they come, broken where the line has no more room. */
static void put_broken(struct page *p, struct slice s)
{
	for (size_t at = 0, n; at < s.len; at += n) {
		unsigned columns = columns_of(s.at + at, s.len - at, &n);

		if (is_mark(s.at[at])) {
			end_colour(p);
			p->mark = s.at[at];
			begin_colour(p);
			continue;
		}
		if (p->width && p->column + columns > p->width && p->begun)
			go_on_below(p);
		buf_put(p->out, s.at + at, n);
		p->column += columns;
		p->begun = true;
	}
}

/* The end of a path that a line has room for, from one of its folders on; all of it, where even the
 * file's name has none. */
static struct slice end_of_path(struct slice word, unsigned room)
{
	unsigned columns = columns_of_all(word);

	for (size_t at = 0, n; at < word.len; at += n) {
		if (at && word.at[at] == '/' && columns <= room)
			return slice_of(word.at + at, word.len - at);
		columns -= columns_of(word.at + at, word.len - at, &n);
	}
	return word;
}

static void put_word(struct page *p, struct slice word)
{
	unsigned columns = columns_of_all(word), room = p->width - p->indent;

	if (!p->width || p->column + columns <= p->width) {
		put_broken(p, word);
		return;
	}
	if (p->begun)
		go_on_below(p);
	if (columns > room) {
		struct slice end = end_of_path(word, room - (sizeof left_out - 1));

		if (end.len < word.len)
			put_broken(p, slice_of((const uint8_t *)left_out, sizeof left_out - 1));
		word = end;
	}
	put_broken(p, word);
}

/* Blanks where a line breaks are left out. */
static void put_blanks(struct page *p, size_t count, struct slice word)
{
	if (p->width && p->column + count + columns_of_all(word) > p->width && p->begun) {
		go_on_below(p);
		return;
	}
	for (; count; count--, p->column++)
		put(p, " ");
}

static size_t blanks_at(struct slice s)
{
	size_t n = 0;

	while (n < s.len && s.at[n] == ' ')
		n++;
	return n;
}

static struct slice word_at(struct slice s)
{
	size_t n = 0;

	while (n < s.len && s.at[n] != ' ')
		n++;
	return slice_of(s.at, n);
}

static void put_line(struct page *p, struct slice line)
{
	size_t at = 0, blanks;

	p->mark = TEXT_PLAIN;
	p->column = 0;
	p->begun = false;
	while (at < line.len && is_mark(line.at[at]))
		p->mark = line.at[at++];
	begin_colour(p);
	blanks = blanks_at(slice_of(line.at + at, line.len - at));
	p->indent = (unsigned)(blanks + FURTHER_IN);
	if (p->width && p->indent > p->width / 2)
		p->indent = p->width / 2;
	if (p->width && blanks > p->indent)
		blanks = p->indent;
	while (at < line.len) {
		struct slice rest = slice_of(line.at + at, line.len - at), word;
		size_t n = blanks_at(rest);

		word = word_at(slice_of(rest.at + n, rest.len - n));
		put_blanks(p, p->begun ? n : blanks, word);
		put_word(p, word);
		at += n + word.len;
	}
	end_colour(p);
}

void terminal_text_make(struct buf *out, struct slice text, const struct terminal_text_options *o)
{
	struct page p = {.out = out, .o = o};

	if (o->width)
		p.width = o->width < WIDTH_MIN ? WIDTH_MIN : o->width;
	while (text.len && !out->failed) {
		const uint8_t *end = memchr(text.at, '\n', text.len);
		size_t n = end ? (size_t)(end - text.at) : text.len;

		put_line(&p, slice_of(text.at, n));
		if (end)
			put(&p, "\n");
		n += end != NULL;
		text = slice_of(text.at + n, text.len - n);
	}
}
