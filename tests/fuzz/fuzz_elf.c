/* SPDX-License-Identifier: MIT */
/* An ELF file as a stranger's trace may have it: the copy of a program that is not there. It goes
 * the way that it goes in btview: the check of its bounds, the proof that it is what ran, names,
 * lines, inlined frames, stacks by unwind information, values of variables, the report. The trace
 * around it is made of its own segments, so that most addresses of it are looked at.
 *
 * Damage is done field by field where it matters: LLVMFuzzerCustomMutator(). */
#include "tests/fuzz/fuzz.h"

#include <elf.h>
#include <string.h>

#include "decoder/report/json.h"
#include "decoder/report/report.h"
#include "decoder/values/frame_values.h"
#include "lib/array_size.h"
#include "lib/page.h"
#include "tests/fuzz/trace_bytes.h"

enum {
	SEGMENTS_MAX = 4,
	SEGMENT_MOST = 1 << 24, /* bytes of one in memory */
	THREADS = 6,
	LOOKUPS = 96,
	STACK_WORDS = 256,
};

static const char path[] = "/nowhere/program";
static const uint64_t bias = 0x10000000, stack_at = 0x7ffc00001000;

/* The executable segments of the file, as the trace says that they were mapped. */
struct program {
	const uint8_t *bytes;
	size_t size;
	uint64_t moved;
	Elf64_Phdr code[SEGMENTS_MAX];
	size_t count;
};

static bool is_mapped(const struct program *p, const Elf64_Phdr *h)
{
	return h->p_type == PT_LOAD && h->p_flags & PF_X && h->p_offset < p->size && h->p_filesz &&
	       h->p_filesz <= p->size - h->p_offset && h->p_filesz < SEGMENT_MOST &&
	       h->p_vaddr < UINT64_C(1) << 40 && h->p_vaddr % BT_PAGE == h->p_offset % BT_PAGE;
}

static void read_program(struct program *p, const uint8_t *data, size_t size)
{
	Elf64_Ehdr header;

	*p = (struct program){.bytes = data, .size = size};
	if (size < sizeof header)
		return;
	memcpy(&header, data, sizeof header);
	p->moved = header.e_type == ET_EXEC ? 0 : bias;
	for (size_t i = 0; i < header.e_phnum && p->count < SEGMENTS_MAX; i++) {
		Elf64_Phdr h;

		if (header.e_phoff > size || (size - header.e_phoff) / sizeof h <= i)
			return;
		memcpy(&h, data + header.e_phoff + i * sizeof h, sizeof h);
		if (is_mapped(p, &h))
			p->code[p->count++] = h;
	}
}

/* One of n addresses that are spread over the code. */
static uint64_t address(const struct program *p, size_t i, size_t n)
{
	const Elf64_Phdr *h = &p->code[i % p->count];

	return p->moved + h->p_vaddr + h->p_filesz * i / n;
}

static void add_segment(struct buf *events, struct buf *objects, const struct program *p, size_t i)
{
	const Elf64_Phdr *h = &p->code[i];
	uint64_t offset = page_down(h->p_offset), start = p->moved + page_down(h->p_vaddr);
	size_t left = p->size - offset;
	struct bt_record_object page = {.object = i + 1};
	uint8_t bytes[BT_PAGE] = {0};

	memcpy(bytes, p->bytes + offset, left < sizeof bytes ? left : sizeof bytes);
	page.bytes = slice_of(bytes, sizeof bytes);
	bt_record_encode(objects, BT_RECORD_OBJECT, &page);
	bt_record_encode(
		events, BT_RECORD_MAP,
		&(struct bt_record_map){.seq = 10 + 2 * i,
					.space = 1,
					.epoch = 1,
					.start = start,
					.end = page_up(p->moved + h->p_vaddr + h->p_filesz),
					.offset = offset,
					.prot = 5,
					.path = bt_str(path)});
	/* It proves that the file is what ran. */
	bt_record_encode(
		events, BT_RECORD_CODE,
		&(struct bt_record_code){
			.seq = 11 + 2 * i, .space = 1, .epoch = 1, .addr = start, .object = i + 1});
}

