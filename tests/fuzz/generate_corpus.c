/* SPDX-License-Identifier: MIT */
/* generate_corpus TARGET DIRECTORY: writes inputs for a fuzz target: good ones made by the real
 * encoders, broken ones named by their fault, and what faults.def keeps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/array_size.h"
#include "lib/branch_graph.h"
#include "tests/fuzz/generate_captures.h"
#include "tests/fuzz/generate_elf.h"
#include "tests/fuzz/generate_failures.h"
#include "tests/fuzz/generate_log.h"
#include "tests/fuzz/generate_pt.h"
#include "tests/fuzz/generate_ring.h"
#include "tests/fuzz/trace_bytes.h"

static const uint8_t uuid[BT_UUID_SIZE] = "sixteen bytes 01";

static void put(const char *dir, const char *name, const void *bytes, size_t n)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "wb");
	if (!f || (n && fwrite(bytes, 1, n, f) != n) || fclose(f)) {
		perror(path);
		exit(1);
	}
}

static void put_buf(const char *dir, const char *name, struct buf *b)
{
	put(dir, name, b->data, b->len);
	buf_release(b);
}

static void add_record(struct buf *out, enum bt_record_kind kind, const void *body)
{
	bt_record_encode(out, kind, body);
}

static void encode_history(struct buf *out)
{
	static const struct bt_branch entries[] = {
		{.from = 0x401010,
		 .to = 0x401000,
		 .kind = BT_BRANCH_JCC,
		 .flags = BT_BRANCH_TAKEN,
		 .cycles = 3},
		{.from = 0x401010, .to = 0x401012, .kind = BT_BRANCH_JCC},
		{.from = 0x401020,
		 .to = 0x7f0012345678,
		 .kind = BT_BRANCH_ICALL,
		 .flags = BT_BRANCH_TAKEN},
		{.from = 0x7f0012345690,
		 .to = 0x401025,
		 .kind = BT_BRANCH_RET,
		 .flags = BT_BRANCH_TAKEN | BT_BRANCH_MISPREDICTED},
		{.from = 0, .to = 2, .kind = BT_BRANCH_EPOCH},
		{.from = 12, .to = BT_GAP_OVERWRITTEN, .kind = BT_BRANCH_GAP},
		{.from = 0x401030,
		 .to = 0x401032,
		 .kind = BT_BRANCH_SYSCALL,
		 .flags = BT_BRANCH_TAKEN},
		{.from = 0x401032,
		 .to = 0xffffffffff600000,
		 .kind = BT_BRANCH_ASYNC,
		 .flags = BT_BRANCH_TAKEN},
	};
	struct bt_branch_codec c = {0};

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		bt_branch_encode(&c, out, &entries[i]);
}

static void add_chunk(struct buf *out)
{
	struct buf entries = {0};
	struct bt_record_branches chunk = {
		.task = 1, .first = 0, .count = 8, .tick = 0, .epoch = 1, .space = 1};

	encode_history(&entries);
	chunk.entries = slice_of(entries.data, entries.len);
	add_record(out, BT_RECORD_BRANCHES, &chunk);
	buf_release(&entries);
}

static void add_header(struct buf *out)
{
	struct bt_record_header h = {
		.started = 1,
		.argv = slice_of("app\0arg\0", 8),
		.program = bt_str("/bin/app"),
		.backend = bt_str("step"),
		.tick_classes = 7,
		.ring = 65536,
		.page_size = 4096,
	};

	add_record(out, BT_RECORD_HEADER, &h);
}

static void add_events(struct buf *out)
{
	static const struct bt_point point = {.tick = 2, .transfers = 1, .rip = 0x401040};
	struct bt_regs regs = {.rip = 0x401040, .rsp = 0x7ffc00001000};
	struct bt_record_space space = {.seq = 1, .space = 1};
	struct bt_record_task task = {
		.seq = 2, .task = 1, .unit = 1, .space = 1, .pid = 10, .tid = 10};
	struct bt_record_exec exec = {.seq = 3,
				      .task = 1,
				      .space = 1,
				      .path = bt_str("/bin/app"),
				      .argv = slice_of("app\0", 4),
				      .tid = 10};
	struct bt_record_map map = {.seq = 4,
				    .space = 1,
				    .epoch = 1,
				    .start = 0x400000,
				    .end = 0x402000,
				    .prot = 5,
				    .path = bt_str("/bin/app")};
	struct bt_record_code code = {
		.seq = 5, .space = 1, .epoch = 1, .addr = 0x401000, .object = 1};
	struct bt_record_signal sig = {.seq = 6,
				       .task = 1,
				       .point = point,
				       .signo = 11,
				       .code = 1,
				       .addr = 0x10,
				       .sync = 1,
				       .action = BT_ACTION_CORE,
				       .message = bt_str("free(): invalid pointer")};
	struct bt_record_last_words said = {
		.seq = 7,
		.task = 1,
		.total = 5000,
		.text = bt_str("line\n\x1b[31mred\x1b[0m\t10%\r20%\n\x1b]0;title\a\x1b[\xff")};
	struct bt_record_snapshot snap = {.seq = 8,
					  .snapshot = 1,
					  .task = 1,
					  .kind = BT_SNAPSHOT_FATAL,
					  .point = point,
					  .space = 1,
					  .epoch = 1,
					  .position = 8,
					  .event = 6};
	struct bt_record_thread thread = {.seq = 9,
					  .snapshot = 1,
					  .task = 1,
					  .point = point,
					  .position = 8,
					  .epoch = 1,
					  .regs = regs};
	struct bt_record_memory memory = {.seq = 10,
					  .snapshot = 1,
					  .space = 1,
					  .addr = 0x7ffc00001000,
					  .bytes = bt_str("stack of the thread")};
	struct bt_record_exit end_of_task = {.seq = 11,
					     .task = 1,
					     .point = point,
					     .kind = BT_EXIT_SIGNAL,
					     .status = 11,
					     .last = 1,
					     .regs = regs};
	struct bt_record_end end = {.seq = 12, .kind = BT_EXIT_SIGNAL, .status = 11};
	struct bt_record_unit first = {.unit = 1}, none = {.unit = 0};

	add_record(out, BT_RECORD_UNIT, &first);
	add_record(out, BT_RECORD_SPACE, &space);
	add_record(out, BT_RECORD_TASK, &task);
	add_record(out, BT_RECORD_EXEC, &exec);
	add_record(out, BT_RECORD_MAP, &map);
	add_record(out, BT_RECORD_CODE, &code);
	add_record(out, BT_RECORD_SIGNAL, &sig);
	add_record(out, BT_RECORD_LAST_WORDS, &said);
	add_record(out, BT_RECORD_SNAPSHOT, &snap);
	add_record(out, BT_RECORD_THREAD, &thread);
	add_record(out, BT_RECORD_MEMORY, &memory);
	add_record(out, BT_RECORD_EXIT, &end_of_task);
	add_record(out, BT_RECORD_UNIT, &none);
	add_record(out, BT_RECORD_END, &end);
}

/* Every record kind, all its fields zero. */
static void add_zeros(struct buf *out)
{
	struct bt_record zero;

	memset(&zero, 0, sizeof zero);
#define R(number, NAME, name, text) add_record(out, BT_RECORD_##NAME, &zero.u.name);
	BT_RECORDS(R)
#undef R
}

