/* SPDX-License-Identifier: MIT */
/* A whole trace as one string of bytes, for fuzz targets: per file its kind (u8), its number (u8), its length (u32)
 * and its bytes. */
#ifndef BT_FUZZ_TRACE_BYTES_H
#define BT_FUZZ_TRACE_BYTES_H

#include "format/trace_reader.h"

enum {
	TRACE_BYTES_FILES = 16
};

/* Finds the files in data; they borrow it. Returns how many. */
static inline size_t trace_bytes_split(const uint8_t *data, size_t size, struct trace_file files[TRACE_BYTES_FILES])
{
	struct slice in = slice_of(data, size);
	size_t n = 0;

	while (n < TRACE_BYTES_FILES && in.len) {
		enum bt_file_kind kind = slice_u8(&in) % BT_FILE_OBJECTS + 1;
		uint32_t number = slice_u8(&in), len = slice_u32(&in);

		if (in.bad)
			break;
		trace_file_name(files[n].name, kind, number);
		files[n++].bytes = slice_take(&in, len < in.len ? len : in.len);
	}
	return n;
}

static inline void trace_bytes_add(struct buf *out, const struct trace_file *f)
{
	buf_u8(out, (uint8_t)(f->kind - 1));
	buf_u8(out, (uint8_t)f->number);
	buf_u32(out, (uint32_t)f->bytes.len);
	buf_put(out, f->bytes.at, f->bytes.len);
}

#endif