/* Words that are addresses of code, or of the stack. */
static void add_stack(struct buf *events, const struct program *p)
{
	uint64_t words[STACK_WORDS];

	for (size_t i = 0; i < STACK_WORDS; i++)
		words[i] = i % 4 == 2 ? stack_at + 8 * (i + 6) : address(p, i, STACK_WORDS);
	bt_record_encode(events, BT_RECORD_MEMORY,
			 &(struct bt_record_memory){.seq = 60,
						    .snapshot = 1,
						    .space = 1,
						    .addr = stack_at,
						    .bytes = slice_of(words, sizeof words)});
}

static void add_threads(struct buf *events, const struct program *p)
{
	for (uint32_t i = 0; i < THREADS; i++) {
		struct bt_record_thread t = {.seq = 50 + i,
					     .snapshot = 1,
					     .task = i + 1,
					     .point = {.rip = address(p, i * 7 + 3, 7 * THREADS)},
					     .epoch = 1};

		for (unsigned r = 0; r < BT_REG_COUNT; r++)
			bt_regs_set(&t.regs, r, stack_at + 8 * (uint64_t)r);
		t.regs.rip = t.point.rip;
		bt_record_encode(events, BT_RECORD_THREAD, &t);
	}
}

static void add_branches(struct buf *branches, const struct program *p)
{
	struct bt_branch_codec codec = {0};
	struct bt_record_branches chunk = {.task = 1, .count = 32, .epoch = 1, .space = 1};
	struct buf entries = {0};

	for (size_t i = 0; i < 32; i++)
		bt_branch_encode(&codec, &entries,
				 &(struct bt_branch){.from = address(p, 3 * i, 96),
						     .to = address(p, 3 * i + 5, 101),
						     .kind = i % 3 ? BT_BRANCH_JCC : BT_BRANCH_CALL,
						     .flags = BT_BRANCH_TAKEN});
	chunk.entries = slice_of(entries.data, entries.len);
	bt_record_encode(branches, BT_RECORD_BRANCHES, &chunk);
	buf_release(&entries);
}

static void add_events(struct buf *events, struct buf *objects, const struct program *p)
{
	const struct bt_point point = {.rip = address(p, 3, 7 * THREADS)};

	bt_record_encode(events, BT_RECORD_HEADER,
			 &(struct bt_record_header){.started = 1,
						    .program = bt_str(path),
						    .tick_classes = 7,
						    .ring = 65536,
						    .page_size = BT_PAGE});
	bt_record_encode(events, BT_RECORD_SPACE, &(struct bt_record_space){.seq = 1, .space = 1});
	for (uint32_t i = 1; i <= THREADS; i++)
		bt_record_encode(events, BT_RECORD_TASK,
				 &(struct bt_record_task){.seq = 1 + i,
							  .task = i,
							  .unit = 1,
							  .space = 1,
							  .pid = 10,
							  .tid = 9 + i});
	for (size_t i = 0; i < p->count; i++)
		add_segment(events, objects, p, i);
	bt_record_encode(events, BT_RECORD_MAP,
			 &(struct bt_record_map){.seq = 30,
						 .space = 1,
						 .epoch = 1,
						 .start = page_down(stack_at),
						 .end = page_up(stack_at) + BT_PAGE,
						 .prot = 3,
						 .path = bt_str("[stack]")});
	bt_record_encode(events, BT_RECORD_SIGNAL,
			 &(struct bt_record_signal){.seq = 40,
						    .task = 1,
						    .point = point,
						    .signo = 11,
						    .code = 1,
						    .addr = 0x10,
						    .sync = 1,
						    .action = BT_ACTION_CORE});
	bt_record_encode(events, BT_RECORD_SNAPSHOT,
			 &(struct bt_record_snapshot){.seq = 41,
						      .snapshot = 1,
						      .task = 1,
						      .kind = BT_SNAPSHOT_FATAL,
						      .point = point,
						      .space = 1,
						      .epoch = 1,
						      .position = 32,
						      .event = 40});
	add_threads(events, p);
	add_stack(events, p);
}

