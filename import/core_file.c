/* SPDX-License-Identifier: MIT */
/* A core file is notes and segments. The notes have the threads with their registers, the signal,
 * the mapped files and the process's names; segments are the dumped mappings (core_map.c). The
 * trace made from them has one snapshot: the mappings, then the signal and a snapshot of the first
 * thread, which received it, then for each thread its registers, the code at its instruction
 * pointer, its stack (core_stack.c) and memory near register values.
 *
 * Code that was not dumped is read from the mapped file, if it is still the same file.
 *
 * Layouts: elf(5), core(5); struct elf_prstatus and elf_prpsinfo of the kernel's
 * include/linux/elfcore.h and uapi/linux/elfcore.h for x86-64. */
#include "import/core_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "import/code_file.h"
#include "import/core_private.h"
#include "lib/abort_message.h"
#include "lib/grow.h"
#include "lib/page.h"
#include "lib/stack_share.h"

enum {
	ELF_HEADER = 64,
	SEGMENT_HEADER = 56,
	NOTE_HEADER = 12,
	TYPE_CORE = 4,
	MACHINE_X86_64 = 62,
	COUNT_ELSEWHERE = 0xffff,
	SEGMENT_LOAD = 1,
	SEGMENT_NOTE = 4,
	NOTE_PRSTATUS = 1,
	NOTE_PRPSINFO = 3,
	NOTE_AUXV = 6,
	NOTE_FILE = 0x46494c45,
	NOTE_SIGINFO = 0x53494749,
	PRSTATUS_SIZE = 336,
	PRPSINFO_SIZE = 136,
	AUX_EXECFN = 31, /* the kernel puts that name at the top of the initial thread's stack */
	AUX_VDSO = 33,   /* AT_SYSINFO_EHDR */
	THREADS_MAX = 1 << 16,
	NEAR_BEFORE = 64, /* bytes kept before and behind an address that a register holds */
	NEAR_AFTER = 192,
	MESSAGE_MAX = 1024,
	SIG_ABRT = 6,
};

/* Signals that end a process with a core file (signal(7)): QUIT, ILL, TRAP, ABRT, BUS, FPE, SEGV,
 * XCPU, XFSZ, SYS. */
#define DUMPING                                                                               \
	(1ull << 3 | 1ull << 4 | 1ull << 5 | 1ull << 6 | 1ull << 7 | 1ull << 8 | 1ull << 11 | \
	 1ull << 24 | 1ull << 25 | 1ull << 31)

static bool is_big_endian(struct slice bytes) { return bytes.at[5] == 2; }

bool core_file_is(struct slice bytes)
{
	return bytes.len >= ELF_HEADER && !memcmp(bytes.at, "\177ELF", 4) &&
	       bytes.at[is_big_endian(bytes) ? 17 : 16] == TYPE_CORE;
}

/* The machine of the core file if it is not x86-64; else NULL. */
static const char *other_machine(struct slice bytes)
{
	struct slice machine = bytes;

	slice_take(&machine, 18);
	if (is_big_endian(bytes))
		return "a big-endian machine";
	if (bytes.at[4] != 2)
		return "a 32-bit process";
	return slice_u16(&machine) != MACHINE_X86_64 ? "a process of another kind of machine"
						     : NULL;
}

struct slice core_part(struct slice all, uint64_t offset, uint64_t size)
{
	if (offset > all.len)
		return (struct slice){.bad = true};
	slice_take(&all, (size_t)offset);
	if (size > all.len)
		size = all.len; /* a core that was cut off */
	return slice_take(&all, (size_t)size);
}

struct slice core_string(struct slice s)
{
	const void *end = s.len ? memchr(s.at, 0, s.len) : NULL;

	if (end)
		s.len = (size_t)((const uint8_t *)end - s.at);
	return s;
}

/* --- notes --- */

