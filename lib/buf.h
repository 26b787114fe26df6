/* SPDX-License-Identifier: MIT */
/* A growing byte buffer with little-endian putters. Without memory it is marked `failed` and drops
 * further bytes, so that an encoder puts all its fields and checks once. Writers of traces, reports
 * and kept files use it. The owner releases it. */
#ifndef BT_BUF_H
#define BT_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *data; /* owned */
	size_t len, cap;
	bool failed;
};

void buf_release(struct buf *b);

/* Forgets the content, keeps the memory. */
void buf_reset(struct buf *b);

/* Room for n more bytes at b->data + b->len; false, and b marked failed, without memory. */
bool buf_reserve(struct buf *b, size_t n);

void buf_put(struct buf *b, const void *bytes, size_t n);
void buf_uint(struct buf *b, uint64_t v, size_t n);
void buf_leb(struct buf *b, uint64_t v);
static inline void buf_sleb(struct buf *b, int64_t v)
{
	buf_leb(b, (uint64_t)v << 1 ^ -(uint64_t)(v < 0));
}
static inline void buf_u8(struct buf *b, uint8_t v) { buf_uint(b, v, 1); }
static inline void buf_u16(struct buf *b, uint16_t v) { buf_uint(b, v, 2); }
static inline void buf_u32(struct buf *b, uint32_t v) { buf_uint(b, v, 4); }
static inline void buf_u64(struct buf *b, uint64_t v) { buf_uint(b, v, 8); }

#endif
