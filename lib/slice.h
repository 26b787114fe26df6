/* SPDX-License-Identifier: MIT */
/* A checked cursor over bytes that nobody vouches for, with little-endian getters. A getter past
 * the end sets `bad` and gives zero; every later getter then gives zero too, so that a decoder
 * reads all its fields and checks once. The bytes are borrowed, never written. Everything that
 * decodes bytes of a file or of a program reads them through it. Pure. */
#ifndef BT_SLICE_H
#define BT_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slice {
	const uint8_t *at;
	size_t len; /* bytes left */
	bool bad;   /* a getter ran past the end */
};

static inline struct slice slice_of(const void *bytes, size_t len)
{
	return (struct slice){.at = bytes, .len = len};
}

/* Takes n bytes off the front. If fewer are left, marks s bad and returns an empty bad slice. */
static inline struct slice slice_take(struct slice *s, size_t n)
{
	struct slice out = {.at = s->at, .len = n};

	if (s->bad || n > s->len) {
		s->bad = true;
		s->len = 0;
		return (struct slice){.at = s->at, .bad = true};
	}
	if (n) /* an empty slice may have no address, and NULL + 0 is undefined */
		s->at += n;
	s->len -= n;
	return out;
}

static inline uint64_t slice_uint(struct slice *s, size_t n)
{
	struct slice b = slice_take(s, n);
	uint64_t v = 0;

	for (size_t i = b.len; i-- > 0;)
		v = v << 8 | b.at[i];
	return v;
}

static inline uint8_t slice_u8(struct slice *s) { return (uint8_t)slice_uint(s, 1); }
static inline uint16_t slice_u16(struct slice *s) { return (uint16_t)slice_uint(s, 2); }
static inline uint32_t slice_u32(struct slice *s) { return (uint32_t)slice_uint(s, 4); }
static inline uint64_t slice_u64(struct slice *s) { return slice_uint(s, 8); }

uint64_t slice_leb_any(struct slice *s);

/* Unsigned LEB128 of at most 64 bits; an overlong one marks the slice bad. Histories are made of
 * these, most of them one byte or two. */
static inline uint64_t slice_leb(struct slice *s)
{
	if (s->len && !s->bad && *s->at < 0x80) {
		s->len--;
		return *s->at++;
	}
	if (s->len > 1 && !s->bad && s->at[1] < 0x80) {
		s->len -= 2;
		s->at += 2;
		return (s->at[-2] & 0x7fu) | (uint64_t)s->at[-1] << 7;
	}
	return slice_leb_any(s);
}

/* Signed values as zigzag LEB128. */
static inline int64_t slice_sleb(struct slice *s)
{
	uint64_t v = slice_leb(s);

	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/* Whether its bytes are those of the string. */
bool slice_is(struct slice s, const char *text);

/* A copy of the slice's bytes with a NUL behind them; free() it. NULL without memory. */
char *slice_dup(struct slice s);

#endif