static int take_status(struct core *c, struct slice desc)
{
	struct core_thread *t;

	if (desc.len < PRSTATUS_SIZE || c->thread_count == THREADS_MAX)
		return 0;
	t = array_grow(c->threads, c->thread_count, &c->thread_cap, sizeof *t);
	if (!t)
		return bt_no_memory(c->err, "the import");
	c->threads = t;
	t = &c->threads[c->thread_count++];
	slice_take(&desc, 12);
	t->signal = slice_u16(&desc);
	slice_take(&desc, 18);
	t->tid = slice_u32(&desc);
	slice_take(&desc, 76);
	for (unsigned i = 0; i < BT_REG_COUNT; i++)
		bt_regs_set(&t->regs, i, slice_u64(&desc));
	return 0;
}

static void take_process(struct core *c, struct slice desc)
{
	if (desc.len < PRPSINFO_SIZE)
		return;
	slice_take(&desc, 24);
	c->pid = slice_u32(&desc);
	slice_take(&desc, 12);
	c->name = core_string(slice_take(&desc, 16));
	c->arguments = core_string(slice_take(&desc, 80));
	while (c->arguments.len && c->arguments.at[c->arguments.len - 1] == ' ')
		c->arguments.len--; /* the kernel puts one behind each argument */
}

static void take_auxv(struct core *c, struct slice desc)
{
	while (desc.len >= 16) {
		uint64_t type = slice_u64(&desc), value = slice_u64(&desc);

		if (type == AUX_VDSO)
			c->vdso = value;
		if (type == AUX_EXECFN)
			c->on_stack = value;
	}
}

static int take_note(struct core *c, uint32_t type, struct slice desc)
{
	switch (type) {
	case NOTE_PRSTATUS:
		return take_status(c, desc);
	case NOTE_PRPSINFO:
		take_process(c, desc);
		break;
	case NOTE_AUXV:
		take_auxv(c, desc);
		break;
	case NOTE_FILE:
		c->files = desc;
		break;
	case NOTE_SIGINFO:
		if (!c->siginfo.len) /* the first thread's */
			c->siginfo = desc;
		break;
	default:
		break;
	}
	return 0;
}

static int take_notes(struct core *c, struct slice notes)
{
	int rc = 0;

	while (!rc && notes.len >= NOTE_HEADER) {
		uint32_t name_size = slice_u32(&notes), size = slice_u32(&notes),
			 type = slice_u32(&notes);
		struct slice name = slice_take(&notes, ((uint64_t)name_size + 3) & ~3ull), desc;

		desc = slice_take(&notes, size);
		slice_take(&notes, notes.len < (-size & 3u) ? notes.len : -size & 3u);
		if (notes.bad)
			break;
		/* Notes of other owners have numbers of their own; "LINUX" ones are extended
		 * registers. */
		if (name_size >= 4 && !memcmp(name.at, "CORE", 4))
			rc = take_note(c, type, desc);
	}
	return rc;
}

/* --- segments --- */

/* A segment's part of the file. */
static struct slice file_part(struct core *c, uint64_t offset, uint64_t size)
{
	if (size && size <= UINT64_MAX - offset && offset + size > c->whole)
		c->whole = offset + size;
	return core_part(c->all, offset, size);
}

static void add_segment(struct core *c, struct slice row)
{
	struct core_segment *s = &c->segments[c->segment_count];
	uint64_t offset, filed, size;
	uint32_t flags;

	slice_take(&row, 4);
	flags = slice_u32(&row);
	offset = slice_u64(&row);
	*s = (struct core_segment){.start = slice_u64(&row)};
	slice_take(&row, 8);
	filed = slice_u64(&row);
	size = slice_u64(&row);
	s->prot = core_protection(flags);
	s->end = s->start + size;
	s->bytes = file_part(c, offset, filed < size ? filed : size);
	if (s->bytes.bad)
		s->bytes = (struct slice){0};
	if (s->end > s->start)
		c->segment_count++;
}

/* More segments than 16 bits count: their number is in sh_info of the first section header (elf(5),
 * PN_XNUM). */
static uint32_t count_of_sections(const struct core *c, uint64_t offset)
{
	struct slice section = core_part(c->all, offset, 64);

	slice_take(&section, 44);
	return slice_u32(&section);
}

