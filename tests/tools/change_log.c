/* SPDX-License-Identifier: MIT */
/* change_log TRACE OUT CHANGE KIND N [FILE]: writes the log of a trace to the file OUT with one
 * change in record N (from 1; of effects: of those behind the beginning) of that kind, by name:
 * drop, double, register (rbx + 1), tick (+ 1), transfers (+ 2^20), byte (the first one, + 1),
 * marked (the same, of LOG_DATA whose bytes begin with MARK alone), locked (of these: it is LOCK),
 * result (+ 1), address (an effect's, in the reserved range), object (of a LOG_AGAIN: one that is
 * not there), file, size and offset (of a LOG_PIECE: others), maker (of a LOG_PROCESSOR: another
 * one), features (it has all), layout (its states lie elsewhere, as they do in all LOG_STATE then),
 * cut (the last bytes of its leaves are missing), end (behind it). Of an event: code (the bytes of
 * FILE lie where its task is), flood (effects of hundreds of megabytes), objects (many millions
 * without bytes), much (objects of more bytes than a log may have), or an effect of `plants`,
 * below. Ends with 1 when there is no such record, with 3 where the change leaves it as it was. Of
 * LOG_CALLS its calls are counted; of the kind "instructions" its instructions, of which form
 * changes rdtsc to rdtscp or the reverse. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/log_calls.h"
#include "format/trace_cursor.h"
#include "lib/say.h"

enum { OURS = 2, UNCHANGED = 3 };
#define INSTRUCTIONS "instructions"
#define MARK         "\x3e\x0f\x31" /* rdtsc with a prefix; with LOCK it is undefined */
#define LOCK         0xf0
#define RESERVED     0x550000001000ull

#define PAGE          0x1000ull
#define RESERVED_ENDS 0x550040000000ull
#define USER_ENDS     0x7ffffffff000ull
#define KERNEL        0xffff800000000000ull

struct change {
	const char *what, *kind;
	unsigned long number;
	struct buf file;
};

