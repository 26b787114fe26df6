/* SPDX-License-Identifier: MIT */
/* A whole trace as one string of bytes, for fuzz targets: per file its kind (u8), its number (u8),
 * its length (u32) and its bytes. */
#ifndef BT_FUZZ_TRACE_BYTES_H
#define BT_FUZZ_TRACE_BYTES_H

#include <stdlib.h>
#include <string.h>

#include "format/trace_cursor.h"

enum { TRACE_BYTES_FILES = 16 };

/* Finds the files in data; they borrow it. Returns how many. */
static inline size_t trace_bytes_split(const uint8_t *data, size_t size,
				       struct trace_file files[TRACE_BYTES_FILES])
{
	struct slice in = slice_of(data, size);
	size_t n = 0;

	while (n < TRACE_BYTES_FILES && in.len) {
		enum bt_file_kind kind = slice_u8(&in) % BT_FILE_LAST + 1;
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

/* Takes the first record off a bare file of events: that of the trace's header has a block of its
 * own. */
static inline struct slice trace_bytes_first(struct slice *records)
{
	struct slice rest = *records, first = *records;
	struct bt_record rec;

	if (bt_record_decode(&rest, &rec) != 1)
		return (struct slice){0};
	first.len -= rest.len;
	*records = rest;
	return first;
}

/* The bytes of a file made of bare records; empty for a file that is one already, and for the copy
 * of a mapped file, which is no more than its bytes. Bare records get right checksums, so that
 * changed bytes reach what lies behind them. */
static inline struct buf trace_bytes_wrap_file(const struct trace_file *f)
{
	struct buf out = {0};
	uint8_t number = f->name[strcspn(f->name, "0123456789")] != 0;
	enum bt_file_kind kind = BT_FILE_EVENTS;
	struct slice records = f->bytes, first;
	uint64_t ordinal = 0;
	char name[32];

	if (f->bytes.len && f->bytes.at[0] == 0x89)
		return out;
	for (; kind < BT_FILE_LAST; kind++) {
		trace_file_name(name, kind, 0);
		if (!strncmp(name, f->name, strlen(name) - number))
			break;
	}
	if (kind == BT_FILE_MAPPED)
		return out;
	bt_file_header_encode(&out, kind, (const uint8_t *)"sixteen bytes 01");
	first = kind == BT_FILE_EVENTS ? trace_bytes_first(&records) : (struct slice){0};
	if (first.len && bt_block_encode(&out, ordinal++, first, BT_BLOCK_FULL))
		abort();
	if (bt_block_encode(&out, ordinal, records, BT_BLOCK_FULL))
		abort();
	return out;
}

/* Splits data, and wraps those files that are bare records into wrapped. Returns how many files
 * there are. */
static inline size_t trace_bytes_wrap(const uint8_t *data, size_t size,
				      struct trace_file files[TRACE_BYTES_FILES],
				      struct buf wrapped[TRACE_BYTES_FILES])
{
	size_t n = trace_bytes_split(data, size, files);

	for (size_t i = 0; i < n; i++) {
		wrapped[i] = trace_bytes_wrap_file(&files[i]);
		if (wrapped[i].len)
			files[i].bytes = slice_of(wrapped[i].data, wrapped[i].len);
	}
	return n;
}

static inline void trace_bytes_release(struct buf *wrapped, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_release(&wrapped[i]);
}

/* Wraps the files in data, and shows them to look. */
static inline void trace_bytes_show(const uint8_t *data, size_t size,
				    void (*look)(const struct trace_file *files, size_t n))
{
	struct trace_file files[TRACE_BYTES_FILES] = {{.number = 0}};
	struct buf wrapped[TRACE_BYTES_FILES];
	size_t n = trace_bytes_wrap(data, size, files, wrapped);

	look(files, n);
	trace_bytes_release(wrapped, n);
}

#endif
