/* SPDX-License-Identifier: MIT */
/* Small captures of every format for the target import. Layouts: import/perf_event.c,
 * import/core_file.c, import/core_map.c, import/core_stack.c. */
#include "tests/fuzz/generate_captures.h"

#include <string.h>

#include "lib/array_size.h"
#include "tests/fuzz/generate_pt.h"

enum {
	ATTR_SIZE = 104,
	ALL_FIELDS = (1 << 14) - 1,
	HW_INDEX_AND_COUNTERS = 1 << 17 | 1 << 19,
	SAMPLE_ID_ALL = 1 << 18,
	GROUP_OF_ALL = 31,
	REGISTERS = 27, /* of NT_PRSTATUS */
	RSP = 19,
};

static void put_zeros(struct buf *b, size_t n)
{
	for (; n; n--)
		buf_u8(b, 0);
}

static void put_record(struct buf *out, uint32_t type, uint16_t misc, struct buf *body)
{
	buf_u32(out, type);
	buf_u16(out, misc);
	buf_u16(out, (uint16_t)(8 + body->len));
	buf_put(out, body->data, body->len);
	buf_reset(body);
}

static void put_attr(struct buf *b, uint64_t fields)
{
	buf_u32(b, 0);
	buf_u32(b, ATTR_SIZE);
	put_zeros(b, 16);
	buf_u64(b, fields);
	buf_u64(b, GROUP_OF_ALL);
	buf_u64(b, SAMPLE_ID_ALL);
	put_zeros(b, 24);
	buf_u64(b, HW_INDEX_AND_COUNTERS);
	buf_u64(b, 0x180);
	put_zeros(b, 16);
}

static void put_trailer(struct buf *b)
{
	for (uint64_t i = 1; i <= 5; i++)
		buf_u64(b, i << 32 | 7);
}

/* Every field of a sample, in its order. */
static void put_sample(struct buf *out, uint64_t time)
{
	const uint64_t words[] = {0x401000,
				  7ull << 32 | 7,
				  time,
				  1,
				  3,
				  7,
				  4,
				  5, /* ip to period */
				  1,
				  10,
				  11,
				  12,
				  13,
				  14, /* read: a group of one */
				  2,
				  0x401000,
				  0x401001,           /* callchain */
				  0x0000000000000004, /* raw */
				  2,
				  9,
				  0x401010,
				  0x401020,
				  2,
				  0,
				  0,
				  1,
				  5,
				  6, /* branches, counters */
				  2,
				  0x7ffc1000,
				  0x401000, /* registers */
				  8,
				  0x1111,
				  8}; /* stack */
	struct buf body = {0};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		buf_u64(&body, words[i]);
	put_record(out, 9, 2, &body);
	buf_release(&body);
}

static void put_records(struct buf *out, bool behind)
{
	struct buf b = {0};

	buf_u64(&b, 7ull << 32 | 7);
	buf_put(&b, "name\0\0\0", 8);
	put_trailer(&b);
	put_record(out, 3, 1 << 13, &b);
	for (unsigned build_id = 0; build_id < 2; build_id++) {
		buf_u64(&b, 7ull << 32 | 7);
		buf_u64(&b, 0x401000);
		buf_u64(&b, 0x1000);
		buf_u64(&b, 0);
		buf_u64(&b, 20);
		put_zeros(&b, 16);
		buf_u64(&b, 5);
		buf_put(&b, "/bin/a\0", 8);
		put_trailer(&b);
		put_record(out, 10, build_id ? 1 << 14 | 2 : 2, &b);
	}
	for (uint32_t type = 4; type <= 7; type += 3) {
		buf_u64(&b, 7ull << 32 | 8);
		buf_u64(&b, 7ull << 32 | 9);
		buf_u64(&b, 5);
		put_trailer(&b);
		put_record(out, type, 2, &b);
	}
	buf_u64(&b, 1);
	buf_u64(&b, 3);
	put_trailer(&b);
	put_record(out, 2, 2, &b);
	put_trailer(&b);
	put_record(out, 14, 1 << 13, &b);
	put_sample(out, 20);
	put_record(out, 68, 0, &b);
	put_sample(out, 10);
	if (behind) { /* bytes that no record counts */
		buf_u64(&b, 16);
		put_zeros(&b, 32);
		put_record(out, 71, 0, &b);
		put_zeros(out, 16);
	}
	buf_release(&b);
}

