/* SPDX-License-Identifier: MIT */
#include "import/text_cursor.h"

#include <string.h>

size_t text_take_blanks(struct slice *in)
{
	size_t n = 0;

	while (n < in->len && text_is_blank(in->at[n]))
		n++;
	slice_take(in, n);
	return n;
}

struct slice text_take_word(struct slice *in)
{
	size_t n = 0;

	text_take_blanks(in);
	while (n < in->len && !text_is_blank(in->at[n]))
		n++;
	return slice_take(in, n);
}

struct slice text_take_line(struct slice *in)
{
	const uint8_t *end = in->len ? memchr(in->at, '\n', in->len) : NULL;
	struct slice line = slice_take(in, end ? (size_t)(end - in->at) : in->len);

	if (end)
		slice_take(in, 1);
	return line;
}

bool text_take_char(struct slice *in, char c)
{
	if (!in->len || *in->at != (uint8_t)c)
		return false;
	slice_take(in, 1);
	return true;
}

static int digit_of(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

bool text_take_number(struct slice *in, unsigned base, uint64_t *out)
{
	size_t n = 0;

	for (*out = 0; n < in->len && digit_of(in->at[n]) < (int)base; n++) {
		if (*out > (UINT64_MAX - (unsigned)digit_of(in->at[n])) / base)
			return false;
		*out = *out * base + (unsigned)digit_of(in->at[n]);
	}
	slice_take(in, n);
	return n;
}

struct slice text_trimmed(struct slice s)
{
	text_take_blanks(&s);
	while (s.len && text_is_blank(s.at[s.len - 1]))
		s.len--;
	return s;
}