static int read_segments(struct core *c)
{
	struct slice head = c->all, table;
	uint64_t offset, sections;
	uint32_t size, count;
	int rc = 0;

	slice_take(&head, 32);
	offset = slice_u64(&head);
	sections = slice_u64(&head);
	slice_take(&head, 6);
	size = slice_u16(&head);
	count = slice_u16(&head);
	if (count == COUNT_ELSEWHERE)
		count = count_of_sections(c, sections);
	table = core_part(c->all, offset, (uint64_t)count * SEGMENT_HEADER);
	if (size != SEGMENT_HEADER || table.bad || table.len < (size_t)count * SEGMENT_HEADER)
		return bt_fail_at(
			c->err, BT_E_CORRUPT, 32,
			"core file: its program headers are damaged or lie outside the file");
	c->segment_cap = (size_t)count + 1;
	c->segments = calloc(c->segment_cap, sizeof *c->segments);
	if (!c->segments)
		return bt_no_memory(c->err, "the import");
	while (table.len && !rc) {
		struct slice row = slice_take(&table, SEGMENT_HEADER), fields = row;
		uint32_t type = slice_u32(&fields);

		if (type == SEGMENT_LOAD)
			add_segment(c, row);
		if (type == SEGMENT_NOTE) {
			slice_take(&fields, 4);
			offset = slice_u64(&fields);
			slice_take(&fields, 16);
			rc = take_notes(c, file_part(c, offset, slice_u64(&fields)));
		}
	}
	return rc;
}

/* --- the trace --- */

static void put_event(struct core *c, enum bt_record_kind kind, const void *body)
{
	struct trace_writer *w = importer_writer(c->im);

	if (w)
		trace_writer_event(w, IMPORTER_UNIT, kind, body);
}

static uint64_t next_seq(struct core *c)
{
	struct trace_writer *w = importer_writer(c->im);

	return w ? trace_writer_next_seq(w) : 0;
}

static void put_maps(struct core *c)
{
	for (size_t i = 0; i < c->segment_count; i++) {
		const struct core_segment *s = &c->segments[i];
		struct import_map map = {.pid = c->pid,
					 .start = s->start,
					 .end = s->end,
					 .offset = s->offset_in_file,
					 .prot = s->prot,
					 .path = s->path,
					 .build_id = s->build_id};

		importer_map(c->im, &map);
	}
}

/* The page of code at addr: dumped, or of the file that was mapped. */
static void put_code(struct core *c, uint64_t addr, uint32_t epoch)
{
	uint64_t page = page_down(addr);
	const struct core_segment *s = core_map_at(c, page);
	struct bt_record_code body = {.space = c->space, .epoch = epoch, .addr = page};
	struct code_file file = {.mapping = NULL};
	struct slice bytes = core_map_memory(c, page, BT_PAGE);

	if (!s || !(s->prot & BT_PROT_EXEC))
		return;
	if (!bytes.len) {
		code_file_open(&file, s->path, s->build_id);
		bytes = code_file_at(&file, s->offset_in_file + (page - s->start), BT_PAGE);
	}
	if (bytes.len && importer_writer(c->im)) {
		body.object = trace_writer_object(importer_writer(c->im), bytes.at, bytes.len);
		body.seq = next_seq(c);
		put_event(c, BT_RECORD_CODE, &body);
	}
	code_file_close(&file);
}

/* Returns the bytes that were kept. */
static struct slice put_memory(struct core *c, uint64_t start, uint64_t end)
{
	struct bt_record_memory body = {.snapshot = 1, .space = c->space, .addr = start};

	if (end > start)
		body.bytes = core_map_memory(c, start, end - start);
	if (!body.bytes.len || body.bytes.len > c->room)
		return (struct slice){0};
	c->room -= body.bytes.len;
	body.seq = next_seq(c);
	put_event(c, BT_RECORD_MEMORY, &body);
	return body.bytes;
}

static bool range_contains(struct core_range r, uint64_t addr)
{
	return addr >= r.start && addr < r.end;
}

/* Its stack, and where that is one for signals, the one that a signal interrupted, with the code
 * there: how it got there begins in these. */