/* What an AUX area held, in two pieces. */
static void put_aux(struct buf *out, const struct buf *data, bool of_cpu)
{
	size_t cut = data->len / 2;
	struct buf b = {0};

	for (unsigned i = 0; i < 2; i++) {
		size_t from = i ? cut : 0, len = i ? data->len - cut : cut;

		buf_u64(&b, len);
		buf_u64(&b, from);
		buf_u64(&b, 0);
		buf_u32(&b, 3);
		buf_u32(&b, 7);
		buf_u32(&b, of_cpu ? 3 : UINT32_MAX);
		buf_u32(&b, 0);
		put_record(out, 71, 0, &b);
		buf_put(out, data->data + from, len);
	}
	buf_release(&b);
}

/* Intel PT (1) or BTS (2), with times and switches. */
void capture_aux(struct buf *out, uint32_t type)
{
	static const uint64_t info[] = {0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0x3c000, 1, 2, 2, 12, 0};
	struct buf b = {0}, data = {0};
	size_t before = out->len;

	if (type == 1) {
		pt_input(&data, PT_INPUT_OVERFLOW);
		memmove(data.data, data.data + 2 + (data.data[0] | data.data[1] << 8),
			data.len -= 2u + (data.data[0] | data.data[1] << 8));
	} else {
		for (uint64_t i = 0; i < 20; i++) {
			buf_u64(&data, i % 5 ? 0x401000 + i : UINT64_MAX << 40);
			buf_u64(&data, i % 7 ? 0x401100 + i : UINT64_MAX << 40);
			buf_u64(&data, 0x10);
		}
	}
	capture_pipe(out, false);
	out->len = before + 16 + 2 * (8 + ATTR_SIZE + 8); /* magic and events */
	buf_u64(&b, type);
	for (size_t i = 0; i < ARRAY_SIZE(info); i++)
		buf_u64(&b, info[i]);
	put_record(out, 70, 0, &b);
	put_records(out, false);
	buf_u64(&b, 7ull << 32 | 7);
	put_trailer(&b);
	put_record(out, 12, 0, &b);
	buf_u64(&b, 0);
	buf_u64(&b, data.len / 3);
	buf_u64(&b, 1);
	put_trailer(&b);
	put_record(out, 11, 0, &b);
	put_trailer(&b);
	put_record(out, 14, 0, &b);
	put_aux(out, &data, type == 1);
	buf_release(&b);
	buf_release(&data);
}

/* A zstd frame with one raw block (RFC 8878). */
static void put_compressed(struct buf *out, const struct buf *records)
{
	static const uint8_t frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0, 0x50};
	struct buf b = {0};

	buf_put(&b, frame, sizeof frame);
	buf_uint(&b, 1 | records->len << 3, 3);
	buf_put(&b, records->data, records->len);
	put_record(out, 81, 0, &b);
	buf_release(&b);
}

void capture_pipe(struct buf *out, bool packed)
{
	struct buf records = {0}, b = {0};

	buf_put(out, "PERFILE2", 8);
	buf_u64(out, 16);
	put_attr(&b, ALL_FIELDS);
	buf_u64(&b, 3);
	put_record(out, 64, 0, &b);
	put_attr(&b, ALL_FIELDS);
	buf_u64(&b, 4);
	put_record(out, 64, 0, &b);
	put_records(&records, !packed);
	if (packed)
		put_compressed(out, &records);
	else
		buf_put(out, records.data, records.len);
	buf_release(&records);
	buf_release(&b);
}

static void put_sized(struct buf *b, const char *text)
{
	buf_u64(b, strlen(text));
	buf_put(b, text, strlen(text));
}

/* A tracepoint, number 7, which only its format names. */
void capture_tracepoint(struct buf *out)
{
	static const char head[] = "\027\010\104tracing0.6\0\0\010\0\020\0\0header_page",
			  event[] = "header_event", system[] = "sys";
	struct buf b = {0}, formats = {0};

	buf_put(out, "PERFILE2", 8);
	buf_u64(out, 16);
	put_attr(&b, ALL_FIELDS);
	b.data[0] = 2;
	b.data[8] = 7;
	put_record(out, 64, 0, &b);
	buf_put(&formats, head, sizeof head);
	put_sized(&formats, "page");
	buf_put(&formats, event, sizeof event);
	put_sized(&formats, "event");
	buf_u32(&formats, 1);
	put_sized(&formats, "ftrace");
	buf_u32(&formats, 1);
	buf_put(&formats, system, sizeof system);
	buf_u32(&formats, 2);
	put_sized(&formats, "name: one\nID: 7\nformat:\n");
	put_sized(&formats, "name: two\nID: 8\nformat:\n");
	put_zeros(&formats, -formats.len & 7);
	buf_u32(&b, (uint32_t)formats.len);
	put_record(out, 66, 0, &b);
	buf_put(out, formats.data, formats.len);
	put_sample(out, 20);
	buf_release(&formats);
	buf_release(&b);
}

