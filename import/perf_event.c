/* SPDX-License-Identifier: MIT */
/* A record's fields have no names and no fixed places: the attributes of its event say which there
 * are, and their order is the kernel's (perf_output_sample() in kernel/events/core.c). So each
 * field is taken or skipped in that order, off the front of the bytes. Other records have some of
 * them at their end (perf_trailer_parse()). The cursor remembers a read beyond the end: one check
 * at the end tells whether the record was whole. */
#include "import/perf_event.h"

#include <stdio.h>
#include <string.h>

#include "lib/array_size.h"

/* Bits of sample_type, in the order of their numbers. */
enum sample_bit {
	S_IP = 1 << 0,
	S_TID = 1 << 1,
	S_TIME = 1 << 2,
	S_ADDR = 1 << 3,
	S_READ = 1 << 4,
	S_CALLCHAIN = 1 << 5,
	S_ID = 1 << 6,
	S_CPU = 1 << 7,
	S_PERIOD = 1 << 8,
	S_STREAM_ID = 1 << 9,
	S_RAW = 1 << 10,
	S_BRANCH_STACK = 1 << 11,
	S_REGS_USER = 1 << 12,
	S_STACK_USER = 1 << 13,
	S_IDENTIFIER = 1 << 16,
};

enum read_bit {
	READ_ENABLED = 1,
	READ_RUNNING = 2,
	READ_ID = 4,
	READ_GROUP = 8,
	READ_LOST = 16,
};

enum branch_bit {
	BRANCH_HW_INDEX = 1 << 17,
	BRANCH_COUNTERS = 1 << 19,
};

enum attr_bit {
	ATTR_EXCLUDE_USER = 1 << 4,
	ATTR_EXCLUDE_KERNEL = 1 << 5,
	ATTR_EXCLUDE_HV = 1 << 6,
	ATTR_PRECISE_SHIFT = 15,
	ATTR_SAMPLE_ID_ALL = 1 << 18,
	ATTR_EXCLUDE_HOST = 1 << 19,
	ATTR_EXCLUDE_GUEST = 1 << 20,
};

enum {
	MODIFIERS_MAX = 12, /* kuhpppHG */
	ATTR_SIZE_MIN = 64, /* PERF_ATTR_SIZE_VER0 */
	ATTR_SIZE_MAX = 4096,
	REGS_ABI_64 = 2,
};

static const char *base_name(const struct perf_attr *a)
{
	static const char *const hardware[] = {"cycles",
					       "instructions",
					       "cache-references",
					       "cache-misses",
					       "branches",
					       "branch-misses",
					       "bus-cycles",
					       "stalled-cycles-frontend",
					       "stalled-cycles-backend",
					       "ref-cycles"};
	static const char *const software[] = {
		"cpu-clock",        "task-clock",   "page-faults",  "context-switches",
		"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
		"emulation-faults", "dummy",        "bpf-output"};

	if (a->type == 0 && a->config < ARRAY_SIZE(hardware))
		return hardware[a->config];
	if (a->type == 1 && a->config < ARRAY_SIZE(software))
		return software[a->config];
	return NULL;
}

static bool excludes_mode(const struct perf_attr *a, uint64_t what) { return a->flags & what; }

/* Modifiers as perf prints them (evsel__add_modifiers, tools/perf/util/evsel.c): the counted modes
 * if some mode is excluded; precision; host or guest if one is excluded. For an event without other
 * modifiers perf before 6.13 excludes guests by itself; then they are not printed. */
static void put_modifiers(const struct perf_attr *a, char out[MODIFIERS_MAX])
{
	bool some = excludes_mode(a, ATTR_EXCLUDE_USER | ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV);
	unsigned precise = a->flags >> ATTR_PRECISE_SHIFT & 3;
	size_t n = 0;

	if (some && !excludes_mode(a, ATTR_EXCLUDE_KERNEL))
		out[n++] = 'k';
	if (some && !excludes_mode(a, ATTR_EXCLUDE_USER))
		out[n++] = 'u';
	if (some && !excludes_mode(a, ATTR_EXCLUDE_HV))
		out[n++] = 'h';
	for (unsigned i = 0; i < precise; i++)
		out[n++] = 'p';
	if (excludes_mode(a, ATTR_EXCLUDE_HOST) || (n && excludes_mode(a, ATTR_EXCLUDE_GUEST))) {
		if (!excludes_mode(a, ATTR_EXCLUDE_HOST))
			out[n++] = 'H';
		if (!excludes_mode(a, ATTR_EXCLUDE_GUEST))
			out[n++] = 'G';
	}
	out[n] = '\0';
}