static void look_at_values(struct symbols *s, const struct model *m)
{
	for (size_t i = 0; i < m->snapshot_count; i++)
		for (size_t k = 0; k < m->snapshots[i].thread_count; k++) {
			struct stack_frame frames[VALUED_FRAMES_MAX];
			const struct model_snapshot *snap = &m->snapshots[i];
			struct thread_values *t;
			struct bt_error err;
			bool complete;
			size_t n = symbols_unwind(s, snap, snap->threads[k], frames,
						  ARRAY_SIZE(frames), &complete);

			MUST(n >= 1 && n <= ARRAY_SIZE(frames));
			MUST(!thread_values_open(&t, s, snap, snap->threads[k], &err));
			for (size_t f = 0; f < n && f < 16; f++) {
				struct frame_values v;

				frame_values_get(t, f, &v);
				frame_values_release(&v);
			}
			thread_values_close(t);
		}
}

static void look_at_reports(struct symbols *s, const struct model *m)
{
	const struct report_options options = {.count = 40, .utf8 = true};
	FILE *to = fopen("/dev/null", "w");
	struct bt_error err;

	MUST(to);
	MUST(report_print(to, m, s, &options, &err) >= 0);
	MUST(json_print(to, m, s, &options, &err) >= 0);
	fclose(to);
}

static void look_at_trace(const struct trace_file *files, size_t n, const struct program *p)
{
	struct symbols *s;
	struct bt_error err;
	struct trace *t;
	struct model *m;

	MUST(!trace_open_memory(&t, files, n, &err));
	MUST(!model_load(&m, t, &err));
	MUST(!symbols_open(&s, m, &err));
	for (size_t i = 0; i < LOOKUPS; i++) {
		struct location loc;

		symbols_lookup(s, 1, 1, address(p, i, LOOKUPS), i % 3 == 0, &loc);
		MUST(loc.function && loc.file && loc.module);
	}
	look_at_values(s, m);
	look_at_reports(s, m);
	symbols_close(s);
	model_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum bt_file_kind kinds[] = {BT_FILE_EVENTS, BT_FILE_OBJECTS,
						  BT_FILE_BRANCHES};
	struct trace_file files[ARRAY_SIZE(kinds) + 1] = {{.number = 0}};
	struct buf made[ARRAY_SIZE(kinds)] = {{0}}, wrapped[ARRAY_SIZE(kinds)];
	struct program p;

	read_program(&p, data, size);
	if (!p.count)
		return 0;
	add_events(&made[0], &made[1], &p);
	add_branches(&made[2], &p);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		trace_file_name(files[i].name, kinds[i], 1);
		files[i].bytes = slice_of(made[i].data, made[i].len);
		wrapped[i] = trace_bytes_wrap_file(&files[i]);
		files[i].bytes = slice_of(wrapped[i].data, wrapped[i].len);
	}
	trace_file_name(files[ARRAY_SIZE(kinds)].name, BT_FILE_MAPPED, 1);
	files[ARRAY_SIZE(kinds)].bytes = slice_of(data, size);
	look_at_trace(files, ARRAY_SIZE(files), &p);
	trace_bytes_release(made, ARRAY_SIZE(kinds));
	trace_bytes_release(wrapped, ARRAY_SIZE(kinds));
	return 0;
}

/* ---- Damage ---- */

struct dice {
	uint64_t state;
};

static uint64_t roll(struct dice *d, uint64_t sides)
{
	d->state = d->state * 6364136223846793005u + 1442695040888963407u;
	return sides ? (d->state >> 17) % sides : 0;
}

/* Bytes of the file that belong together. */
struct part {
	size_t at, size;
};