static void add_block(struct buf *out, uint64_t ordinal, struct buf *records)
{
	if (bt_block_encode(out, ordinal, slice_of(records->data, records->len), BT_BLOCK_FULL))
		exit(1);
	buf_release(records);
}

/* A file of n blocks whose records are made by add; of events behind the block with the trace's
 * header. */
static void make_stream(struct buf *out, enum bt_file_kind kind, void (*add)(struct buf *),
			unsigned n)
{
	struct buf records = {0};
	uint64_t ordinal = 0;

	bt_file_header_encode(out, kind, uuid);
	if (kind == BT_FILE_EVENTS) {
		add_header(&records);
		add_block(out, ordinal++, &records);
	}
	for (unsigned i = 0; i < n; i++) {
		add(&records);
		add_block(out, ordinal++, &records);
	}
}

static void add_code_object(struct buf *out)
{
	uint8_t page[4096];
	struct bt_record_object object = {.object = 1, .bytes = slice_of(page, sizeof page)};

	memset(page, 0x90, sizeof page);
	memcpy(page + 0x10, "\x75\xee", 2); /* 401010: jne 401000 */
	memcpy(page + 0x20, "\xff\xd0\x90\x90\x90", 5);
	memcpy(page + 0x30, "\x0f\x05", 2);
	add_record(out, BT_RECORD_OBJECT, &object);
}

