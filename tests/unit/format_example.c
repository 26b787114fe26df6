/* SPDX-License-Identifier: MIT */
/* Prints what doc/FORMAT.md shows: the worked example (format_example), and the layout of every
 * record kind (format_example layouts). format_example.sh compares it with the document. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/trace_cursor.h"
#include "lib/array_size.h"
#include "lib/branch.h"

static const uint8_t uuid[BT_UUID_SIZE] = {0x0f, 0x1e, 0x2d, 0x3c, 0x4b, 0x5a, 0x49, 0x78,
					   0x87, 0x96, 0xa5, 0xb4, 0xc3, 0xd2, 0xe1, 0xf0};

static void print_hex(const struct buf *b)
{
	for (size_t i = 0; i < b->len; i++) {
		if (i % 16 == 0)
			printf("%04zx ", i);
		printf(" %02x%s", b->data[i], i % 16 == 15 || i + 1 == b->len ? "\n" : "");
	}
}

/* Not packed, so that the records can be read in the dump. */
static void add_block(struct buf *out, uint64_t ordinal, struct buf *records)
{
	if (bt_block_encode(out, ordinal, slice_of(records->data, records->len), BT_BLOCK_PLAIN))
		abort();
	buf_reset(records);
}

static void events_file(struct buf *out)
{
	struct bt_record_header header = {.argv = slice_of("./a\0", 4),
					  .backend = bt_str("step"),
					  .tick_classes = 7,
					  .page_size = 4096};
	struct bt_record_unit unit = {.unit = 1};
	struct bt_record_note first = {
		.seq = 1, .time = 1000000, .task = 1, .text = bt_str("hello")};
	struct bt_record_note second = {
		.seq = 2, .time = 2000000, .task = 1, .text = bt_str("world")};
	struct buf records = {0};

	bt_file_header_encode(out, BT_FILE_EVENTS, uuid);
	bt_record_encode(&records, BT_RECORD_HEADER, &header);
	add_block(out, 0, &records);
	bt_record_encode(&records, BT_RECORD_UNIT, &unit);
	bt_record_encode(&records, BT_RECORD_NOTE, &first);
	add_block(out, 1, &records);
	bt_record_encode(&records, BT_RECORD_UNIT, &unit);
	bt_record_encode(&records, BT_RECORD_NOTE, &second);
	add_block(out, 2, &records);
	buf_release(&records);
}

static const struct bt_branch history[] = {
	{.from = 0x401010, .to = 0x401000, .kind = BT_BRANCH_JCC, .flags = BT_BRANCH_TAKEN},
	{.from = 0x401010, .to = 0x401012, .kind = BT_BRANCH_JCC},
	{.from = 0x401014, .to = 0x401100, .kind = BT_BRANCH_CALL, .flags = BT_BRANCH_TAKEN},
	{.to = 1, .kind = BT_BRANCH_EPOCH},
	{.from = 0x401104,
	 .to = 0x401019,
	 .kind = BT_BRANCH_RET,
	 .flags = BT_BRANCH_TAKEN,
	 .cycles = 20},
	{.from = 300, .to = BT_GAP_OVERWRITTEN, .kind = BT_BRANCH_GAP},
};

static void branches_record(struct buf *out)
{
	struct buf entries = {0};
	struct bt_branch_codec c = {0};
	struct bt_record_branches chunk = {.task = 1, .count = ARRAY_SIZE(history), .space = 1};

	for (size_t i = 0; i < ARRAY_SIZE(history); i++)
		bt_branch_encode(&c, &entries, &history[i]);
	chunk.entries = slice_of(entries.data, entries.len);
	bt_record_encode(out, BT_RECORD_BRANCHES, &chunk);
	buf_release(&entries);
}

static void print_entries(struct slice in)
{
	struct bt_branch_codec c = {0};
	const uint8_t *at = in.at;
	struct bt_branch b;

	while (bt_branch_decode(&c, &in, &b) == 1) {
		for (; at < in.at; at++)
			printf("%02x ", *at);
		printf(" %s from=0x%" PRIx64 " to=0x%" PRIx64 " flags=%u cycles=%u\n",
		       bt_branch_info[b.kind].name, b.from, b.to, b.flags, b.cycles);
	}
}

/* Of errors. */
static const char *const names[BT_E_COUNT] = {
#define BT_ERR(name, status) [BT_E_##name] = #name,
#include "lib/err.def"
#undef BT_ERR
};

static void read_back(const struct trace *t, const struct trace_file *f)
{
	struct trace_cursor c;
	struct bt_record rec;
	struct bt_error err;
	int rc;

	trace_cursor_init(&c, t, f);
	while ((rc = trace_cursor_next(&c, &rec, &err))) {
		if (rc < 0) {
			printf("%s at offset %" PRIu64 ": %s\n", names[-rc], err.offset, err.text);
			continue;
		}
		bt_record_print(stdout, &rec);
	}
	trace_cursor_release(&c);
}

/* What the reader says of the first len bytes of events. */
static void print_events(const struct buf *events, size_t len)
{
	struct trace_file file = {.name = "events", .bytes = slice_of(events->data, len)};
	struct bt_error err;
	struct trace *t;

	if (trace_open_memory(&t, &file, 1, &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	read_back(t, &t->files[0]);
	trace_close(t);
}

static void print_branches(const struct buf *record)
{
	struct slice in = slice_of(record->data, record->len);
	struct bt_record rec;

	if (bt_record_decode(&in, &rec) != 1)
		abort();
	bt_record_print(stdout, &rec);
	print_entries(rec.u.branches.entries);
}

static void print_layouts(void)
{
#define F(type, field)              " " #field ":" #type
#define R(number, NAME, name, text) printf("%s %s%s\n", #number, #NAME, BT_FIELDS_##name(F));
	BT_RECORDS(R)
#undef R
#undef F
}

int main(int argc, char **argv)
{
	struct buf events = {0}, branches = {0};

	if (argc > 1 && !strcmp(argv[1], "layouts")) {
		print_layouts();
		return 0;
	}
	events_file(&events);
	print_hex(&events);
	print_events(&events, events.len);
	print_events(&events, events.len - 7);
	branches_record(&branches);
	print_hex(&branches);
	print_branches(&branches);
	buf_release(&events);
	buf_release(&branches);
	return 0;
}