/* Effects of which no recorder writes most. */
static const struct plant {
	const char *what;
	enum bt_record_kind kind;
	struct bt_record_log_shape shape;
	struct bt_record_log_data data;
	struct bt_record_log_state state;
} plants[] = {
	{"map-0", BT_RECORD_LOG_SHAPE, .shape = {.end = PAGE, .prot = 7}},
	{"map-region", BT_RECORD_LOG_SHAPE,
	 .shape = {.start = RESERVED, .end = RESERVED + PAGE, .prot = 7}},
	{"map-gate", BT_RECORD_LOG_SHAPE,
	 .shape = {.start = RESERVED_ENDS - PAGE, .end = RESERVED_ENDS, .prot = 3}},
	{"map-over-region", BT_RECORD_LOG_SHAPE,
	 .shape = {.start = RESERVED - 0x100000, .end = RESERVED_ENDS + 0x100000, .prot = 3}},
	{"map-all", BT_RECORD_LOG_SHAPE, .shape = {.end = USER_ENDS, .prot = 7}},
	{"map-kernel", BT_RECORD_LOG_SHAPE,
	 .shape = {.start = KERNEL, .end = KERNEL + PAGE, .prot = 7}},
	{"map-petabytes", BT_RECORD_LOG_SHAPE,
	 .shape = {.start = RESERVED_ENDS, .end = 1ull << 60, .prot = 3}},
	{"map-terabytes", BT_RECORD_LOG_SHAPE,
	 .shape = {.start = RESERVED_ENDS, .end = RESERVED_ENDS + (16ull << 40), .prot = 3}},
	{"map-backwards", BT_RECORD_LOG_SHAPE,
	 .shape = {.start = 8 * PAGE, .end = PAGE, .prot = 3}},
	{"map-odd", BT_RECORD_LOG_SHAPE,
	 .shape = {.start = 8 * PAGE + 1, .end = 9 * PAGE + 1, .prot = 3}},
	{"map-strange", BT_RECORD_LOG_SHAPE,
	 .shape = {.start = 0x10000000, .end = 0x10000000 + PAGE, .prot = 0xff, .grows = 0xff}},
	{"unmap-region", BT_RECORD_LOG_SHAPE,
	 .shape = {.what = 1, .start = RESERVED, .end = RESERVED_ENDS}},
	{"unmap-all", BT_RECORD_LOG_SHAPE, .shape = {.what = 1, .end = USER_ENDS}},
	{"protect-region", BT_RECORD_LOG_SHAPE,
	 .shape = {.what = 2, .start = RESERVED, .end = RESERVED_ENDS, .prot = 7}},
	{"move-region", BT_RECORD_LOG_SHAPE,
	 .shape = {.what = 3, .start = 0x10000000, .end = 0x10001000, .from = RESERVED}},
	{"move-wraps", BT_RECORD_LOG_SHAPE,
	 .shape = {.what = 3, .start = 0x10000000, .end = 0x10002000, .from = 0ull - PAGE}},
	{"move-over-itself", BT_RECORD_LOG_SHAPE,
	 .shape = {.what = 3, .start = 0x10000000, .end = 0x10002000, .from = 0x10001000}},
	{"shape-unknown", BT_RECORD_LOG_SHAPE,
	 .shape = {.what = 200, .start = 0x10000000, .end = 0x10001000}},
	{"data-0", BT_RECORD_LOG_DATA, .data = {0}},
	{"data-region", BT_RECORD_LOG_DATA, .data = {.addr = RESERVED}},
	{"data-gate", BT_RECORD_LOG_DATA, .data = {.addr = RESERVED_ENDS - PAGE}},
	{"data-kernel", BT_RECORD_LOG_DATA, .data = {.addr = KERNEL}},
	{"data-wraps", BT_RECORD_LOG_DATA, .data = {.addr = UINT64_MAX - 2}},
	{"state-0", BT_RECORD_LOG_STATE, .state = {0}},
	{"state-kernel", BT_RECORD_LOG_STATE,
	 .state = {.regs = {.rip = KERNEL, .cs = 0x33, .ss = 0x2b}}},
	{"state-gate", BT_RECORD_LOG_STATE,
	 .state = {.regs = {.rip = RESERVED_ENDS - PAGE, .cs = 0x33, .ss = 0x2b}}},
	{"state-32", BT_RECORD_LOG_STATE, .state = {.regs = {.cs = 0x23, .ss = 0x2b}}},
	{"state-base", BT_RECORD_LOG_STATE,
	 .state = {.regs = {.cs = 0x33, .ss = 0x2b, .fs_base = KERNEL, .gs_base = 1ull << 60}}},
	{"state-extended", BT_RECORD_LOG_STATE, .state = {.regs = {.cs = 0x33, .ss = 0x2b}}},
};

/* The fields that a change may be about; NULL: the record has none. */
static struct bt_regs *regs_of(struct bt_record *r)
{
	return r->kind == BT_RECORD_LOG_CALL    ? &r->u.log_call.regs
	       : r->kind == BT_RECORD_LOG_STATE ? &r->u.log_state.regs
						: NULL;
}

static uint64_t *address_of(struct bt_record *r)
{
	return r->kind == BT_RECORD_LOG_DATA     ? &r->u.log_data.addr
	       : r->kind == BT_RECORD_LOG_OBJECT ? &r->u.log_object.addr
	       : r->kind == BT_RECORD_LOG_AGAIN  ? &r->u.log_again.addr
	       : r->kind == BT_RECORD_LOG_PIECE  ? &r->u.log_piece.addr
						 : NULL;
}