static struct core_range put_stacks(struct core *c, const struct core_thread *t, uint32_t epoch,
				    uint64_t most)
{
	struct core_range r = core_stack_of(c, t->regs.rsp, most), other;
	uint64_t sp, at;

	if (!core_stack_interrupted(put_memory(c, r.start, r.end), r.start, t->regs.rsp, &sp, &at))
		return r;
	other = core_stack_of(c, sp, most);
	/* Both may lie in one segment, one above the other. */
	put_memory(c, range_contains(r, other.start) ? r.end : other.start, other.end);
	put_code(c, at, epoch);
	return r;
}

/* The share of each thread but the first, which received the signal. */
static uint64_t share_of_stacks(const struct core *c)
{
	size_t n = c->thread_count ? c->thread_count - 1 : 0;
	uint64_t *sizes = n ? malloc(n * sizeof *sizes) : NULL, share = STACK_SHARE_LEAST;

	for (size_t i = 0; sizes && i < n; i++) {
		struct core_range stack =
			core_stack_of(c, c->threads[i + 1].regs.rsp, STACK_SHARE_MOST);

		sizes[i] = stack.end - stack.start;
	}
	if (sizes)
		share = stack_share(sizes, n);
	free(sizes);
	return share;
}

/* most: the bytes kept of its stack. */
static void put_thread_memory(struct core *c, const struct core_thread *t, uint32_t epoch,
			      uint64_t most)
{
	struct core_range stack = put_stacks(c, t, epoch, most);

	for (unsigned i = 0; i < BT_REG_COUNT; i++) {
		uint64_t addr = bt_regs_get(&t->regs, i);
		const struct core_segment *s = core_map_at(c, addr);

		if (bt_reg_info[i].dwarf < 0 || !s || range_contains(stack, addr))
			continue;
		put_memory(c, addr - s->start < NEAR_BEFORE ? s->start : addr - NEAR_BEFORE,
			   s->end - addr < NEAR_AFTER ? s->end : addr + NEAR_AFTER);
	}
}

static struct bt_point point_of(const struct core_thread *t)
{
	return (struct bt_point){.tick = UINT64_MAX, .rip = t->regs.rip, .rcx = t->regs.rcx};
}

struct libc_memory {
	const struct core *c;
	struct code_file file; /* the part that was not dumped */
	struct slice path;
};

static size_t read_libc(void *arg, uint64_t addr, void *to, size_t n)
{
	const struct libc_memory *m = arg;
	const struct core_segment *s = core_map_at(m->c, addr);
	struct slice bytes = core_map_memory(m->c, addr, n);

	if (!bytes.len && s && s->path.len == m->path.len &&
	    !memcmp(s->path.at, m->path.at, m->path.len))
		bytes = code_file_at(&m->file, s->offset_in_file + (addr - s->start),
				     n < s->end - addr ? n : s->end - addr);
	if (bytes.len > n)
		bytes.len = n;
	if (bytes.len)
		memcpy(to, bytes.at, bytes.len);
	return bytes.len;
}

static void find_message(const struct core *c, char text[MESSAGE_MAX])
{
	char path[MESSAGE_MAX];

	*text = '\0';
	for (size_t i = 0; i < c->segment_count && !*text; i++) {
		const struct core_segment *s = &c->segments[i];
		struct libc_memory m = {.c = c, .path = s->path};

		if (s->offset_in_file || s->path.len >= sizeof path || !s->path.len)
			continue;
		memcpy(path, s->path.at, s->path.len);
		path[s->path.len] = '\0';
		if (!bt_is_libc(path))
			continue;
		code_file_open(&m.file, s->path, s->build_id);
		bt_abort_message(read_libc, &m, s->start, text, MESSAGE_MAX);
		code_file_close(&m.file);
	}
}