/* What is kept of the program of add_events(): all kinds of answers. */
static void add_symbols(struct buf *out)
{
	static const char *const texts[] = {"/bin/app", "main", "/src/app.c", "inlined\x1b[31m"};
	struct bt_record_symbols first = {.made = 1, .version = bt_str("1")};
	struct bt_record_module module = {.path = 1, .level = 3, .missing = 5};
	struct bt_record_place place = {.module = 1,
					.at = 0x1040,
					.flags = 6,
					.vaddr = 0x1040,
					.function = 2,
					.offset = 0x40,
					.file = 3,
					.line = 2,
					.inlined = slice_of("\4\3\1", 3)};
	struct bt_record_stack stack = {.snapshot = 1, .task = 1, .complete = 1};
	struct bt_record_file_bytes bytes = {
		.module = 1, .offset = 0x1fc0, .bytes = bt_str("\x90\x90\xc3")};
	struct bt_record_source source = {.path = 3,
					  .size = 20,
					  .newer = 1,
					  .first = 1,
					  .text = bt_str("int main() {\n\treturn *p;\n}\n")};
	struct bt_record_said said = {.what = 1, .snapshot = 1, .task = 1, .text = bt_str("p = 0")};
	struct buf frames = {0};

	add_record(out, BT_RECORD_SYMBOLS, &first);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		add_record(out, BT_RECORD_TEXT, &(struct bt_record_text){bt_str(texts[i])});
	add_record(out, BT_RECORD_MODULE, &module);
	add_record(out, BT_RECORD_PLACE, &place);
	for (uint64_t at = 0x1000; at < 0x1040; at += 0x10) {
		place.at = place.vaddr = at;
		place.offset = at - 0x1000;
		add_record(out, BT_RECORD_PLACE, &place);
	}
	place.space = 1;
	place.base = place.at = 0x7ffc00001000;
	add_record(out, BT_RECORD_PLACE, &place);
	for (uint64_t pc = 0x401040; pc; pc = pc == 0x401040 ? 0x401025 : 0) {
		buf_u64(&frames, pc);
		buf_u64(&frames, 0x7ffc00001010);
		buf_u8(&frames, pc == 0x401025);
	}
	stack.frames = slice_of(frames.data, frames.len);
	add_record(out, BT_RECORD_STACK, &stack);
	buf_release(&frames);
	add_record(out, BT_RECORD_FILE_BYTES, &bytes);
	add_record(out, BT_RECORD_SOURCE, &source);
	source.first = 0xfffffff0;
	add_record(out, BT_RECORD_SOURCE, &source);
	add_record(out, BT_RECORD_SAID, &said);
}

