/* SPDX-License-Identifier: MIT */
#include "lib/escape.h"

#include <stdio.h>
#include <string.h>

#include "lib/array_size.h"

struct code_points {
	uint32_t first, last;
};

/* Valid code points that are invisible or act on the text around them (Unicode 15: general
 * categories Cc, Cf, Zl, Zp and Cs; the last planes: tags and private use). */
static const struct code_points hidden[] = {
	{0x0000, 0x001f},   {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x0600, 0x0605},
	{0x061c, 0x061c},   {0x06dd, 0x06dd},   {0x070f, 0x070f},   {0x0890, 0x0891},
	{0x08e2, 0x08e2},   {0x180e, 0x180e},   {0x200b, 0x200f},   {0x2028, 0x202e},
	{0x2060, 0x206f},   {0xd800, 0xf8ff},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
	{0xfff0, 0xfffc},   {0xfffe, 0xffff},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd},
	{0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0x10ffff},
};

static bool is_hidden(uint32_t c)
{
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
		if (c >= hidden[i].first && c <= hidden[i].last)
			return true;
	return false;
}

size_t bt_printable(const uint8_t *p, size_t len)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800,
					 0x10000}; /* by length: lower code points are overlong */
	size_t n;
	uint32_t c;

	if (!len)
		return 0;
	if (p[0] < 0x80)
		return p[0] >= 0x20 && p[0] != 0x7f;
	n = p[0] >= 0xf8 ? 0 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc0 ? 2 : 0;
	if (!n || n > len)
		return 0;
	c = p[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	return c < least[n] || c > 0x10ffff || is_hidden(c) ? 0 : n;
}

/* One character or byte off the front of text, as shown, in out[8]. Returns its length; *used is
 * how much it took. */
static size_t escape_one(char out[8], const uint8_t *p, size_t len, bool utf8, size_t *used)
{
	size_t n = bt_printable(p, len);

	if (n && (n == 1 || utf8)) {
		memcpy(out, p, n);
		*used = n;
		return n;
	}
	*used = 1;
	return (size_t)snprintf(out, 8, "\\x%02x", p[0]);
}

void bt_escape(struct buf *out, struct slice text, bool utf8)
{
	while (text.len) {
		char one[8];
		size_t used, n = escape_one(one, text.at, text.len, utf8, &used);

		buf_put(out, one, n);
		text.at += used;
		text.len -= used;
	}
}

size_t bt_escape_str(char *out, size_t cap, const char *text, bool utf8)
{
	const uint8_t *p = (const uint8_t *)text;
	size_t left = strlen(text), len = 0;

	while (left) {
		char one[8];
		size_t used, n = escape_one(one, p, left, utf8, &used);

		if (len + n + 1 > cap)
			break;
		memcpy(out + len, one, n);
		len += n;
		p += used;
		left -= used;
	}
	out[len] = '\0';
	return len;
}
