/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "import/perf_private.h"

enum {
	STEP = 64 << 10,
	RECORD_HEADER = 8,
};

/* The most bytes that a capture may unpack to: real ones pack 3 to 100 times. */
static const uint64_t unpacked_base = 1u << 28;
static const uint64_t unpacked_ratio = 2000;

/* Calls take for the complete records at the front of rest; keeps the remaining bytes. */
static int take_whole(struct perf_reader *r, uint64_t offset, perf_take *take)
{
	struct buf *rest = &r->unpack.rest;
	struct slice in = slice_of(rest->data, rest->len);
	int rc = 0;

	while (!rc && in.len >= RECORD_HEADER) {
		struct slice head = in;
		struct perf_record record = {
			.type = slice_u32(&head), .misc = slice_u16(&head), .offset = offset};
		uint16_t size = slice_u16(&head);

		if (size < RECORD_HEADER)
			return bt_fail_at(r->err, BT_E_CORRUPT, offset,
					  "perf.data: a record of size %u in the compressed record "
					  "at byte %llu",
					  size, (unsigned long long)offset);
		if (size > in.len)
			break;
		record.body = slice_take(&head, size - RECORD_HEADER);
		slice_take(&in, size);
		rc = take(r, &record, true);
	}
	if (in.len)
		memmove(rest->data, in.at, in.len);
	rest->len = in.len;
	return rc;
}

int perf_unpack(struct perf_reader *r, struct slice packed, uint64_t offset, perf_take *take)
{
	struct perf_unpack *u = &r->unpack;
	ZSTD_inBuffer in = {.src = packed.at, .size = packed.len};
	bool full = false; /* the stream may hold more output of the input so far */
	int rc = 0;

	if (!u->stream && !(u->stream = ZSTD_createDStream()))
		return perf_no_memory(r);
	u->in += packed.len;
	while (!rc && (in.pos < in.size || full)) {
		ZSTD_outBuffer out = {.size = STEP};
		size_t left, before = in.pos;

		if (!buf_reserve(&u->rest, STEP))
			return perf_no_memory(r);
		out.dst = u->rest.data + u->rest.len;
		left = ZSTD_decompressStream(u->stream, &out, &in);
		if (ZSTD_isError(left))
			return bt_fail_at(r->err, BT_E_CORRUPT, offset,
					  "perf.data: the compressed record at byte %llu cannot be "
					  "unpacked: %s",
					  (unsigned long long)offset, ZSTD_getErrorName(left));
		u->rest.len += out.pos;
		u->out += out.pos;
		full = out.pos == STEP;
		if (u->out > unpacked_base + unpacked_ratio * u->in)
			return bt_fail_at(r->err, BT_E_CORRUPT, offset,
					  "perf.data: the compressed record at byte %llu unpacks "
					  "to more than is believable",
					  (unsigned long long)offset);
		if (!out.pos && in.pos == before && in.pos < in.size)
			return bt_fail_at(
				r->err, BT_E_CORRUPT, offset,
				"perf.data: the compressed record at byte %llu cannot be unpacked",
				(unsigned long long)offset);
		rc = take_whole(r, offset, take);
	}
	return rc;
}

void perf_unpack_release(struct perf_unpack *u)
{
	ZSTD_freeDStream(u->stream);
	buf_release(&u->rest);
}