/* perf's name for an event of which only the attributes are known. */
static void make_name(struct perf_attr *a)
{
	const char *base = base_name(a), *colon;
	char modifiers[MODIFIERS_MAX];

	put_modifiers(a, modifiers);
	colon = *modifiers ? ":" : "";
	if (base)
		snprintf(a->name, sizeof a->name, "%s%s%s", base, colon, modifiers);
	else if (a->type == 4)
		snprintf(a->name, sizeof a->name, "raw 0x%llx%s%s", (unsigned long long)a->config,
			 colon, modifiers);
	else
		snprintf(a->name, sizeof a->name, "type %u config 0x%llx", a->type,
			 (unsigned long long)a->config);
}

bool perf_attr_parse(struct perf_attr *a, struct slice *in)
{
	struct slice head = *in, body;

	*a = (struct perf_attr){.type = slice_u32(&head)};
	a->size = slice_u32(&head);
	if (!a->size)
		a->size = ATTR_SIZE_MIN; /* before there was a size */
	if (head.bad || a->size < ATTR_SIZE_MIN || a->size > ATTR_SIZE_MAX)
		return false;
	body = slice_take(in, a->size);
	if (body.bad)
		return false;
	slice_take(&body, 8);
	a->config = slice_u64(&body);
	slice_take(&body, 8); /* period or frequency */
	a->sample_type = slice_u64(&body);
	a->read_format = slice_u64(&body);
	a->flags = slice_u64(&body);
	slice_take(&body, 8 + 8); /* wakeup, breakpoint type; address or config1 */
	/* Fields of later versions: 0 where the attributes are shorter. */
	slice_take(&body, 8);
	a->branch_sample_type = slice_u64(&body);
	a->regs_user = slice_u64(&body);
	slice_take(&body, 8); /* stack size, clock */
	a->regs_intr = slice_u64(&body);
	make_name(a);
	return true;
}

bool perf_attr_has_branches(const struct perf_attr *a) { return a->sample_type & S_BRANCH_STACK; }

int perf_attr_id_in_sample(const struct perf_attr *a)
{
	static const uint32_t before[] = {S_IP, S_TID, S_TIME, S_ADDR};
	int at = 0;

	if (a->sample_type & S_IDENTIFIER)
		return 0;
	if (!(a->sample_type & S_ID))
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(before); i++)
		at += (a->sample_type & before[i]) != 0;
	return at;
}

int perf_attr_id_in_others(const struct perf_attr *a)
{
	if (!(a->flags & ATTR_SAMPLE_ID_ALL))
		return -1;
	if (a->sample_type & S_IDENTIFIER)
		return 1;
	if (!(a->sample_type & S_ID))
		return -1;
	return 1 + ((a->sample_type & S_CPU) != 0) + ((a->sample_type & S_STREAM_ID) != 0);
}

/* Takes n items of `size` bytes; marks in bad when there are fewer. */
static struct slice take_items(struct slice *in, uint64_t n, size_t size)
{
	return slice_take(in, n > in->len / size ? in->len + 1 : (size_t)n * size);
}

static void skip_read(const struct perf_attr *a, struct slice *in)
{
	uint64_t format = a->read_format, n = 1;
	size_t times = 8 * (((format & READ_ENABLED) != 0) + ((format & READ_RUNNING) != 0));
	size_t item = 8 * (1 + ((format & READ_ID) != 0) + ((format & READ_LOST) != 0));

	if (format & READ_GROUP)
		n = slice_u64(in);
	slice_take(in, times);
	take_items(in, n, item);
}

/* u64 count[0..n-1] follow the entries where the event asks for counters. */
static void take_branches(const struct perf_attr *a, struct slice *in, struct perf_fields *f)
{
	uint64_t n = slice_u64(in);
	struct slice entries, counters = {0};

	f->has_branches = true;
	if (a->branch_sample_type & BRANCH_HW_INDEX)
		f->hw_index = slice_u64(in) + 1; /* all ones: none */
	entries = take_items(in, n, 24);
	if (a->branch_sample_type & BRANCH_COUNTERS)
		counters = take_items(in, n, 8);
	if (in->bad || n > PERF_BRANCHES_MAX) {
		in->bad = true;
		return;
	}
	f->branch_count = (size_t)n;
	for (size_t i = 0; i < n; i++) {
		struct import_branch *b = &f->branches[i];

		b->from = slice_u64(&entries);
		b->to = slice_u64(&entries);
		b->flags = slice_u64(&entries);
		b->counters = counters.len ? slice_u64(&counters) : 0;
	}
}