/* Returns the seq of the signal's event; 0 when none ended the process. */
static uint64_t put_signal(struct core *c, uint32_t task, const struct core_thread *t)
{
	struct slice info = c->siginfo;
	struct bt_record_signal body = {.task = task,
					.point = point_of(t),
					.signo = slice_u32(&info),
					.action = BT_ACTION_CORE};
	char message[MESSAGE_MAX];

	slice_take(&info, 4);
	body.code = slice_u32(&info);
	slice_take(&info, 4);
	/* Codes above 0 are the kernel's and have an address; others have sender and user. */
	body.sync = !info.bad && (int32_t)body.code > 0;
	if (body.sync) {
		body.addr = slice_u64(&info);
	} else {
		body.sender = slice_u32(&info);
		body.uid = slice_u32(&info);
	}
	if (info.bad)
		body = (struct bt_record_signal){.task = task,
						 .point = point_of(t),
						 .signo = t->signal,
						 .code = BT_SIGNAL_CODE_UNTOLD,
						 .action = BT_ACTION_CORE};
	/* A debugger can write a core file of a process that lives on, with the signal that stopped
	 * it. */
	if (!(body.signo < 64 && DUMPING >> body.signo & 1))
		return 0;
	if (body.signo == SIG_ABRT) {
		find_message(c, message);
		body.message = bt_str(message);
	}
	body.seq = next_seq(c);
	put_event(c, BT_RECORD_SIGNAL, &body);
	importer_ended(c->im, BT_EXIT_SIGNAL, body.signo);
	return body.seq;
}

static void put_thread(struct core *c, uint32_t task, const struct core_thread *t, uint32_t epoch)
{
	struct bt_record_thread body = {.seq = next_seq(c),
					.snapshot = 1,
					.task = task,
					.point = point_of(t),
					.epoch = epoch,
					.regs = t->regs};

	put_event(c, BT_RECORD_THREAD, &body);
}

/* named: the number of mappings without a segment. */
static void put_trace(struct core *c, int64_t named)
{
	const uint64_t share = share_of_stacks(c);
	uint32_t epoch = 1, task = 0;
	struct bt_record_snapshot snap = {.snapshot = 1};

	put_maps(c);
	for (size_t i = 0; i < c->thread_count && !importer_failed(c->im); i++) {
		const struct core_thread *t = &c->threads[i];
		struct import_thread_id id = {c->pid, t->tid};

		importer_comm(c->im, id, 0, c->name, false);
		task = importer_task(c->im, id, &c->space, &epoch);
		if (!i) {
			snap.event = put_signal(c, task, t);
			snap.seq = next_seq(c);
			snap.task = task;
			snap.kind = snap.event ? BT_SNAPSHOT_FATAL : BT_SNAPSHOT_IMPORT;
			snap.point = point_of(t);
			snap.space = c->space;
			snap.epoch = epoch;
			put_event(c, BT_RECORD_SNAPSHOT, &snap);
		}
		put_thread(c, task, t, epoch);
		put_code(c, t->regs.rip, epoch);
		put_thread_memory(c, t, epoch, t == c->threads ? STACK_SHARE_MOST : share);
	}
	importer_note(c->im, "imported from a core file: it has no branch history");
	if (named)
		importer_note(
			c->im,
			"mappings of files that the core file names and does not hold: %" PRId64
			"; they are taken to be as the files' headers say",
			named);
	if (c->whole > c->all.len)
		importer_warn(c->im,
			      "the core file is cut off: %zu of %" PRIu64
			      " bytes are there; memory and stacks are missing",
			      c->all.len, c->whole);
}

int core_file_import(struct importer *im, struct slice bytes, struct bt_error *err)
{
	struct core c = {.im = im, .all = bytes, .err = err, .room = bytes.len};
	const char *other = other_machine(bytes);
	int64_t rc;

	if (other)
		return bt_fail_at(err, BT_E_UNSUPPORTED, 4,
				  "core file of %s: only those of x86-64 processes can be imported",
				  other);
	rc = read_segments(&c);
	if (!rc && !c.thread_count)
		rc = bt_fail_at(err, BT_E_CORRUPT, bytes.len, "core file: it holds no thread");
	if (!rc)
		rc = core_map_complete(&c);
	if (rc >= 0) {
		if (!c.pid)
			c.pid = c.threads[0].tid;
		importer_header(im)->argv = c.arguments;
		importer_header(im)->program = c.name;
		put_trace(&c, rc);
	}
	free(c.segments);
	free(c.threads);
	return rc < 0 ? (int)rc : 0;
}
