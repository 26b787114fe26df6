/* SPDX-License-Identifier: MIT */
/* change_log TRACE OUT CHANGE KIND N: writes the log of a trace to the file OUT with one change in
 * record N (from 1; of effects: of those behind the beginning) of that kind, by name: drop, double,
 * register (rbx + 1), tick (+ 1), byte (the first one, + 1), result (+ 1), address (an effect's, in
 * the reserved range), end (behind it). Ends with 1 when there is no such record. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/trace_cursor.h"
#include "lib/say.h"

enum { OURS = 2 };
#define RESERVED 0x550000001000ull

struct change {
	const char *what, *kind;
	unsigned long number;
};

/* The fields that a change may be about; NULL: the record has none. */
static struct bt_regs *regs_of(struct bt_record *r)
{
	return r->kind == BT_RECORD_LOG_CALL    ? &r->u.log_call.regs
	       : r->kind == BT_RECORD_LOG_STATE ? &r->u.log_state.regs
						: NULL;
}

static struct bt_point *point_of(struct bt_record *r)
{
	return r->kind == BT_RECORD_LOG_CALL          ? &r->u.log_call.point
	       : r->kind == BT_RECORD_LOG_SIGNAL      ? &r->u.log_signal.point
	       : r->kind == BT_RECORD_LOG_EXIT        ? &r->u.log_exit.point
	       : r->kind == BT_RECORD_LOG_INSTRUCTION ? &r->u.log_instruction.point
						      : NULL;
}

static void change_record(struct bt_record *r, const char *what, struct buf *bytes)
{
	if (!strcmp(what, "register") && regs_of(r))
		regs_of(r)->rbx++;
	if (!strcmp(what, "tick") && point_of(r))
		point_of(r)->tick++;
	if (!strcmp(what, "result") && r->kind == BT_RECORD_LOG_CALL)
		r->u.log_call.result++;
	if (!strcmp(what, "address") && r->kind == BT_RECORD_LOG_DATA)
		r->u.log_data.addr = RESERVED;
	if (!strcmp(what, "address") && r->kind == BT_RECORD_LOG_SHAPE) {
		r->u.log_shape.end = RESERVED + (r->u.log_shape.end - r->u.log_shape.start);
		r->u.log_shape.start = RESERVED;
	}
	if (!strcmp(what, "byte") && r->kind == BT_RECORD_LOG_DATA) {
		buf_put(bytes, r->u.log_data.bytes.at, r->u.log_data.bytes.len);
		bytes->data[0]++;
		r->u.log_data.bytes = slice_of(bytes->data, bytes->len);
	}
}

static bool write_block(FILE *to, uint64_t ordinal, struct buf *records)
{
	struct buf block = {0};
	bool ok = !bt_block_encode(&block, ordinal, slice_of(records->data, records->len),
				   BT_BLOCK_QUICK) &&
		  fwrite(block.data, 1, block.len, to) == block.len;

	buf_release(&block);
	buf_reset(records);
	return ok;
}

static int copy_log(const struct trace *t, const struct trace_file *file, FILE *to,
		    const struct change *c)
{
	struct buf records = {0}, bytes = {0}, header = {0};
	struct trace_cursor cursor;
	struct bt_record rec;
	struct bt_error err;
	unsigned long seen = 0;
	uint64_t ordinal = 0;
	bool begun = false, ok;

	bt_file_header_encode(&header, BT_FILE_LOG, t->uuid);
	ok = fwrite(header.data, 1, header.len, to) == header.len;
	trace_cursor_init(&cursor, t, file);
	while (ok && trace_cursor_next(&cursor, &rec, &err) == 1) {
		bool it;

		begun |= rec.kind == BT_RECORD_LOG;
		it = (begun || rec.kind != BT_RECORD_LOG_DATA) &&
		     !strcmp(bt_record_name(rec.kind), c->kind) && ++seen == c->number;
		if (it)
			change_record(&rec, c->what, &bytes);
		if (!it || strcmp(c->what, "drop") != 0)
			bt_record_encode(&records, (enum bt_record_kind)rec.kind, &rec.u);
		if (it && !strcmp(c->what, "double"))
			bt_record_encode(&records, (enum bt_record_kind)rec.kind, &rec.u);
		if (records.len > 1 << 20)
			ok = write_block(to, ordinal++, &records);
		if (it && !strcmp(c->what, "end"))
			break;
	}
	if (ok && records.len)
		ok = write_block(to, ordinal, &records);
	trace_cursor_release(&cursor);
	buf_release(&records);
	buf_release(&bytes);
	buf_release(&header);
	return !ok ? OURS : seen < c->number;
}

int main(int argc, char **argv)
{
	struct bt_error err;
	struct trace *t;
	FILE *to;
	int rc = 1;

	if (argc != 6)
		return OURS;
	if (trace_open(&t, argv[1], &err)) {
		say("%s", err.text);
		return OURS;
	}
	to = fopen(argv[2], "wbe");
	for (size_t i = 0; to && i < t->file_count; i++)
		if (t->files[i].kind == BT_FILE_LOG)
			rc = copy_log(
				t, &t->files[i], to,
				&(struct change){argv[3], argv[4], strtoul(argv[5], NULL, 10)});
	if (!to || fclose(to))
		rc = OURS;
	trace_close(t);
	return rc;
}