/* Registers by their number in arch/x86/include/uapi/asm/perf_regs.h. */
static const unsigned regs_by_number[] = {
#define AT(reg) (unsigned)(offsetof(struct bt_regs, reg) / sizeof(uint64_t))
	AT(rax),    AT(rbx), AT(rcx), AT(rdx), AT(rsi), AT(rdi), AT(rbp), AT(rsp), AT(rip),
	AT(eflags), AT(cs),  AT(ss),  AT(ds),  AT(es),  AT(fs),  AT(gs),  AT(r8),  AT(r9),
	AT(r10),    AT(r11), AT(r12), AT(r13), AT(r14), AT(r15)
#undef AT
};

static void take_regs(struct slice *in, uint64_t mask, struct perf_fields *f)
{
	uint64_t abi = slice_u64(in);

	f->has_regs = abi == REGS_ABI_64;
	for (unsigned i = 0; abi && i < 64; i++) {
		uint64_t value;

		if (!(mask >> i & 1))
			continue;
		value = slice_u64(in);
		if (i < ARRAY_SIZE(regs_by_number))
			bt_regs_set(&f->regs, regs_by_number[i], value);
	}
}

static void take_stack(struct slice *in, struct perf_fields *f)
{
	uint64_t size = slice_u64(in), used;

	if (!size)
		return;
	f->stack = take_items(in, size, 1);
	used = slice_u64(in);
	if (used < f->stack.len)
		f->stack.len = (size_t)used;
}

static void take_id(struct slice *in, struct perf_fields *f)
{
	f->id.pid = slice_u32(in);
	f->id.tid = slice_u32(in);
}

static void take_cpu(struct slice *in, struct perf_fields *f)
{
	f->cpu = slice_u32(in) + 1;
	slice_take(in, 4);
}

bool perf_sample_parse(const struct perf_attr *a, struct slice body, struct perf_fields *f)
{
	uint64_t type = a->sample_type;
	struct slice *in = &body;

	memset(f, 0, offsetof(struct perf_fields, branches));
	if (type & S_IDENTIFIER)
		slice_take(in, 8);
	if (type & S_IP)
		f->ip = slice_u64(in);
	if (type & S_TID)
		take_id(in, f);
	if (type & S_TIME)
		f->time = slice_u64(in);
	slice_take(in, 8 * (((type & S_ADDR) != 0) + ((type & S_ID) != 0) +
			    ((type & S_STREAM_ID) != 0)));
	if (type & S_CPU)
		take_cpu(in, f);
	if (type & S_PERIOD)
		slice_take(in, 8);
	if (type & S_READ)
		skip_read(a, in);
	if (type & S_CALLCHAIN)
		take_items(in, slice_u64(in), 8);
	if (type & S_RAW)
		slice_take(in, slice_u32(in));
	if (type & S_BRANCH_STACK)
		take_branches(a, in, f);
	if (type & S_REGS_USER)
		take_regs(in, a->regs_user, f);
	if (type & S_STACK_USER)
		take_stack(in, f);
	return !in->bad; /* the rest is not read */
}

bool perf_trailer_parse(const struct perf_attr *a, struct slice body, struct perf_fields *f)
{
	static const uint32_t fields[] = {S_TID, S_TIME, S_ID, S_STREAM_ID, S_CPU, S_IDENTIFIER};
	uint64_t type = a->sample_type;
	size_t size = 0;

	memset(f, 0, offsetof(struct perf_fields, branches));
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		size += type & fields[i] ? 8 : 0;
	if (!(a->flags & ATTR_SAMPLE_ID_ALL) || body.len < size)
		return false;
	slice_take(&body, body.len - size);
	if (type & S_TID)
		take_id(&body, f);
	if (type & S_TIME)
		f->time = slice_u64(&body);
	slice_take(&body, 8 * (((type & S_ID) != 0) + ((type & S_STREAM_ID) != 0)));
	if (type & S_CPU)
		take_cpu(&body, f);
	return true;
}

uint64_t perf_record_time(const struct perf_attr *a, uint32_t type, struct slice body)
{
	uint64_t bits = a->sample_type;
	size_t from_end = 0;

	if (!(bits & S_TIME))
		return 0;
	if (type == PERF_SAMPLE) {
		slice_take(&body, 8 * (((bits & S_IDENTIFIER) != 0) + ((bits & S_IP) != 0) +
				       ((bits & S_TID) != 0)));
		return slice_u64(&body);
	}
	if (!(a->flags & ATTR_SAMPLE_ID_ALL))
		return 0;
	from_end = 8 * (1 + ((bits & S_ID) != 0) + ((bits & S_STREAM_ID) != 0) +
			((bits & S_CPU) != 0) + ((bits & S_IDENTIFIER) != 0));
	if (body.len < from_end)
		return 0;
	slice_take(&body, body.len - from_end);
	return slice_u64(&body);
}
