/* SPDX-License-Identifier: MIT */
#include "lib/buf.h"

#include <stdlib.h>
#include <string.h>

void buf_release(struct buf *b)
{
	free(b->data);
	*b = (struct buf){0};
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->failed = false;
}

bool buf_reserve(struct buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : 256;
	uint8_t *data;

	if (b->failed)
		return false;
	if (b->cap - b->len >= n)
		return true;
	while (cap - b->len < n) {
		if (cap > SIZE_MAX / 2) {
			b->failed = true;
			return false;
		}
		cap *= 2;
	}
	data = realloc(b->data, cap);
	if (!data) {
		b->failed = true;
		return false;
	}
	b->data = data;
	b->cap = cap;
	return true;
}

void buf_put(struct buf *b, const void *bytes, size_t n)
{
	if (n && buf_reserve(b, n)) {
		memcpy(b->data + b->len, bytes, n);
		b->len += n;
	}
}

void buf_uint(struct buf *b, uint64_t v, size_t n)
{
	if (!buf_reserve(b, n))
		return;
	for (size_t i = 0; i < n; i++, v >>= 8)
		b->data[b->len++] = (uint8_t)v;
}

void buf_leb(struct buf *b, uint64_t v)
{
	enum { LONGEST = 10 };

	if (!buf_reserve(b, LONGEST))
		return;
	for (; v >= 0x80; v >>= 7)
		b->data[b->len++] = (uint8_t)v | 0x80;
	b->data[b->len++] = (uint8_t)v;
}