static struct part part_within(size_t at, size_t len, size_t size)
{
	if (at >= size)
		return (struct part){0, size};
	return (struct part){at, len && len < size - at ? len : size - at};
}

/* A section that symbols are read from, half of the time; else a header. */
static struct part choose_part(struct dice *d, const uint8_t *data, size_t size)
{
	static const char *const wanted[] = {".debug", ".zdebug", ".eh_frame", ".gnu_debugdata",
					     ".symtab"};
	Elf64_Ehdr header;
	Elf64_Shdr names, h;
	size_t tries = 32;

	memcpy(&header, data, sizeof header);
	if (header.e_shoff > size || (size - header.e_shoff) / sizeof h < header.e_shnum ||
	    header.e_shstrndx >= header.e_shnum || !roll(d, 16))
		return part_within(roll(d, 4) ? 16 : header.e_phoff, 56, size);
	if (!roll(d, 8)) /* one field of a section's header */
		return part_within(header.e_shoff + sizeof h * roll(d, header.e_shnum), sizeof h,
				   size);
	memcpy(&names, data + header.e_shoff + header.e_shstrndx * sizeof h, sizeof names);
	do {
		char name[16] = {0};
		bool fits = false;
		uint64_t at;

		memcpy(&h, data + header.e_shoff + sizeof h * roll(d, header.e_shnum), sizeof h);
		at = names.sh_offset + h.sh_name;
		if (at < size)
			memcpy(name, data + at, size - at < 15 ? size - at : 15);
		for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
			fits |= !strncmp(name, wanted[i], strlen(wanted[i]));
		if ((fits || tries < 2) && h.sh_type != SHT_NOBITS && h.sh_size)
			break;
	} while (--tries);
	return part_within(h.sh_offset, h.sh_size, size);
}

/* Fields are numbers of 1 to 8 bytes, or of LEB128. */
static void change_field(struct dice *d, uint8_t *at, size_t room, size_t of_part)
{
	static const uint64_t odd[] = {0,          1,         0x7f,       0x80,       0xff,
				       0xfff0,     0xffff,    0x7fffffff, 0x80000000, 0xffffffff,
				       UINT64_MAX, INT64_MAX, 1ull << 40};
	static const size_t widths[] = {1, 1, 1, 2, 4, 8};
	size_t width = widths[roll(d, ARRAY_SIZE(widths))];
	uint64_t value = 0;

	if (width > room)
		width = room;
	memcpy(&value, at, width);
	switch (roll(d, 6)) {
	case 0:
		value = odd[roll(d, ARRAY_SIZE(odd))];
		break;
	case 1:
		value += roll(d, 2) ? 1 : UINT64_MAX;
		break;
	case 2: /* it leads to another place there */
		value = roll(d, of_part);
		break;
	case 3:
		value ^= UINT64_C(1) << roll(d, 8 * width);
		break;
	case 4: /* the longest LEB128 */
		memset(at, 0xff, room < 10 ? room : 10);
		at[room < 10 ? room - 1 : 9] = (uint8_t)roll(d, 2);
		return;
	default:
		value = roll(d, UINT64_MAX);
	}
	memcpy(at, &value, width);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	struct dice d = {seed};

	(void)max_size;
	if (size < sizeof(Elf64_Ehdr))
		return size;
	for (uint64_t n = 1 + roll(&d, 4); n; n--) {
		struct part p = choose_part(&d, data, size);
		/* What leads to the rest is at the beginning. */
		size_t at = roll(&d, roll(&d, 3) || p.size < 64 ? p.size : 64), run;

		if (roll(&d, 8)) {
			change_field(&d, data + p.at + at, p.size - at, p.size);
			continue;
		}
		run = 1 + roll(&d, p.size - at < 64 ? p.size - at : 64); /* something twice */
		memmove(data + p.at + at, data + p.at + roll(&d, p.size - run + 1), run);
	}
	return size;
}