static void generate_block(const char *dir)
{
	struct buf b = {0};
	size_t first;

	make_stream(&b, BT_FILE_EVENTS, add_events, 1);
	first = b.len;
	put_buf(dir, "good-one-block", &b);
	make_stream(&b, BT_FILE_EVENTS, add_events, 3);
	put(dir, "good-three-blocks", b.data, b.len);
	put(dir, "bad-cut-in-a-header", b.data, first + 9);
	put(dir, "bad-cut-in-a-payload", b.data, b.len - 3);
	b.data[first + 40] ^= 1;
	put(dir, "bad-payload-checksum", b.data, b.len);
	b.data[first + 40] ^= 1;
	b.data[first + 8] ^= 0xff;
	put(dir, "bad-block-header-checksum", b.data, b.len);
	b.data[first + 8] ^= 0xff;
	memmove(b.data + first, b.data + first + 5, b.len - first - 5);
	put(dir, "bad-five-bytes-gone", b.data, b.len - 5);
	buf_release(&b);
	bt_file_header_encode(&b, BT_FILE_EVENTS, uuid);
	put_buf(dir, "good-no-block", &b);
}

static void generate_record(const char *dir)
{
	struct buf b = {0};

	add_header(&b);
	add_events(&b);
	add_chunk(&b);
	put(dir, "good-events", b.data, b.len);
	put(dir, "bad-cut-in-a-body", b.data, b.len - 3);
	buf_release(&b);
	add_zeros(&b);
	put_buf(dir, "good-zeros-of-every-kind", &b);
}

static void generate_branch(const char *dir)
{
	struct buf b = {0};

	encode_history(&b);
	put(dir, "good-every-kind", b.data, b.len);
	put(dir, "bad-cut", b.data, b.len - 2);
	buf_release(&b);
}

/* A loop with every kind of place, as BRANCH_GRAPH. Returns how many entries it has. */
static uint64_t encode_graph(struct buf *out)
{
	const struct bt_branch loop[] = {
		{.from = 0x401010, .to = 0x401012, .kind = BT_BRANCH_JCC},
		{.from = 0x401014, .to = 0x401018, .kind = BT_BRANCH_CALL, .flags = 1},
		{.from = 0x40101c, .to = 0x401019, .kind = BT_BRANCH_RET, .flags = 1},
		{.from = 0x40101a, .to = 0x401000, .kind = BT_BRANCH_JMP, .flags = 1},
		{.from = 0x401010, .to = 0x401020, .kind = BT_BRANCH_JCC, .flags = 1},
		{.from = 0x401022, .to = 0x401018, .kind = BT_BRANCH_ICALL, .flags = 1},
		{.from = 0x40101c, .to = 0x401026, .kind = BT_BRANCH_RET, .flags = 1},
		{.from = 0x401028, .to = 0x40102a, .kind = BT_BRANCH_SYSCALL, .flags = 1},
		{.from = 0, .to = 2, .kind = BT_BRANCH_EPOCH},
		{.from = 0x40102c, .to = 0x401018, .kind = BT_BRANCH_IJMP, .flags = 1},
		{.from = 0x40101c, .to = 0x401030, .kind = BT_BRANCH_RET, .flags = 1},
		{.from = 0x401032, .to = 0x401000, .kind = BT_BRANCH_JMP, .flags = 1},
	};
	struct branch_graph g = {0};
	uint64_t count;

	for (unsigned i = 0; i < 3 * ARRAY_SIZE(loop); i++)
		branch_graph_add(&g, &loop[i % ARRAY_SIZE(loop)]);
	count = g.entries;
	if (!branch_graph_encode(&g, out))
		exit(1);
	branch_graph_release(&g);
	return count;
}

static void add_graph(struct buf *out)
{
	struct buf entries = {0};
	struct bt_record_branch_graph graph = {.task = 1, .epoch = 1, .space = 1};

	graph.count = encode_graph(&entries);
	graph.entries = slice_of(entries.data, entries.len);
	add_record(out, BT_RECORD_BRANCH_GRAPH, &graph);
	buf_release(&entries);
}

static void generate_graph(const char *dir)
{
	struct buf b = {0};

	encode_graph(&b);
	put(dir, "good-every-kind", b.data, b.len);
	put(dir, "bad-cut", b.data, b.len - 2);
	put(dir, "bad-cut-in-the-columns", b.data, b.len / 2);
	buf_release(&b);
}

