/* SPDX-License-Identifier: MIT */
#include "lib/slice.h"

#include <stdlib.h>
#include <string.h>

enum {
	LEB_MAX = 10, /* bytes */
};

/* With room for the longest one no byte needs a check of its own: histories are made of these
 * numbers. */
static bool leb_with_room(struct slice *s, uint64_t *out)
{
	const uint8_t *p = s->at;
	uint64_t v = *p & 0x7f;
	unsigned shift = 0;

	while (*p++ & 0x80) {
		shift += 7;
		if (shift == 63 && *p > 1)
			return false;
		v |= (uint64_t)(*p & 0x7f) << shift;
	}
	s->len -= (size_t)(p - s->at);
	s->at = p;
	*out = v;
	return true;
}

uint64_t slice_leb_any(struct slice *s)
{
	uint64_t v = 0;

	if (!s->bad && s->len >= LEB_MAX && leb_with_room(s, &v))
		return v;
	v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t b = slice_u8(s);

		if (s->bad)
			return 0;
		if (shift == 63 && b > 1)
			break;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
	s->bad = true;
	s->len = 0;
	return 0;
}

bool slice_is(struct slice s, const char *text)
{
	return s.len == strlen(text) && (!s.len || !memcmp(s.at, text, s.len));
}

char *slice_dup(struct slice s)
{
	char *out = malloc(s.len + 1);

	if (!out)
		return NULL;
	if (s.len)
		memcpy(out, s.at, s.len);
	out[s.len] = '\0';
	return out;
}