static struct slice *bytes_of(struct bt_record *r)
{
	return r->kind == BT_RECORD_LOG_DATA     ? &r->u.log_data.bytes
	       : r->kind == BT_RECORD_LOG_OBJECT ? &r->u.log_object.bytes
	       : r->kind == BT_RECORD_LOG_OUTPUT ? &r->u.log_output.bytes
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

enum { LAYOUT_SHIFT = 64, BEHIND_HEADER = 576 };

/* The states behind XSAVE's header lie further on than they do here. */
static void change_layout(struct bt_record_log_state *s, struct buf *bytes)
{
	static const uint8_t shift[LAYOUT_SHIFT];
	struct slice was = s->extended;

	if (was.len < BEHIND_HEADER)
		return;
	buf_reset(bytes);
	buf_put(bytes, was.at, BEHIND_HEADER);
	buf_put(bytes, shift, sizeof shift);
	buf_put(bytes, was.at + BEHIND_HEADER, was.len - BEHIND_HEADER);
	s->extended = slice_of(bytes->data, bytes->len);
}

static void change_processor(struct bt_record_log_processor *p, const char *what, struct buf *bytes)
{
	static const char intel[] = "GenuntelineI", amd[] = "AuthcAMDenti"; /* ebx, ecx, edx */
	enum { REGISTERS = 8, NAME = REGISTERS + 4, LEAF = 24 };

	buf_put(bytes, p->leaves.at, p->leaves.len);
	if (!strcmp(what, "maker"))
		memcpy(bytes->data + NAME, memcmp(bytes->data + NAME, amd, 12) ? amd : intel, 12);
	for (size_t at = LEAF; !strcmp(what, "features") && at + LEAF <= bytes->len; at += LEAF)
		memset(bytes->data + at + REGISTERS, 0xff, LEAF - REGISTERS);
	if (!strcmp(what, "features"))
		p->xcr0 = UINT64_MAX;
	for (size_t at = 0; !strcmp(what, "layout") && at + LEAF <= bytes->len; at += LEAF)
		if (bytes->data[at] == 0xd && bytes->data[at + 4] >= 2) {
			uint8_t *offset = bytes->data + at + REGISTERS + 4;
			unsigned moved = offset[0] + LAYOUT_SHIFT;

			offset[0] = (uint8_t)moved;
			offset[1] += moved >> 8;
		}
	p->leaves = slice_of(bytes->data, bytes->len - (!strcmp(what, "cut") ? 5 : 0));
}

/* Whether the change is one of a record's own bytes. */
static bool is_in_place(const char *what)
{
	static const char *const changes[] = {
		"register", "tick",    "transfers", "byte",  "marked",   "locked", "result",
		"argument", "address", "object",    "maker", "features", "version"};

	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
		if (!strcmp(what, changes[i]))
			return true;
	return false;
}

static void change_record(struct bt_record *r, const char *what, struct buf *bytes)
{
	if (!strcmp(what, "version") && r->kind == BT_RECORD_LOG)
		r->u.log.version++;
	if (!strcmp(what, "register") && regs_of(r))
		regs_of(r)->rbx++;
	if (!strcmp(what, "tick") && point_of(r))
		point_of(r)->tick++;
	if (!strcmp(what, "transfers") && point_of(r))
		point_of(r)->transfers += 1 << 20;
	if (!strcmp(what, "result") && r->kind == BT_RECORD_LOG_CALL)
		r->u.log_call.result++;
	if (!strcmp(what, "address") && address_of(r))
		*address_of(r) = RESERVED;
	if (!strcmp(what, "object") && r->kind == BT_RECORD_LOG_AGAIN)
		r->u.log_again.object += 1 << 20;
	if (!strcmp(what, "file") && r->kind == BT_RECORD_LOG_PIECE)
		r->u.log_piece.file += 1 << 20;
	if (!strcmp(what, "size") && r->kind == BT_RECORD_LOG_PIECE)
		r->u.log_piece.size = 1ull << 40;
	if (!strcmp(what, "offset") && r->kind == BT_RECORD_LOG_PIECE)
		r->u.log_piece.offset += PAGE;
	if (!strcmp(what, "address") && r->kind == BT_RECORD_LOG_SHAPE) {
		r->u.log_shape.end = RESERVED + (r->u.log_shape.end - r->u.log_shape.start);
		r->u.log_shape.start = RESERVED;
	}
	if (r->kind == BT_RECORD_LOG_PROCESSOR)
		change_processor(&r->u.log_processor, what, bytes);
	if ((!strcmp(what, "byte") || !strcmp(what, "marked") || !strcmp(what, "locked")) &&
	    bytes_of(r) && bytes_of(r)->len) {
		buf_put(bytes, bytes_of(r)->at, bytes_of(r)->len);
		bytes->data[0] = !strcmp(what, "locked") ? LOCK : bytes->data[0] + 1;
		*bytes_of(r) = slice_of(bytes->data, bytes->len);
	}
}

/* Changes the record. False: it is as it was, though the change is one of its bytes. */
static bool change(struct bt_record *r, const char *what, struct buf *bytes)
{
	struct buf before = {0}, after = {0};
	bool differs;

	bt_record_encode(&before, (enum bt_record_kind)r->kind, &r->u);
	change_record(r, what, bytes);
	bt_record_encode(&after, (enum bt_record_kind)r->kind, &r->u);
	differs = before.len != after.len || memcmp(before.data, after.data, before.len) != 0;
	buf_release(&before);
	buf_release(&after);
	return differs || !is_in_place(what);
}

/* The same of a call of a LOG_CALLS, or an instruction. They are counted from `seen` on. */
static void change_calls(struct bt_record_log_calls *r, const struct change *c, unsigned long *seen,
			 struct buf *bytes)
{
	struct log_calls_codec from = {.tick = r->tick}, to = {.tick = r->tick};
	struct buf data = {0};
	struct slice calls = r->calls;
	struct bt_logged_call call;