static void generate_insn(const char *dir)
{
	static const char code[] =
		"\x55\x48\x89\xe5\x83\xff\x01\x7e\x08\xe8\x10\x00\x00\x00\x0f\x84\x00\x01\x00\x00"
		"\xff\xd0\xe3\x02\xe2\xfa\x0f"
		"\x05\xf3\xa4\x9c\x9d\x8e\xd0\xcd\x80\xf3\x0f\x1e\xfa\x3e\xff\xe0\xc5\xf8\x77\xc3";

	put(dir, "good-code", code, sizeof code - 1);
}

static void add_file(struct buf *out, enum bt_file_kind kind, uint32_t number, struct buf *bytes)
{
	struct trace_file f = {
		.kind = kind, .number = number, .bytes = slice_of(bytes->data, bytes->len)};

	trace_bytes_add(out, &f);
	buf_release(bytes);
}

/* A small trace whose events, branches and objects are made by the given functions. */
static void add_trace(struct buf *out, void (*events)(struct buf *), void (*branches)(struct buf *))
{
	struct buf b = {0};

	make_stream(&b, BT_FILE_EVENTS, events, 1);
	add_file(out, BT_FILE_EVENTS, 0, &b);
	make_stream(&b, BT_FILE_BRANCHES, branches, 1);
	add_file(out, BT_FILE_BRANCHES, 1, &b);
	make_stream(&b, BT_FILE_OBJECTS, add_code_object, 1);
	add_file(out, BT_FILE_OBJECTS, 0, &b);
}

static void put_trace(const char *dir, const char *name, void (*events)(struct buf *),
		      void (*branches)(struct buf *), size_t cut)
{
	struct buf out = {0};

	add_trace(&out, events, branches);
	put(dir, name, out.data, out.len - cut);
	buf_release(&out);
}

/* The same with a byte changed in a block of its events: 0 is that of the trace's header. */
static void put_damaged(const char *dir, const char *name, unsigned block)
{
	enum {
		BLOCKS = 6 + BT_FILE_HEADER_SIZE /* behind kind, number and length of the file */
	};
	struct buf out = {0}, raw = {0};
	uint64_t at = BLOCKS, ordinal;
	struct file_window w;

	add_trace(&out, add_events, add_chunk);
	file_window_init_memory(&w, slice_of(out.data, out.len));
	for (unsigned i = 0; i < block; i++)
		if (bt_block_decode(&w, &at, &raw, &ordinal, NULL) != 1)
			exit(1);
	out.data[at + BT_BLOCK_HEADER_SIZE + 3] ^= 1;
	buf_release(&raw);
	put_buf(dir, name, &out);
}

static void generate_trace(const char *dir)
{
	put_trace(dir, "good-small", add_events, add_chunk, 0);
	put_trace(dir, "good-torn-tail", add_events, add_chunk, 7);
	put_trace(dir, "bad-zeros-of-every-kind", add_zeros, add_zeros, 0);
	put_trace(dir, "bad-branches-where-events-belong", add_chunk, add_events, 0);
	put_damaged(dir, "bad-header-of-the-trace", 0);
	put_damaged(dir, "bad-events", 1);
}

/* Two processes, the second a copy of the first; mappings that split others; code of two epochs;
 * threads; nested snapshots. */
