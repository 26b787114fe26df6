/* SPDX-License-Identifier: MIT */
#include "format/trace_cursor.h"

#include <string.h>

enum {
	WASTE_BASE = 1 << 30,
	WASTE_RATIO = 64,
	UNPACKED_BASE = 1 << 30,
	UNPACKED_RATIO = 64,
};

void trace_cursor_init(struct trace_cursor *c, const struct trace *t, const struct trace_file *file)
{
	*c = (struct trace_cursor){.file = file};
	trace_file_window(&c->window, t, file);
	memcpy(c->uuid, t->uuid, sizeof c->uuid);
}

void trace_cursor_release(struct trace_cursor *c)
{
	file_window_release(&c->window);
	buf_release(&c->raw);
}

/* Leaves the rest of the file out. */
static void give_up_file(struct trace_cursor *c) { c->at = c->window.size; }

/* Reads the file's header. Returns 1, or an error: then nothing of the file can be read. */
static int begin_file(struct trace_cursor *c, struct bt_error *err)
{
	struct slice front = file_window_at(&c->window, 0, BT_FILE_HEADER_SIZE);
	struct bt_file_header h;
	int rc = bt_file_header_decode(&front, &h, err);

	c->header_read = true;
	c->at = BT_FILE_HEADER_SIZE;
	if (rc == 0 && (h.kind != c->file->kind || memcmp(h.uuid, c->uuid, sizeof h.uuid)))
		rc = bt_fail_at(err, BT_E_CORRUPT, 0,
				"the file belongs to another trace, or is of another kind");
	if (rc == 0)
		return 1;
	give_up_file(c);
	return rc;
}

/* Counts bytes that damage may cause to be read again. A hostile file can be a row of block headers
 * that each claim the rest of the file; reading on behind each would read every byte once per
 * header. No real damage reaches this limit; past it the rest is left out. */
static void waste_bytes(struct trace_cursor *c, uint64_t bytes)
{
	c->wasted += bytes < BT_BLOCK_MAX ? bytes : BT_BLOCK_MAX;
	if (c->wasted > WASTE_BASE + WASTE_RATIO * c->file->size)
		give_up_file(c);
}

/* Of a log, which may hold gigabytes of zeros that the program read, there is no bound but that of
 * the packing: a hundred bytes or so for each block of BT_BLOCK_MAX. Who reads one keeps nothing of
 * it, so a hostile one costs time alone, and a replay may take any time. */
static bool unpacks_to_too_much(const struct trace_cursor *c)
{
	return c->file->kind != BT_FILE_LOG &&
	       c->unpacked > UNPACKED_BASE + UNPACKED_RATIO * c->file->size;
}

/* Unpacks the next block. Returns 1; 0 at the end; or an error; the next call reads on behind
 * it. */
static int next_block(struct trace_cursor *c, struct bt_error *err)
{
	uint64_t ordinal, expected = c->next_ordinal, offset = c->at, left = c->window.size - c->at;
	int rc = bt_block_decode(&c->window, &c->at, &c->raw, &ordinal, err);

	if (rc < 0)
		waste_bytes(c, left);
	c->next_ordinal +=
		rc == -BT_E_NO_MEMORY; /* the block is there: the next one has the next ordinal */
	if (rc <= 0)
		return rc;
	c->unpacked += c->raw.len;
	if (unpacks_to_too_much(c)) {
		give_up_file(c);
		return bt_fail_at(err, BT_E_CORRUPT, offset,
				  "it unpacks to more than is believable; the rest is left out");
	}
	c->records = slice_of(c->raw.data, c->raw.len);
	c->unit = 0;
	c->next_ordinal = ordinal + 1;
	if (ordinal == expected)
		return 1;
	return bt_fail_at(err, BT_E_CORRUPT, offset, "block %llu follows where block %llu belongs",
			  (unsigned long long)ordinal, (unsigned long long)expected);
}

/* Tells once, at the end of the readable part, that the file has more. rc: why reading ends
 * here. */
static int tell_end(struct trace_cursor *c, int rc, uint64_t offset, struct bt_error *err)
{
	if (c->end_told)
		return rc;
	if (c->window.failure) {
		c->end_told = true;
		give_up_file(c);
		return file_window_error(&c->window, offset, err);
	}
	if (rc || !c->file->unread)
		return rc;
	c->end_told = true;
	return bt_fail_at(err, BT_E_CORRUPT, offset,
			  "a hole in the file: its last %llu bytes are not read",
			  (unsigned long long)c->file->unread);
}

int trace_cursor_next(struct trace_cursor *c, struct bt_record *rec, struct bt_error *err)
{
	for (;;) {
		uint64_t offset = c->at;
		int rc = bt_record_decode(&c->records, rec);

		if (rc == 1) {
			if (rec->kind == BT_RECORD_UNIT)
				c->unit = rec->u.unit.unit;
			return 1;
		}
		if (rc < 0) {
			c->records = (struct slice){0};
			return bt_fail_at(err, BT_E_CORRUPT, offset,
					  "a record in the block before is damaged");
		}
		rc = c->header_read ? next_block(c, err) : begin_file(c, err);
		if (rc <= 0)
			return tell_end(c, rc, offset, err);
	}
}