void capture_file(struct buf *out)
{
	struct buf records = {0};
	uint64_t head = 104, ids = 8, attrs = ATTR_SIZE + 16, at, section;

	put_records(&records, true);
	at = head + ids + attrs;
	section = at + records.len + 16;
	buf_put(out, "PERFILE2", 8);
	buf_u64(out, head);
	buf_u64(out, attrs);
	buf_u64(out, head + ids);
	buf_u64(out, attrs);
	buf_u64(out, at);
	buf_u64(out, records.len);
	put_zeros(out, 16);
	buf_u64(out, 1 << 11); /* a command line */
	put_zeros(out, 24);
	buf_u64(out, 3);
	put_attr(out, ALL_FIELDS);
	buf_u64(out, head);
	buf_u64(out, 8);
	buf_put(out, records.data, records.len);
	buf_u64(out, section);
	buf_u64(out, 16);
	buf_u32(out, 1);
	buf_u32(out, 8);
	buf_put(out, "command\0", 8);
	buf_release(&records);
}

static void put_note(struct buf *out, uint32_t type, const struct buf *desc)
{
	buf_u32(out, 5);
	buf_u32(out, (uint32_t)desc->len);
	buf_u32(out, type);
	buf_put(out, "CORE\0\0\0", 8);
	buf_put(out, desc->data, desc->len);
	put_zeros(out, -desc->len & 3);
}

static void put_thread_note(struct buf *out, uint64_t rsp)
{
	struct buf b = {0};

	put_zeros(&b, 12);
	buf_u32(&b, 11);
	put_zeros(&b, 16);
	buf_u32(&b, 7);
	put_zeros(&b, 76);
	for (unsigned i = 0; i < REGISTERS; i++)
		buf_u64(&b, i == RSP ? rsp : 0x401000 + i);
	put_zeros(&b, 8);
	put_note(out, 1, &b);
	buf_reset(&b);
	put_zeros(&b, 24);
	buf_u32(&b, 7);
	put_zeros(&b, 12);
	buf_put(&b, "name\0\0\0\0\0\0\0\0\0\0\0", 16);
	put_zeros(&b, 80);
	put_note(out, 3, &b);
	buf_release(&b);
}

/* mappings: how many a file has, of three pages each. */
static void put_files_note(struct buf *out, unsigned mappings)
{
	struct buf b = {0};

	buf_u64(&b, mappings);
	buf_u64(&b, 4096);
	for (unsigned i = 0; i < mappings; i++) {
		buf_u64(&b, 0x400000 + i * 0x3000);
		buf_u64(&b, 0x403000 + i * 0x3000);
		buf_u64(&b, i * 3);
	}
	for (unsigned i = 0; i < mappings; i++)
		buf_put(&b, "/bin/a", 7);
	put_note(out, 0x46494c45, &b);
	buf_release(&b);
}

static void put_signal_note(struct buf *out)
{
	struct buf b = {0};

	buf_u64(&b, 11);
	buf_u64(&b, 1);
	buf_u64(&b, 0x10);
	put_note(out, 0x53494749, &b);
	buf_release(&b);
}

struct load {
	uint32_t flags;
	uint64_t start, size;
	const struct buf *bytes;
};

static void put_core(struct buf *out, const struct buf *notes, const struct load *loads,
		     unsigned count)
{
	uint64_t at = 64 + (1 + count) * 56;

	buf_put(out, "\177ELF\2\1\1", 8);
	put_zeros(out, 8);
	buf_u16(out, 4);
	buf_u16(out, 62);
	put_zeros(out, 12);
	buf_u64(out, 64);
	put_zeros(out, 14);
	buf_u16(out, 56);
	buf_u16(out, (uint16_t)(1 + count));
	put_zeros(out, 6);
	buf_u32(out, 4);
	buf_u32(out, 0);
	buf_u64(out, at);
	put_zeros(out, 16);
	buf_u64(out, notes->len);
	put_zeros(out, 16);
	at += notes->len;
	for (unsigned i = 0; i < count; i++) {
		buf_u32(out, 1);
		buf_u32(out, loads[i].flags);
		buf_u64(out, at);
		buf_u64(out, loads[i].start);
		buf_u64(out, 0);
		buf_u64(out, loads[i].bytes->len);
		buf_u64(out, loads[i].size);
		buf_u64(out, 0);
		at += loads[i].bytes->len;
	}
	buf_put(out, notes->data, notes->len);
	for (unsigned i = 0; i < count; i++)
		buf_put(out, loads[i].bytes->data, loads[i].bytes->len);
}