static void add_tree(struct buf *out)
{
	uint64_t seq = 1;

	for (uint32_t i = 1; i <= 2; i++) {
		struct bt_record_space space = {
			.seq = seq++, .space = i, .parent = i - 1, .parent_epoch = 2};
		struct bt_record_task task = {.seq = seq++,
					      .task = i,
					      .parent = i - 1,
					      .unit = 1,
					      .space = i,
					      .pid = 10 * i,
					      .tid = 10 * i,
					      .how = i - 1};
		struct bt_record_task thread = {.seq = seq++,
						.task = 10 + i,
						.parent = i,
						.unit = 1,
						.space = i,
						.how = BT_TASK_THREAD};
		struct bt_record_exec exec = {
			.seq = seq++, .task = 10 + i, .space = i, .path = bt_str("/bin/app")};
		struct bt_record_exit end_of_task = {.seq = seq++, .task = 10 + i};

		add_record(out, BT_RECORD_SPACE, &space);
		add_record(out, BT_RECORD_TASK, &task);
		add_record(out, BT_RECORD_TASK, &thread);
		add_record(out, BT_RECORD_EXEC, &exec);
		add_record(out, BT_RECORD_EXIT, &end_of_task);
		for (uint32_t k = 1; k <= 6; k++) {
			struct bt_record_map map = {.seq = seq++,
						    .space = i,
						    .epoch = k / 2,
						    .start = 0x400000 + k % 4 * 0x800,
						    .end = 0x404000 - k * 0x800,
						    .prot = 5,
						    .path = bt_str("/bin/app")};
			struct bt_record_unmap unmap = {.seq = seq++,
							.space = i,
							.epoch = k / 2,
							.start = 0x401000 + k * 0x400,
							.end = 0x402000};
			struct bt_record_code code = {.seq = seq++,
						      .space = i,
						      .epoch = k,
						      .addr = 0x400000 + k % 3 * 0x1000,
						      .object = 1};

			add_record(out, BT_RECORD_MAP, &map);
			add_record(out, BT_RECORD_UNMAP, &unmap);
			add_record(out, BT_RECORD_CODE, &code);
		}
		for (uint32_t k = 1; k <= 2; k++) {
			struct bt_record_sched in = {.seq = seq++,
						     .time = 100 * i + k,
						     .task = i,
						     .cpu = k,
						     .what = BT_SCHED_IN,
						     .position = 2 * k};
			struct bt_record_signal sig = {
				.seq = seq++, .task = 1, .signo = 11, .sync = 1};
			struct bt_record_snapshot snap = {.seq = seq,
							  .snapshot = 2 * i + k,
							  .task = i,
							  .kind = k,
							  .space = i,
							  .epoch = 1,
							  .point = {.rip = 0x401010},
							  .position = 8,
							  .event = seq - 1};
			struct bt_record_thread t = {
				.seq = ++seq, .snapshot = 2 * i + k, .task = k, .position = k};
			struct bt_record_sched gone = {.seq = ++seq,
						       .time = 100 * i + 10 * k,
						       .task = k,
						       .cpu = i,
						       .what = (uint8_t)k,
						       .position = 4 * k};
			struct bt_record_memory memory = {.seq = ++seq,
							  .snapshot = 2 * i + k,
							  .space = i,
							  .addr = 0x401000 + k,
							  .bytes = bt_str("memory")};

			add_record(out, BT_RECORD_SCHED, &in);
			add_record(out, BT_RECORD_SIGNAL, &sig);
			add_record(out, BT_RECORD_SNAPSHOT, &snap);
			add_record(out, BT_RECORD_THREAD, &t);
			add_record(out, BT_RECORD_SCHED, &gone);
			add_record(out, BT_RECORD_MEMORY, &memory);
			add_record(out, BT_RECORD_MEMORY, &memory);
			seq++;
		}
	}
}

/* Chunks out of order, with an overlap and a hole. */
static void add_chunks(struct buf *out)
{
	static const uint64_t firsts[] = {20, 0, 4};

	for (size_t i = 0; i < ARRAY_SIZE(firsts); i++) {
		struct bt_record_branches chunk = {
			.task = 1, .first = firsts[i], .count = 8, .epoch = 1, .space = 1};
		struct buf entries = {0};

		encode_history(&entries);
		chunk.entries = slice_of(entries.data, entries.len);
		add_record(out, BT_RECORD_BRANCHES, &chunk);
		buf_release(&entries);
	}
}

/* The same as records without header and blocks, which the target adds: changes of them are not
 * stopped by checksums. */
