/* SPDX-License-Identifier: MIT */
#include "format/block.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

/* As in PNG: not ASCII at the front and a line end inside, so that a text-mode transfer breaks it
 * visibly. */
static const uint8_t file_magic[8] = {0x89, 'B', 'T', 'R', 'E', 'C', '\r', '\n'};
static const uint8_t block_magic[4] = {'B', 'T', 'B', 'K'};

enum packing {
	PACKING_NONE,
	PACKING_ZSTD,
};

enum {
	QUICK_LEVEL = 1, /* half of level 3's time, a tenth more bytes */
	/* Up to SMALL bytes are packed with tables of 32 KiB, not 192: page faults on those would
	 * cost as much as the packing. */
	SMALL = 16384,
	SMALL_LEVEL = -1,
	FULL_LEVEL = 3,  /* the time never shows in a profile beside a stop */
	DENSE_LEVEL = 6, /* of graphs 3 hundredths less than FULL_LEVEL makes, for 2 ns an entry */
};

void trace_file_name(char name[32], enum bt_file_kind kind, uint32_t number)
{
	static const char *const stems[] = {
		[BT_FILE_EVENTS] = "events",   [BT_FILE_BRANCHES] = "branches-",
		[BT_FILE_OBJECTS] = "objects", [BT_FILE_SYMBOLS] = "symbols",
		[BT_FILE_LOG] = "log-",        [BT_FILE_MAPPED] = "mapped-",
	};

	if (kind == BT_FILE_BRANCHES || kind == BT_FILE_LOG || kind == BT_FILE_MAPPED)
		snprintf(name, 32, "%s%u", stems[kind], number);
	else
		snprintf(name, 32, "%s", stems[kind]);
}

static uint32_t checksum(const void *bytes, size_t len)
{
	return (uint32_t)crc32(crc32(0, NULL, 0), bytes, (uInt)len);
}

void bt_file_header_encode(struct buf *out, enum bt_file_kind kind,
			   const uint8_t uuid[BT_UUID_SIZE])
{
	size_t start = out->len;

	buf_put(out, file_magic, sizeof file_magic);
	buf_u16(out, BT_FORMAT_MAJOR);
	buf_u16(out, BT_FORMAT_MINOR);
	buf_u8(out, (uint8_t)kind);
	buf_uint(out, 0, 3);
	buf_put(out, uuid, BT_UUID_SIZE);
	buf_u32(out, 0);
	if (!out->failed)
		buf_u32(out, checksum(out->data + start, BT_FILE_HEADER_SIZE - 4));
}

int bt_file_header_decode(struct slice *in, struct bt_file_header *h, struct bt_error *err)
{
	struct slice s = *in;
	struct bt_file_header got = {0};
	uint32_t reserved;

	if (in->len >= sizeof file_magic && memcmp(in->at, file_magic, sizeof file_magic))
		return bt_fail_at(err, BT_E_NOT_TRACE, 0, "not a btrec trace file");
	if (in->len < BT_FILE_HEADER_SIZE)
		return bt_fail_at(err, BT_E_TRUNCATED, in->len,
				  "the file ends inside its header, after %zu bytes", in->len);
	slice_take(&s, sizeof file_magic);
	got.major = slice_u16(&s);
	got.minor = slice_u16(&s);
	got.kind = slice_u8(&s);
	reserved = (uint32_t)slice_uint(&s, 3);
	memcpy(got.uuid, slice_take(&s, BT_UUID_SIZE).at, BT_UUID_SIZE);
	reserved |= slice_u32(&s);
	if (got.major != BT_FORMAT_MAJOR)
		return bt_fail_at(
			err, BT_E_VERSION, 8,
			"trace format %u.%u; this btrec reads %u.x: use the btrec that wrote it",
			got.major, got.minor, BT_FORMAT_MAJOR);
	if (slice_u32(&s) != checksum(in->at, BT_FILE_HEADER_SIZE - 4))
		return bt_fail_at(err, BT_E_CORRUPT, 0, "checksum of the file header is wrong");
	if (reserved)
		return bt_fail_at(
			err, BT_E_VERSION, 13,
			"reserved bits are set in the file header: written by a newer btrec");
	*in = s;
	*h = got;
	return 0;
}

int bt_block_encode(struct buf *out, uint64_t ordinal, struct slice records,
		    enum bt_block_effort effort)
{
	static const int levels[] = {[BT_BLOCK_QUICK] = QUICK_LEVEL,
				     [BT_BLOCK_FULL] = FULL_LEVEL,
				     [BT_BLOCK_DENSE] = DENSE_LEVEL};
	size_t start = out->len, bound = ZSTD_compressBound(records.len), packed = records.len;
	enum packing packing = PACKING_ZSTD;
	uint8_t *payload;

	if (!buf_reserve(out, BT_BLOCK_HEADER_SIZE + (bound > records.len ? bound : records.len)))
		return -BT_E_NO_MEMORY;
	payload = out->data + start + BT_BLOCK_HEADER_SIZE;
	if (effort != BT_BLOCK_PLAIN)
		packed = ZSTD_compress(payload, bound, records.at, records.len,
				       records.len <= SMALL ? SMALL_LEVEL : levels[effort]);
	if (ZSTD_isError(packed) || packed >= records.len) {
		packing = PACKING_NONE;
		packed = records.len;
		if (packed)
			memcpy(payload, records.at, packed);
	}
	buf_put(out, block_magic, sizeof block_magic);
	buf_u8(out, packing);
	buf_uint(out, 0, 3);
	buf_u32(out, (uint32_t)packed);
	buf_u32(out, (uint32_t)records.len);
	buf_u64(out, ordinal);
	buf_u32(out, checksum(payload, packed));
	buf_u32(out, checksum(out->data + start, BT_BLOCK_HEADER_SIZE - 4));
	out->len += packed;
	return 0;
}