	buf_reset(bytes);
	while (log_calls_decode(&from, &calls, &call) == 1) {
		bool counts = (call.form != BT_LOGGED_CALL) == !strcmp(c->kind, INSTRUCTIONS),
		     it = (*seen += counts) == c->number && counts;

		if (it && !strcmp(c->what, "result"))
			call.result++;
		if (it && !strcmp(c->what, "argument"))
			call.args[0]++;
		if (it && !strcmp(c->what, "tick"))
			call.tick++;
		if (it && !strcmp(c->what, "form"))
			call.form =
				call.form == BT_LOGGED_RDTSC ? BT_LOGGED_RDTSCP : BT_LOGGED_RDTSC;
		if (it && !strcmp(c->what, "address"))
			call.data[0].addr = RESERVED;
		if (it && !strcmp(c->what, "byte") && call.data_count) {
			buf_put(&data, call.data[0].bytes.at, call.data[0].bytes.len);
			data.data[0]++;
			call.data[0].bytes = slice_of(data.data, data.len);
		}
		call.tick = call.tick < to.tick ? to.tick : call.tick;
		if (!it || strcmp(c->what, "drop") != 0)
			log_calls_encode(&to, bytes, &call);
		if (it && !strcmp(c->what, "double"))
			log_calls_encode(&to, bytes, &call);
		for (int i = 0; i < 12 && it && !strcmp(c->what, "garbage"); i++)
			buf_u8(bytes, 0xff); /* longer than any number */
	}
	r->calls = slice_of(bytes->data, bytes->len);
	buf_release(&data);
}

static void put_plant(struct buf *records, const struct plant *p)
{
	static const uint8_t garbage[5000] = {[0] = 0xff, [512] = 0xff, [4999] = 0xff};
	struct bt_record body = {0};

	if (p->kind == BT_RECORD_LOG_SHAPE) {
		body.u.log_shape = p->shape;
	} else if (p->kind == BT_RECORD_LOG_DATA) {
		body.u.log_data = p->data;
		body.u.log_data.bytes = slice_of(garbage, 16);
	} else {
		body.u.log_state = p->state;
		if (!strcmp(p->what, "state-extended"))
			body.u.log_state.extended = slice_of(garbage, sizeof garbage);
	}
	bt_record_encode(records, p->kind, &body.u);
}

/* The effect that the change puts before an event. */
static void plant_before(struct buf *records, struct bt_record *event, const struct change *c)
{
	enum { FLOOD = 400000 };
	struct bt_record body = {0};

	for (size_t i = 0; i < sizeof plants / sizeof *plants; i++)
		if (!strcmp(c->what, plants[i].what))
			put_plant(records, &plants[i]);
	for (int i = 0; !strcmp(c->what, "flood") && i < FLOOD; i++)
		bt_record_encode(records, BT_RECORD_LOG_OUTPUT, &body.u);
	if (strcmp(c->what, "code") != 0)
		return;
	body.u.log_data.addr =
		event->kind == BT_RECORD_LOG ? event->u.log.point.rip : point_of(event)->rip;
	body.u.log_data.bytes = slice_of(c->file.data, c->file.len);
	bt_record_encode(records, BT_RECORD_LOG_DATA, &body.u);
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

/* Objects before an event, in blocks of their own. */
static bool write_objects(FILE *to, uint64_t *ordinal, struct buf *records, const char *what)
{
	enum { OBJECTS = 5000000, MUCH = 70 };
	static const uint8_t megabyte[1 << 20];
	int count = !strcmp(what, "objects") ? OBJECTS : !strcmp(what, "much") ? MUCH : 0;
	struct bt_record body = {.u.log_object.addr = PAGE};
	bool ok = true;

	if (count == MUCH)
		body.u.log_object.bytes = slice_of(megabyte, sizeof megabyte);
	for (int i = 0; ok && i < count; i++) {
		bt_record_encode(records, BT_RECORD_LOG_OBJECT, &body.u);
		if (records->len > 1 << 20)
			ok = write_block(to, (*ordinal)++, records);
	}
	return ok;
}

static bool is_marked(struct slice bytes)
{
	return bytes.len >= sizeof MARK && !memcmp(bytes.at, MARK, sizeof MARK - 1);
}

static bool is_wanted(const struct bt_record *r, const struct change *c)
{
	const char *kind = strcmp(c->kind, INSTRUCTIONS) != 0 ? c->kind : "LOG_CALLS";

	return !strcmp(bt_record_name(r->kind), kind) &&
	       ((strcmp(c->what, "marked") != 0 && strcmp(c->what, "locked") != 0) ||
		(r->kind == BT_RECORD_LOG_DATA && is_marked(r->u.log_data.bytes)));
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
	bool begun = false, unchanged = false, ok;

	bt_file_header_encode(&header, BT_FILE_LOG, t->uuid);
	ok = fwrite(header.data, 1, header.len, to) == header.len;
	trace_cursor_init(&cursor, t, file);
	while (ok && trace_cursor_next(&cursor, &rec, &err) == 1) {
		bool it;

		begun |= rec.kind == BT_RECORD_LOG;
		if (rec.kind == BT_RECORD_LOG_CALLS && is_wanted(&rec, c)) {
			unsigned long before = seen;
			struct slice calls = rec.u.log_calls.calls;

			change_calls(&rec.u.log_calls, c, &seen, &bytes);
			it = before < c->number && seen >= c->number;
			unchanged |= it && is_in_place(c->what) && bytes.len == calls.len &&
				     !memcmp(bytes.data, calls.at, bytes.len);
			bt_record_encode(&records, BT_RECORD_LOG_CALLS, &rec.u);
			continue;
		}
		it = (begun || !address_of(&rec)) && is_wanted(&rec, c) && ++seen == c->number;
		unchanged |= it && !change(&rec, c->what, &bytes);
		if (rec.kind == BT_RECORD_LOG_STATE && !strcmp(c->what, "layout"))
			change_layout(&rec.u.log_state, &bytes);
		if (it && (rec.kind == BT_RECORD_LOG || point_of(&rec)))
			plant_before(&records, &rec, c);
		ok = !it || write_objects(to, &ordinal, &records, c->what);
		if (!it || strcmp(c->what, "drop") != 0)
			bt_record_encode(&records, (enum bt_record_kind)rec.kind, &rec.u);
		if (it && !strcmp(c->what, "double"))
			bt_record_encode(&records, (enum bt_record_kind)rec.kind, &rec.u);
		if (ok && records.len > 1 << 20)
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
	return !ok ? OURS : seen < c->number ? 1 : unchanged ? UNCHANGED : 0;
}

static bool read_file(struct buf *to, const char *path)
{
	FILE *file = fopen(path, "rbe");
	uint8_t bytes[4096];
	size_t n = 1;

	while (file && n) {
		n = fread(bytes, 1, sizeof bytes, file);
		buf_put(to, bytes, n);
	}
	return file && !fclose(file);
}

int main(int argc, char **argv)
{
	struct change change = {0};
	struct bt_error err;
	struct trace *t;
	FILE *to;
	int rc = 1;

	if (argc != 6 && argc != 7)
		return OURS;
	change = (struct change){argv[3], argv[4], strtoul(argv[5], NULL, 10), {0}};
	if (argc == 7 && !read_file(&change.file, argv[6]))
		return OURS;
	if (trace_open(&t, argv[1], &err)) {
		say("%s", err.text);
		return OURS;
	}
	to = fopen(argv[2], "wbe");
	for (size_t i = 0; to && i < t->file_count; i++)
		if (t->files[i].kind == BT_FILE_LOG)
			rc = copy_log(t, &t->files[i], to, &change);
	if (!to || fclose(to))
		rc = OURS;
	trace_close(t);
	buf_release(&change.file);
	return rc;
}