static void put_records(const char *dir, const char *name, void (*events)(struct buf *),
			void (*branches)(struct buf *))
{
	struct buf out = {0}, b = {0};

	add_header(&b);
	events(&b);
	add_file(&out, BT_FILE_EVENTS, 0, &b);
	branches(&b);
	add_file(&out, BT_FILE_BRANCHES, 1, &b);
	add_code_object(&b);
	add_file(&out, BT_FILE_OBJECTS, 0, &b);
	put_buf(dir, name, &out);
}

static void put_records_with_symbols(const char *dir, const char *name,
				     void (*events)(struct buf *), void (*symbols)(struct buf *))
{
	struct buf out = {0}, b = {0};

	add_header(&b);
	events(&b);
	add_file(&out, BT_FILE_EVENTS, 0, &b);
	add_chunk(&b);
	add_file(&out, BT_FILE_BRANCHES, 1, &b);
	add_code_object(&b);
	add_file(&out, BT_FILE_OBJECTS, 0, &b);
	symbols(&b);
	add_file(&out, BT_FILE_SYMBOLS, 0, &b);
	put_buf(dir, name, &out);
}

/* A member of a tar archive. */
static void add_member(struct buf *out, const char *name, const struct buf *content)
{
	char header[512] = {0};
	unsigned sum = 0;

	snprintf(header, 100, "trace/%s", name);
	snprintf(header + 124, 12, "%011zo", content->len);
	header[156] = '0';
	memcpy(header + 257, "ustar\00000", 8);
	memset(header + 148, ' ', 8);
	for (size_t i = 0; i < sizeof header; i++)
		sum += (unsigned char)header[i];
	snprintf(header + 148, 8, "%06o", sum);
	buf_put(out, header, sizeof header);
	buf_put(out, content->data, content->len);
	while (out->len % 512)
		buf_u8(out, 0);
}

static void generate_pack(const char *dir)
{
	static const uint8_t end[1024];
	struct buf out = {0}, b = {0};
	size_t whole;

	make_stream(&b, BT_FILE_EVENTS, add_events, 1);
	add_member(&out, "events", &b);
	add_member(&out, "of-no-trace", &b);
	buf_release(&b);
	make_stream(&b, BT_FILE_BRANCHES, add_chunk, 1);
	add_member(&out, "branches-1", &b);
	buf_release(&b);
	make_stream(&b, BT_FILE_OBJECTS, add_code_object, 1);
	add_member(&out, "objects", &b);
	buf_release(&b);
	make_stream(&b, BT_FILE_SYMBOLS, add_symbols, 1);
	add_member(&out, "symbols", &b);
	whole = out.len;
	buf_put(&out, end, sizeof end);
	put(dir, "good-pack", out.data, out.len);
	put(dir, "bad-without-its-end", out.data, whole);
	put(dir, "bad-cut-in-a-file", out.data, 700);
	put(dir, "bad-cut-in-a-header", out.data, 300);
	out.data[124] = (uint8_t)0xff; /* a size of 2^64 or so */
	put(dir, "bad-checksum", out.data, out.len);
	out.len = whole;
	out.data[124] = '0';
	add_member(&out, "events", &b);
	buf_put(&out, end, sizeof end);
	put(dir, "bad-a-file-twice", out.data, out.len);
	buf_release(&out);
	buf_release(&b);
	put(dir, "bad-empty", "", 0);
}

static void generate_model(const char *dir)
{
	put_records_with_symbols(dir, "records-symbols", add_events, add_symbols);
	put_records_with_symbols(dir, "records-symbols-of-every-kind", add_events, add_zeros);
	generate_trace(dir);
	put_records(dir, "records-small", add_events, add_chunk);
	put_records(dir, "records-tree", add_tree, add_chunks);
	put_records(dir, "records-graph", add_events, add_graph);
	put_records(dir, "records-failures", failure_events, add_chunk);
	put_records_with_symbols(dir, "records-hang", hang_events, hang_symbols);
	put_records(dir, "records-zeros-of-every-kind", add_zeros, add_zeros);
}

