/* SPDX-License-Identifier: MIT */
/* Framing: the file header and the blocks of a trace file (doc/FORMAT.md, "Files" and "Blocks").
 * Works on memory only; who reads and writes the files is trace_writer and trace_reader. */
#ifndef BT_BLOCK_H
#define BT_BLOCK_H

#include "lib/buf.h"
#include "lib/error.h"
#include "lib/slice.h"

enum {
	BT_FORMAT_MAJOR = 1, /* a reader refuses another major version */
	BT_FORMAT_MINOR = 0,
	BT_FILE_HEADER_SIZE = 40,
	BT_BLOCK_HEADER_SIZE = 32,
	BT_BLOCK_MAX = 16 << 20, /* bytes of records in a block, packed or not */
	BT_UUID_SIZE = 16,
};

enum bt_file_kind {
	BT_FILE_EVENTS = 1,
	BT_FILE_BRANCHES,
	BT_FILE_OBJECTS,
};

/* The name of a file of a trace ("branches-3") in name[32]. */
void trace_file_name(char name[32], enum bt_file_kind kind, uint32_t number);

struct bt_file_header {
	uint16_t major, minor;
	uint8_t kind; /* enum bt_file_kind */
	uint8_t uuid[BT_UUID_SIZE];
};

void bt_file_header_encode(struct buf *out, enum bt_file_kind kind,
			   const uint8_t uuid[BT_UUID_SIZE]);

/* Reads the header off the front of in. Returns 0; -BT_E_TRUNCATED (shorter than a header),
 * -BT_E_NOT_TRACE (other magic), -BT_E_VERSION (major, or reserved bits set), -BT_E_CORRUPT
 * (checksum). in and *h are untouched on error. */
int bt_file_header_decode(struct slice *in, struct bt_file_header *h,
			  struct bt_error *err) BT_MUST_USE;

/* What is spent on making it smaller. */
enum bt_block_effort {
	BT_BLOCK_FULL,
	BT_BLOCK_QUICK, /* less time, more bytes */
	BT_BLOCK_PLAIN, /* nothing: not packed */
};

/* Appends a block that holds records (packed with zstd where that is smaller); ordinal counts the
 * blocks of a file from 0. Returns 0 or -BT_E_NO_MEMORY. */
int bt_block_encode(struct buf *out, uint64_t ordinal, struct slice records,
		    enum bt_block_effort effort) BT_MUST_USE;

/* Takes the next block off the front of in and unpacks its records into raw (reset first). Returns
 * 1; 0 at the end; -BT_E_TRUNCATED when the bytes end inside it (a torn tail when nothing follows);
 * -BT_E_CORRUPT when they are no block: in then stands behind the damage, at the next block header
 * whose checksum is right, or at the end; -BT_E_NO_MEMORY: to unpack it; in stands behind the
 * block. base is the offset of in->at in its file, for err->offset. */
int bt_block_decode(struct slice *in, uint64_t base, struct buf *raw, uint64_t *ordinal,
		    struct bt_error *err) BT_MUST_USE;

#endif
