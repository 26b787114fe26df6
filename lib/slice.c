/* SPDX-License-Identifier: MIT */
#include "lib/slice.h"

#include <stdlib.h>
#include <string.h>

uint64_t slice_leb(struct slice *s)
{
	uint64_t v = 0;

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
