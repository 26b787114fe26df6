/* SPDX-License-Identifier: MIT */
/* Framing: the file header and the blocks of a trace file (doc/FORMAT.md, "Files" and "Blocks").
 * trace_writer encodes them, trace_reader and its cursors decode them.
 *
 * Sizes in a block are checked before they are used. Damage is an error with its offset; a reader
 * goes on at the next block. */
#ifndef BT_BLOCK_H
#define BT_BLOCK_H

#include "format/file_window.h"
#include "lib/buf.h"
#include "lib/error.h"
#include "lib/slice.h"

enum {
	BT_FORMAT_MAJOR = 1, /* a reader refuses any other major version */
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
	BT_FILE_SYMBOLS,
	BT_FILE_LOG,
	BT_FILE_MAPPED, /* a file that the program mapped, as it was: without header and blocks */
	BT_FILE_LAST = BT_FILE_MAPPED,
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

/* Takes the header off the front of in. Returns 0; -BT_E_TRUNCATED (shorter than a header),
 * -BT_E_NOT_TRACE (another magic), -BT_E_VERSION (another major version, or reserved bits set),
 * -BT_E_CORRUPT (checksum). in and *h are untouched on error. */
int bt_file_header_decode(struct slice *in, struct bt_file_header *h,
			  struct bt_error *err) BT_MUST_USE;

/* How much is spent on packing. */
enum bt_block_effort {
	BT_BLOCK_FULL,
	BT_BLOCK_DENSE, /* for what is small already */
	BT_BLOCK_QUICK, /* less time, more bytes */
	BT_BLOCK_PLAIN, /* not packed */
};

/* Appends a block that holds records, packed with zstd if that is smaller. ordinal counts the
 * blocks of a file from 0. Returns 0 or -BT_E_NO_MEMORY. */
int bt_block_encode(struct buf *out, uint64_t ordinal, struct slice records,
		    enum bt_block_effort effort) BT_MUST_USE;

/* Reads the block at *at and unpacks its records into raw (reset first). Returns 1, with *at behind
 * the block; 0 at the end of the file; or an error, with the block's offset in err:
 * - BT_E_TRUNCATED: the file ends inside the block and nothing follows. *at is the end.
 * - BT_E_CORRUPT: there is no block. *at is the next block header with a right checksum, or the
 *   end.
 * - BT_E_NO_MEMORY: the block could not be unpacked. *at is behind it. */
int bt_block_decode(struct file_window *w, uint64_t *at, struct buf *raw, uint64_t *ordinal,
		    struct bt_error *err) BT_MUST_USE;

#endif