static void generate_import(const char *dir)
{
	struct buf b = {0};

	capture_pipe(&b, false);
	put_buf(dir, "perf-pipe", &b);
	capture_pipe(&b, true);
	put_buf(dir, "perf-compressed", &b);
	capture_tracepoint(&b);
	put_buf(dir, "perf-tracepoint", &b);
	capture_aux(&b, 1);
	put_buf(dir, "perf-intel-pt", &b);
	capture_aux(&b, 2);
	put_buf(dir, "perf-bts", &b);
	capture_file(&b);
	put_buf(dir, "perf-file", &b);
	capture_core(&b);
	put_buf(dir, "core", &b);
	capture_core_stacks(&b);
	put_buf(dir, "core-stacks", &b);
	capture_text(&b);
	put_buf(dir, "brstack-text", &b);
	capture_text_columns(&b);
	put_buf(dir, "brstack-columns", &b);
	capture_text_of_symbols(&b);
	put_buf(dir, "brstacksym", &b);
	put(dir, "empty", "", 0);
}

/* Inputs that are made by their number, and an empty one. */
static void put_inputs(const char *dir, void (*input)(struct buf *, unsigned), unsigned n,
		       const char *const names[])
{
	struct buf b = {0};

	for (unsigned i = 0; i < n; i++) {
		input(&b, i);
		put_buf(dir, names[i], &b);
	}
	put(dir, "empty", "", 0);
}

static void generate_pt(const char *dir)
{
	static const char *const names[] = {"plain",        "32-bit", "overflow",
					    "endless-loop", "kernel", "asynchronous"};

	put_inputs(dir, pt_input, ARRAY_SIZE(names), names);
}

static void generate_ring(const char *dir)
{
	static const char *const names[] = {"branches", "branches-and-what-was-overwritten",
					    "branches-none-new", "samples",
					    "samples-around-the-end"};

	put_inputs(dir, ring_input, ARRAY_SIZE(names), names);
}

static void generate_log(const char *dir)
{
	static const char *const names[] = {
		"good-every-kind",          "good-many-calls", "good-effects-without-bytes",
		"good-zeros-of-every-kind", "bad-copies",      "bad-calls-cut"};

	put_inputs(dir, log_input, ARRAY_SIZE(names), names);
}

static void generate_elf(const char *dir)
{
	struct buf without = elf_without_sections(false), behind = elf_without_sections(true);

	put_buf(dir, "without-sections", &without);
	put_buf(dir, "bad-sections-behind-its-end", &behind);
	put(dir, "bad-empty", "", 0);
}

static const struct target {
	const char *name;
	void (*generate)(const char *dir);
} targets[] = {
	{"block", generate_block}, {"record", generate_record}, {"branch", generate_branch},
	{"graph", generate_graph}, {"insn", generate_insn},     {"x86", generate_insn},
	{"trace", generate_trace}, {"model", generate_model},   {"report", generate_model},
	{"views", generate_model}, {"export", generate_model},  {"import", generate_import},
	{"pt", generate_pt},       {"ring", generate_ring},     {"pack", generate_pack},
	{"elf", generate_elf},     {"log", generate_log},
};

static const struct fault {
	const char *target, *name, *bytes;
	size_t len;
} faults[] = {
#define FAULT(target, name, bytes) {#target, name, bytes, sizeof(bytes) - 1},
#include "tests/fuzz/faults.def"
#undef FAULT
};

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: generate_corpus TARGET DIRECTORY\n");
		return 2;
	}
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		if (strcmp(targets[i].name, argv[1]))
			continue;
		targets[i].generate(argv[2]);
		for (size_t k = 0; k < ARRAY_SIZE(faults); k++)
			if (!strcmp(faults[k].target, argv[1]))
				put(argv[2], faults[k].name, faults[k].bytes, faults[k].len);
		return 0;
	}
	fprintf(stderr, "generate_corpus: no target %s\n", argv[1]);
	return 2;
}