void capture_core(struct buf *out)
{
	struct buf notes = {0}, code = {0};
	struct load load = {5, 0x400000, 0x2000, &code};

	put_thread_note(&notes, 0x401000 + RSP);
	put_files_note(&notes, 1);
	put_signal_note(&notes);
	put_zeros(&code, 64);
	put_core(out, &notes, &load, 1);
	buf_release(&notes);
	buf_release(&code);
}

/* The beginning of an ELF file whose second part, from 0x3000 on, is code. */
static void put_image(struct buf *out)
{
	buf_put(out, "\177ELF\2\1\1", 8);
	put_zeros(out, 24);
	buf_u64(out, 64);
	put_zeros(out, 14);
	buf_u16(out, 56);
	buf_u16(out, 2);
	put_zeros(out, 6);
	for (unsigned i = 0; i < 2; i++) {
		buf_u32(out, 1);
		buf_u32(out, i ? 5 : 4);
		buf_u64(out, i * 0x3000);
		buf_u64(out, i * 0x3000);
		put_zeros(out, 8);
		buf_u64(out, 0x2800);
		put_zeros(out, 16);
	}
}

enum {
	ALTERNATE = 0x500000,
	INTERRUPTED = 0x700ff0, /* below its stack, as after an overflow */
};

/* A stack for signals with what the kernel pushes, from byte 8 on. */
static void put_signal_stack(struct buf *out)
{
	put_zeros(out, 16);
	buf_u64(out, 7);
	buf_u64(out, 0);
	buf_u64(out, ALTERNATE);
	buf_u64(out, 0);
	buf_u64(out, 0x1000);
	put_zeros(out, 120);
	buf_u64(out, INTERRUPTED);
	buf_u64(out, 0x403010);
	buf_u64(out, 0x202);
	buf_u64(out, 0x33);
	put_zeros(out, 64);
}

void capture_core_stacks(struct buf *out)
{
	struct buf notes = {0}, image = {0}, alternate = {0}, stack = {0}, auxv = {0};
	const struct load loads[] = {{4, 0x400000, 0x3000, &image},
				     {6, ALTERNATE, 0x1000, &alternate},
				     {6, 0x701000, 0x1000, &stack}};

	put_thread_note(&notes, ALTERNATE);
	put_files_note(&notes, 4);
	buf_u64(&auxv, 31);
	buf_u64(&auxv, 0x701800);
	put_note(&notes, 6, &auxv);
	put_signal_note(&notes);
	put_image(&image);
	put_signal_stack(&alternate);
	put_zeros(&stack, 64);
	put_core(out, &notes, loads, ARRAY_SIZE(loads));
	buf_release(&notes);
	buf_release(&image);
	buf_release(&alternate);
	buf_release(&stack);
	buf_release(&auxv);
}

void capture_text(struct buf *out)
{
	static const char text[] =
		"# comment\nname with 7/8 [003] U      12.000001: 1000 cycles:u:\n"
		"\t401000 f\n\t401001 g "
		"0x1(/bin/a)/0x2(/bin/a)/P/X/A/12/COND/NON_SPEC_CORRECT_PATH 0x3/0x4/M/-/-/0\n\n"
		"name 7/9 [004] K     13.5: raw 0x1a: 401000 f+0x1 (/bin/a b) 0x5 (/bin/a b)/0x6 "
		"(//anon)/-/-/-/-//- ilen: 5\n"
		"\tf+1:\n\t0000000000401000\tinsn: 75 f0\t# PRED 1 cycles\n|12  x;\n"
		"name 7/9 [004] U      13.6: cycles:u: 401000 0x7/0x8/P/-/-/65535\n";

	buf_put(out, text, sizeof text - 1);
}

/* Fields in columns, and none but the branches and what stands before them. */
void capture_text_columns(struct buf *out)
{
	static const char text[] =
		"           a.out    5595 2026-11-27 01:02:03.000001        168     7ffc12345678   "
		"  5629ec742901 0x5/0x6/P/-/-/1/FAULT_DATA/- \n"
		"       worker 12    5596 2026-11-27 01:02:03.000001    1000003               10   "
		"        401136 0x7/0x8/MN/-/-/1//- \n";

	buf_put(out, text, sizeof text - 1);
}

void capture_text_of_symbols(struct buf *out)
{
	static const char text[] = " 5595 main+0x10 (/bin/a)/foo+0x0 (/bin/a)/P/-/-/0/CALL/- \n";

	buf_put(out, text, sizeof text - 1);
}