struct block_header {
	uint8_t packing;
	uint32_t reserved, packed, raw, crc;
	uint64_t ordinal;
};

/* True when the bytes begin with a block header whose checksum is right. */
static bool block_header_read(struct slice s, struct block_header *h)
{
	const uint8_t *start = s.at;

	if (s.len < BT_BLOCK_HEADER_SIZE || memcmp(start, block_magic, sizeof block_magic))
		return false;
	slice_take(&s, sizeof block_magic);
	h->packing = slice_u8(&s);
	h->reserved = (uint32_t)slice_uint(&s, 3);
	h->packed = slice_u32(&s);
	h->raw = slice_u32(&s);
	h->ordinal = slice_u64(&s);
	h->crc = slice_u32(&s);
	return slice_u32(&s) == checksum(start, BT_BLOCK_HEADER_SIZE - 4);
}

/* Moves *at to the next block header at or behind it, or to the end of the file. */
static void find_next_header(struct file_window *w, uint64_t *at)
{
	struct block_header h;
	struct slice bytes;

	while ((bytes = file_window_at(w, *at, BT_BLOCK_HEADER_SIZE)).len) {
		const uint8_t *m = memchr(bytes.at, block_magic[0], bytes.len);

		*at += m ? (size_t)(m - bytes.at) : bytes.len;
		if (!m)
			continue;
		if (block_header_read(file_window_at(w, *at, BT_BLOCK_HEADER_SIZE), &h))
			return;
		++*at;
	}
}

/* Unpacks a payload whose checksum is right. Returns 0, BT_E_CORRUPT or BT_E_NO_MEMORY. */
static enum bt_error_code unpack_payload(const struct block_header *h, struct slice payload,
					 struct buf *raw)
{
	size_t n;

	if (h->raw > BT_BLOCK_MAX)
		return BT_E_CORRUPT;
	if (!buf_reserve(raw, h->raw ? h->raw : 1))
		return BT_E_NO_MEMORY;
	if (h->packing == PACKING_NONE) {
		if (h->raw != payload.len)
			return BT_E_CORRUPT;
		buf_put(raw, payload.at, payload.len);
		return raw->failed ? BT_E_NO_MEMORY : BT_OK;
	}
	if (h->packing != PACKING_ZSTD)
		return BT_E_CORRUPT;
	n = ZSTD_decompress(raw->data, h->raw, payload.at, payload.len);
	if (n != h->raw)
		return ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation ? BT_E_NO_MEMORY
									    : BT_E_CORRUPT;
	raw->len = h->raw;
	return BT_OK;
}

int bt_block_decode(struct file_window *w, uint64_t *at, struct buf *raw, uint64_t *ordinal,
		    struct bt_error *err)
{
	const uint64_t start = *at;
	struct slice bytes = file_window_at(w, start, BT_BLOCK_HEADER_SIZE), payload;
	enum bt_error_code failure;
	struct block_header h;

	buf_reset(raw);
	if (!bytes.len)
		return 0;
	if (bytes.len < BT_BLOCK_HEADER_SIZE &&
	    !memcmp(bytes.at, block_magic, bytes.len < 4 ? bytes.len : 4)) {
		*at += bytes.len;
		return bt_fail_at(err, BT_E_TRUNCATED, start,
				  "the file ends inside a block header");
	}
	if (!block_header_read(bytes, &h)) {
		++*at;
		find_next_header(w, at);
		return bt_fail_at(err, BT_E_CORRUPT, start, "no block where one should begin");
	}
	*at += BT_BLOCK_HEADER_SIZE;
	if (h.packed > BT_BLOCK_MAX) {
		find_next_header(w, at);
		return bt_fail_at(err, BT_E_CORRUPT, start,
				  "a block is larger than a block can be");
	}
	bytes = file_window_at(w, start, BT_BLOCK_HEADER_SIZE + h.packed);
	slice_take(&bytes, BT_BLOCK_HEADER_SIZE);
	payload = slice_take(&bytes, h.packed);
	if (payload.bad) {
		/* A torn tail, unless a whole block follows: then the length is wrong, or bytes are
		 * gone. */
		find_next_header(w, at);
		return bt_fail_at(err, *at < w->size ? BT_E_CORRUPT : BT_E_TRUNCATED, start,
				  "the file ends inside a block");
	}
	if (h.crc != checksum(payload.at, payload.len)) {
		find_next_header(w, at);
		return bt_fail_at(err, BT_E_CORRUPT, start, "checksum of a block is wrong");
	}
	*at += h.packed;
	failure = h.reserved ? BT_E_CORRUPT : unpack_payload(&h, payload, raw);
	if (failure) {
		buf_reset(raw);
		return bt_fail_at(err, failure, start,
				  failure == BT_E_NO_MEMORY ? "out of memory to unpack a block"
							    : "a block cannot be unpacked");
	}
	*ordinal = h.ordinal;
	return 1;
}
