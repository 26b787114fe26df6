/* SPDX-License-Identifier: MIT */
/* Text as perf script prints it, with every set of fields before the branches, of each version
 * whose text is another: what is read is what was printed. The formats are those of
 * tools/perf/builtin-script.c of Linux 6.1 to 6.15. The importer behind it is this file's. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/brstack_text.h"

#include "lib/array_size.h"
#include "lib/buf.h"
#include "tests/unit/unit.h"

/* --- an importer that keeps what it is given --- */

enum {
	SAMPLES_MAX = 32,
	BRANCHES_KEPT = 4,
	NAME_LEN = 64,
};

struct kept {
	struct import_sample sample;
	struct import_branch branches[BRANCHES_KEPT];
	char comm[NAME_LEN], event[NAME_LEN];
};

struct importer {
	struct bt_record_header header;
	struct kept kept[SAMPLES_MAX];
	size_t count;
	char comm[NAME_LEN];
};

struct bt_record_header *importer_header(struct importer *im) { return &im->header; }

void importer_comm(struct importer *im, struct import_thread_id id, uint64_t time,
		   struct slice comm, bool exec)
{
	(void)id;
	(void)time;
	assert_false(exec);
	snprintf(im->comm, sizeof im->comm, "%.*s", (int)comm.len, (const char *)comm.at);
}

void importer_sample(struct importer *im, const struct import_sample *s)
{
	struct kept *k = &im->kept[im->count++];

	assert_true(im->count <= SAMPLES_MAX && s->branch_count <= BRANCHES_KEPT);
	k->sample = *s;
	if (s->branch_count)
		memcpy(k->branches, s->branches, s->branch_count * sizeof *s->branches);
	snprintf(k->comm, sizeof k->comm, "%s", im->comm);
	snprintf(k->event, sizeof k->event, "%.*s", (int)s->event.len,
		 s->event.len ? (const char *)s->event.at : "");
	*im->comm = '\0';
}

bool importer_failed(const struct importer *im)
{
	(void)im;
	return false;
}

/* --- perf script --- */

enum field {
	COMM = 1 << 0,
	PID = 1 << 1,
	TID = 1 << 2,
	CPU = 1 << 3,
	MISC = 1 << 4,
	TOD = 1 << 5,
	TIME = 1 << 6,
	PERIOD = 1 << 7,
	EVENT = 1 << 8,
	STARTS = 1 << 9, /* one more than every set of those */
	FLAGS = 1 << 9,
	ADDR = 1 << 10,
	DATA_SRC = 1 << 11,
	WEIGHT = 1 << 12,
	CGROUP = 1 << 13,
	IP = 1 << 14,
	SYM = 1 << 15,
	DSO = 1 << 16,
	SRCLINE = 1 << 17,
	IREGS = 1 << 18,
	INSN = 1 << 19,
	BRSTACKINSN = 1 << 20,
	PHYS_ADDR = 1 << 21,
	PAGE_SIZE = 1 << 22,
	IPC = 1 << 23,
	SRCCODE = 1 << 24,
	BRCNTR = 1 << 25,
	METRIC = 1 << 26,
	DSOFF = 1 << 27,
};

/* How a version prints. */
struct version {
	const char *name;
	int id_columns;
	bool blank_before_file, speculation, is_ns; /* the last: with --ns */
};

static const struct version versions[] = {
	{.name = "6.1", .id_columns = 5},
	{.name = "between, --ns",
	 .id_columns = 5,
	 .blank_before_file = true,
	 .speculation = true,
	 .is_ns = true},
	{.name = "6.12", .id_columns = 7, .blank_before_file = true, .speculation = true},
};

struct made {
	const char *comm, *event;
	int pid, tid;
	unsigned cpu;
	uint64_t time, period, ip, addr;
	struct {
		uint64_t from, to;
		const char *event, *type, *speculation;
		unsigned cycles;
		uint64_t flags;
	} branches[2];
};

#define NS(s, us) ((s)*UINT64_C(1000000000) + (us)*UINT64_C(1000))

static const struct made samples[] = {
	{"a.out",
	 "cycles:u",
	 5595,
	 5595,
	 3,
	 NS(914937, 301714),
	 168,
	 0x5629ec742901,
	 0x7ffc12345678,
	 {{0x5629ec7428f4, 0x5629ec742901, "P", "", "-", 19, 2 | 19 << 4},
	  {0x5629ec742967, 0x5629ec7428d0, "M", "", "-", 0, 1}}},
	{"worker 12",
	 "cycles:u",
	 5596,
	 5599,
	 12,
	 NS(914937, 301715),
	 1000003,
	 0x401136,
	 0x10,
	 {{0x401120, 0x401130, "-", "COND", "-", 1, 1 << 4 | 1 << 20}, {0, 0, "-", "", "-", 0, 0}}},
	{"kworker/3:0",
	 "cycles:u",
	 9,
	 9,
	 3,
	 NS(914938, 0),
	 77,
	 0xffffffff81000010,
	 0,
	 {{0xffffffff81000000, 0xffffffff8100000a, "P", "ERET", "NON_SPEC_CORRECT_PATH", 65535,
	   2 | 65535u << 4 | 11 << 20 | 2 << 24},
	  {0xffffffff81001100, 0xffffffff81000000, "P", "FAULT_DATA", "-", 0,
	   2 | 15 << 20 | 1 << 26}}},
	{"x 1/2 [3]",
	 "cycles:u",
	 4194303,
	 4194303,
	 130,
	 NS(914938, 999999),
	 1,
	 0x1000,
	 0x1000,
	 {{0x1000, 0x1010, "P", "", "-", 0, 2}, {0x1010, 0x1000, "P", "", "-", 0, 2}}},
};
enum { SAMPLES = ARRAY_SIZE(samples) };

static const char *const files[] = {"/bin/x", "/tmp/my app (deleted)", "[kernel.kallsyms]",
				    "//anon"};

static void put(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct buf *b, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	assert_in_range(n, 0, (int)sizeof text - 1);
	buf_put(b, text, (size_t)n);
}

static void put_start(struct buf *b, unsigned set, bool chain, const struct version *v,
		      const struct made *s)
{
	int w = v->id_columns;

	if (set & COMM)
		put(b, chain && set & IP ? "%s " : "%16s ", s->comm);
	if ((set & PID) && (set & TID))
		put(b, "%*d/%-*d ", w, s->pid, w, s->tid);
	else if (set & (PID | TID))
		put(b, "%*d ", w, set & PID ? s->pid : s->tid);
	if (set & CPU)
		put(b, "[%03u] ", s->cpu);
	if (set & MISC)
		put(b, "%-6s", s->ip >> 63 ? "K" : "U");
	if (set & TOD)
		put(b, "2026-11-27 07:58:09.123456 ");
	if (set & TIME)
		put(b, v->is_ns ? "%5u.%06u000: " : "%5u.%06u: ", (unsigned)(s->time / 1000000000),
		    (unsigned)(s->time / 1000 % 1000000));
	if (set & PERIOD)
		put(b, "%10llu ", (unsigned long long)s->period);
	if (set & EVENT)
		put(b, "%10s: ", s->event);
	if (set & FLAGS)
		put(b, "  %-21s ", "");
}

static void put_file(struct buf *b, unsigned set, bool blank, const char *file)
{
	if (set & (DSO | DSOFF))
		put(b, set & DSOFF ? "%s(%s+0x1136)" : "%s(%s)", blank ? " " : "", file);
}

static void put_sym(struct buf *b, unsigned set, const char *file)
{
	if (set & SYM)
		put(b, " operator new(unsigned long)+0x10");
	put_file(b, set, true, file);
}

static void put_ip(struct buf *b, unsigned set, bool chain, const struct made *s, const char *file)
{
	put(b, chain ? "\n" : " ");
	for (unsigned i = 0; i <= 2 * chain; i++) {
		put(b, chain ? "\t%16llx" : "%16llx", (unsigned long long)(s->ip + i));
		put_sym(b, set, file);
		if (set & SRCLINE)
			put(b, "\n  x y.c:12");
		if (chain)
			put(b, "\n");
	}
}

static void put_branches(struct buf *b, unsigned set, const struct version *v, const struct made *s,
			 const char *file)
{
	for (unsigned i = 0; i < 2; i++) {
		put(b, " 0x%llx", (unsigned long long)s->branches[i].from);
		put_file(b, set, v->blank_before_file, file);
		put(b, "/0x%llx", (unsigned long long)s->branches[i].to);
		put_file(b, set, v->blank_before_file, file);
		put(b, "/%s/-/-/%u/%s", s->branches[i].event, s->branches[i].cycles,
		    s->branches[i].type);
		put(b, v->speculation ? "/%s " : " ", s->branches[i].speculation);
	}
}

static void put_rest(struct buf *b, unsigned set, bool chain, const struct version *v,
		     const struct made *s, const char *file)
{
	if (set & ADDR) {
		put(b, "%16llx", (unsigned long long)s->addr);
		put_sym(b, set, file);
	}
	if (set & DATA_SRC)
		put(b, "%-90s",
		    "        10668842 |OP LOAD|LVL L1 or L1 hit|SNP None|TLB L1 or L2 hit|LCK "
		    "No|BLK  N/A");
	if (set & WEIGHT)
		put(b, "%16u%16u", 168, 12);
	if (set & CGROUP)
		put(b, " /user.slice");
	if (set & IP)
		put_ip(b, set, chain, s, file);
	if (set & IREGS)
		put(b, " ABI:2    AX:0x0    IP:0x401136 ");
	put_branches(b, set, v, s, file);
	if (set & INSN)
		put(b, " ilen: 5 insn: e8 00 00 00 00\t\tcallq 0x401136");
	if (set & BRSTACKINSN)
		put(b,
		    "\n\tmain+16:\n\t%016llx\tinsn: 0f 05 \n\t%016llx\tinsn: 75 f0                 "
		    "    \t# PRED 19 cycles [19]\n\t... not reaching sample ...\n",
		    (unsigned long long)s->branches[1].to, (unsigned long long)s->branches[0].from);
	if (set & PHYS_ADDR)
		put(b, "%16llx", 0x12345678ull);
	if (set & PAGE_SIZE)
		put(b, " 4K N/A");
	if (set & IPC)
		put(b, " \t IPC: 0.50 (12/24) ");
	put(b, "\n");
	if (set & SRCCODE)
		put(b, "|12       x = 0x10/0x20;\n");
	if (chain)
		put(b, "\n");
}

static void put_sample(struct buf *b, unsigned set, bool chain, const struct version *v, size_t n)
{
	if (set & BRCNTR)
		put(b,
		    "# Branch counter abbr list:\n# branch-misses = B\n# '-' No event occurs\n\n");
	put_start(b, set, chain, v, &samples[n]);
	put_rest(b, set, chain, v, &samples[n], files[n]);
	if (set & METRIC) {
		put_start(b, set & ~(unsigned)(PERIOD | EVENT | FLAGS), chain, v, &samples[n]);
		put(b, "\tmetric:    1.23 insn per cycle\n");
	}
}

/* --- what is read --- */

/* The field that was read as another; NULL: all are right. */
static const char *wrong_field(const struct kept *k, unsigned set, const struct version *v,
			       const struct made *s)
{
	const struct import_sample *got = &k->sample;
	uint64_t mask = v->speculation ? UINT64_MAX : ~(UINT64_C(3) << IMPORT_SPEC_SHIFT);

	if (strcmp(k->comm, set & COMM ? s->comm : ""))
		return "comm";
	if (strcmp(k->event, set & EVENT ? s->event : ""))
		return "event";
	if ((int)got->id.pid != (set & PID ? s->pid : set & TID ? s->tid : 0))
		return "pid";
	if ((int)got->id.tid != (set & TID ? s->tid : set & PID ? s->pid : 0))
		return "tid";
	if (got->cpu != (set & CPU ? s->cpu + 1 : 0))
		return "cpu";
	if (got->time != (set & TIME ? s->time : 0))
		return "time";
	if (got->ip != (set & IP ? s->ip : 0))
		return "ip";
	for (unsigned i = 0; i < 2; i++)
		if (got->branch_count != 2 || k->branches[i].from != s->branches[i].from ||
		    k->branches[i].to != s->branches[i].to ||
		    k->branches[i].flags != (s->branches[i].flags & mask))
			return "brstack";
	return NULL;
}

static int read_text(struct importer *im, const struct buf *b, struct bt_error *err)
{
	*im = (struct importer){.count = 0};
	*err = (struct bt_error){0};
	assert_false(b->failed);
	assert_true(brstack_text_is(slice_of(b->data, b->len)));
	return brstack_text_import(im, slice_of(b->data, b->len), err);
}

/* Not every set is one that perf prints: functions and files are those of an address, source lines
 * of ip. */
static bool is_printed(unsigned set)
{
	return !(set & SYM && !(set & (IP | ADDR))) && !(set & SRCLINE && !(set & IP));
}

static void round_trip(unsigned set, bool chain, const struct version *v)
{
	struct importer im;
	struct bt_error err;
	const char *wrong = NULL;
	struct buf b = {0};
	int rc;

	if (!is_printed(set))
		return;
	for (size_t i = 0; i < SAMPLES; i++)
		put_sample(&b, set, chain, v, i);
	rc = read_text(&im, &b, &err);
	if (!rc && im.count == SAMPLES)
		for (size_t i = 0; i < SAMPLES && !wrong; i++)
			wrong = wrong_field(&im.kept[i], set, v, &samples[i]);
	if (rc || im.count != SAMPLES || wrong)
		fail_msg("%s, fields 0x%x%s: %d samples; %s is wrong; %s\n%.*s", v->name, set,
			 chain ? ", callchains" : "", (int)im.count, wrong ? wrong : "nothing",
			 rc ? err.text : "", (int)b.len, (const char *)b.data);
	buf_release(&b);
}

/* What stands behind the event, and behind the branches. */
static const unsigned others[] = {
	0,
	IP,
	IP | SYM,
	IP | SYM | DSO,
	IP | DSO | DSOFF,
	DSO,
	ADDR,
	ADDR | IP | SYM | DSO,
	ADDR | WEIGHT,
	ADDR | DATA_SRC | WEIGHT | IP | SYM | DSO | PHYS_ADDR,
	IP | SYM | SRCLINE,
	IP | IREGS,
	IREGS,
	IP | INSN,
	BRSTACKINSN | IP,
	IP | SYM | DSO | SRCLINE | SRCCODE | BRSTACKINSN,
	PHYS_ADDR | PAGE_SIZE | IPC,
	FLAGS,
	FLAGS | IP,
	BRCNTR | IP,
	CGROUP,
	CGROUP | IP | SYM,
	METRIC | IP,
};

static void every_set_of_fields_is_read_as_it_was_printed(void **state)
{
	(void)state;

	for (size_t v = 0; v < ARRAY_SIZE(versions); v++)
		for (unsigned start = 0; start < STARTS; start++)
			for (size_t i = 0; i < ARRAY_SIZE(others); i++)
				round_trip(start | others[i], false, &versions[v]);
}

static void callchains_are_read_with_every_set_of_fields(void **state)
{
	(void)state;

	for (size_t v = 0; v < ARRAY_SIZE(versions); v++)
		for (unsigned start = 0; start < STARTS; start++)
			for (size_t i = 0; i < ARRAY_SIZE(others); i++)
				if (others[i] & IP)
					round_trip(start | others[i], true, &versions[v]);
}

/* Reads text, and compares what becomes of it: a line for each sample, "comm pid/tid cpu time event
 * ip: from-to:flags ...". */
static void reads_as(const char *text, const char *expected)
{
	struct importer im;
	struct bt_error err;
	struct buf b = {0}, got = {0};
	int rc;

	buf_put(&b, text, strlen(text));
	rc = read_text(&im, &b, &err);
	if (rc)
		fail_msg("%s\n%s", err.text, text);
	for (size_t i = 0; i < im.count; i++) {
		const struct kept *k = &im.kept[i];

		put(&got, "%s %d/%d %u %llu %s %llx:", k->comm, (int)k->sample.id.pid,
		    (int)k->sample.id.tid, k->sample.cpu, (unsigned long long)k->sample.time,
		    k->event, (unsigned long long)k->sample.ip);
		for (size_t j = 0; j < k->sample.branch_count; j++)
			put(&got, " %llx-%llx:%llx", (unsigned long long)k->branches[j].from,
			    (unsigned long long)k->branches[j].to,
			    (unsigned long long)k->branches[j].flags);
		put(&got, "\n");
	}
	buf_u8(&got, 0);
	assert_string_equal((const char *)got.data, expected);
	buf_release(&b);
	buf_release(&got);
}

static void is_refused(const char *text, int code, const char *said)
{
	struct importer im;
	struct bt_error err;
	struct buf b = {0};

	buf_put(&b, text, strlen(text));
	assert_int_equal(read_text(&im, &b, &err), -code);
	if (!strstr(err.text, said))
		fail_msg("\"%s\" is not in: %s", said, err.text);
	buf_release(&b);
}

static void names_may_look_like_any_field(void **state)
{
	(void)state;

	reads_as("       worker 12  0x1/0x2/P/-/-/0/ \n     kworker/3:0  0x1/0x2/P/-/-/0/ \n",
		 "worker 12 0/0 0 0  0: 1-2:2\nkworker/3:0 0/0 0 0  0: 1-2:2\n");
	reads_as("       worker 12  0x1/0x2/P/-/-/0/ \n       worker 13  0x1/0x2/P/-/-/0/ \n",
		 "worker 12 0/0 0 0  0: 1-2:2\nworker 13 0/0 0 0  0: 1-2:2\n");
	reads_as("  a 1/2 [3] 4.5:     9  0x1/0x2/P/-/-/0/ \n",
		 "a 1/2 [3] 4.5: 9/9 0 0  0: 1-2:2\n");
	reads_as("   a.out  5595   3    12.000000: cycles:            401000 0x1/0x2/P/-/-/0/ \n",
		 "a.out 5595/5595 4 12000000000 cycles 401000: 1-2:2\n");
	reads_as("#x 9/9 1.0: cycles: 10 0x1/0x2/P/-/-/0/ \n",
		 "#x 9/9 0 1000000000 cycles 10: 1-2:2\n");
	reads_as("a-name-that-is-longer     9/9     1.000000: cycles:                10 "
		 "0x1/0x2/P/-/-/0/ \n            a.out     9/9     1.000000: cycles:               "
		 " 10 0x1/0x2/P/-/-/0/ \n",
		 "a-name-that-is-longer 9/9 0 1000000000 cycles 10: 1-2:2\na.out 9/9 0 1000000000 "
		 "cycles 10: 1-2:2\n");
}

/* Which only the other samples tell from another field. */
static void a_name_may_end_in_a_blank(void **state)
{
	struct buf b = {0}, expected = {0};
	(void)state;

	for (unsigned i = 0; i < 20; i++) {
		put(&b, "%16s %5d  0x1/0x2/P/-/-/0/ \n", i ? "worker 1" : "worker ", 5595);
		put(&expected, "%s 5595/5595 0 0  0: 1-2:2\n", i ? "worker 1" : "worker");
	}
	buf_u8(&b, 0);
	buf_u8(&expected, 0);
	reads_as((const char *)b.data, (const char *)expected.data);
	buf_release(&b);
	buf_release(&expected);
}

static void text_whose_blanks_were_taken_out_is_read(void **state)
{
	(void)state;

	reads_as("a.out 5595 914937.301714: 168 cycles:u: 5629ec742901 [unknown] (/bin/x) "
		 "0x1/0x2/P/-/-/0/\n",
		 "a.out 5595/5595 0 914937301714000 cycles:u 5629ec742901: 1-2:2\n");
	reads_as("5595 0x1/0x2/P/-/-/0\n5596 0x1/0x2/P/-/-/0\n",
		 " 5595/5595 0 0  0: 1-2:2\n 5596/5596 0 0  0: 1-2:2\n");
	reads_as("5629ec742901 0x1/0x2/P/-/-/0\n401136 0x1/0x2/P/-/-/0\n",
		 " 0/0 0 0  5629ec742901: 1-2:2\n 0/0 0 0  401136: 1-2:2\n");
	reads_as("a b 12 5595/5596 [003] 1.5: x:y:z/u: 401136 0x1/0x2/P/-/-/0\r\n",
		 "a b 12 5595/5596 4 1500000000 x:y:z/u 401136: 1-2:2\n");
	reads_as("kworker/3:0 9/9 1.0: cycles: 10 0x1/0x2/P/-/-/0/",
		 "kworker/3:0 9/9 0 1000000000 cycles 10: 1-2:2\n");
}

static void lines_of_others_are_passed_over(void **state)
{
	(void)state;

	reads_as("No kallsyms or vmlinux with build-id 672679ceaecf was found\n"
		 "# a comment\n#\n"
		 "           a.out     9/9         1.000000: PERF_RECORD_MMAP2 9/9: "
		 "[0x401000(0x1000) @ 0 08:01 12 0]: r-xp /bin/x\n"
		 "           a.out     9/9         1.000000: cycles:            401000 "
		 "0x1/0x2/P/-/-/0/ \n"
		 "           a.out     9/9         1.500000: PERF_RECORD_SWITCH OUT\n"
		 "           a.out     9/9         2.000000: cycles:            401001 f (/bin/x)\n"
		 "           a.out     9/9         2.000000: \tmetric:    1.23 insn per cycle\n",
		 "a.out 9/9 0 1000000000 cycles 401000: 1-2:2\na.out 9/9 0 2000000000 cycles "
		 "401001:\n");
}

static void samples_without_branches_lend_nothing_to_the_next(void **state)
{
	(void)state;

	reads_as("           401000 \n           402000 0x1/0x2/P/-/-/0/ \n",
		 " 0/0 0 0  402000: 1-2:2\n");
	reads_as("           a.out            401000 \n             b.o            402000 "
		 "0x1/0x2/P/-/-/0/ \n",
		 "b.o 0/0 0 0  402000: 1-2:2\n");
	reads_as("           a.out \n             b.o  0x1/0x2/P/-/-/0/ \n",
		 "b.o 0/0 0 0  0: 1-2:2\n");
	reads_as("    12.000000: \n    13.000000:  0x1/0x2/P/-/-/0/ \n",
		 " 0/0 0 12000000000  0:\n 0/0 0 13000000000  0: 1-2:2\n");
}

static void forms_of_a_branch(void **state)
{
	(void)state;

	reads_as("    5 0x1/0x2/P/X/A/12/COND/SPEC_WRONG_PATH  0x3/0x4/MN/-/-/0//-  "
		 "0x5/0x6/-/-/-/-/ARM64_FIQ\n",
		 " 5/5 0 0  0: 1-2:11000ce 5-6:cf00000\n");
	reads_as("    5 0x1 (/a (x)/0y/z)/0x2 (/b (deleted))/P/-/-/0/LATER/THAN/THIS \n",
		 " 5/5 0 0  0: 1-2:2\n");
	reads_as("    5 0x1/0x2/P/-/-  0x3/0x4/M/-/-/ \n", " 5/5 0 0  0: 1-2:2 3-4:1\n");
	is_refused("  401000 0x1/0x2/P/-/-/0 0x1/0x2/P/-/-/x\n", BT_E_CORRUPT,
		   "the branch at byte 25 is none");
	is_refused("  401000 0x1/0x2/P/-/-/0 0x1/0x2\n", BT_E_CORRUPT,
		   "the branch at byte 25 is none");
	is_refused("  401000 0x1/0x2/P/-/-/65536\n", BT_E_CORRUPT, "the branch at byte 9 is none");
	is_refused("  401000 0x1/0x2/P/-/-/0 between 0x1/0x2/P/-/-/0\n", BT_E_CORRUPT,
		   "what stands between branches at byte 25");
	is_refused("  401000 0x1/0x2/Q/-/-/0\n", BT_E_CORRUPT, "the branch at byte 9 is none");
}

static void what_tells_no_addresses_or_not_whose_is_named(void **state)
{
	(void)state;

	is_refused(" 5595 main+0x10/foo+0x0/P/-/-/0/CALL/- [unknown]/[unknown]/P/-/-/0//- \n",
		   BT_E_UNSUPPORTED, "the field brstacksym");
	is_refused("           a.out main+0x10 (/bin/x)/foo+0x0 (/bin/x)/P/-/-/0//- \n",
		   BT_E_UNSUPPORTED, "the field brstacksym");
	is_refused(" 5595 \n\tmain+16:\n\t00007f1234567890\tinsn: 75 f0                     \t# "
		   "PRED 19 cycles [19]\n",
		   BT_E_UNSUPPORTED, "the field brstackinsn");
	is_refused("VM:   12 VCPU:001            a.out  5595  0x1/0x2/P/-/-/0//- \n",
		   BT_E_UNSUPPORTED, "the field machine_pid");
	is_refused("     7ffff7b11b17 (/lib/libc.so) "
		   "0x75bbd(/lib/libc.so)/0x75b10(/lib/libc.so)/P/-/-/0/ \n",
		   BT_E_UNSUPPORTED, "the field brstackoff");
	is_refused(" ffffffff8032d7e0 f ([kernel.kallsyms]) 0x130812 ([kernel.kallsyms])/0x12d7c0 "
		   "([kernel.kallsyms])/P/-/-/0//- \n",
		   BT_E_UNSUPPORTED, "the field brstackoff");
	reads_as("     7ffff7b11b17 (//anon) 0x75bbd(//anon)/0x75b10(//anon)/P/-/-/0/ \n",
		 " 0/0 0 0  7ffff7b11b17: 75bbd-75b10:2\n");
}

/* It is tried at each slash: a longer one is no more than looked at. */
static void what_stands_behind_a_branch_has_an_end(void **state)
{
	char text[400], branch[400];
	(void)state;

	snprintf(text, sizeof text, " main+0x10/foo+0x0/P/-/-/0/%0240d \n", 0);
	is_refused(text, BT_E_UNSUPPORTED, "the field brstacksym");
	snprintf(text, sizeof text, " main+0x10/foo+0x0/P/-/-/0/%0300d \n", 0);
	assert_false(brstack_text_is(slice_of(text, strlen(text))));
	snprintf(branch, sizeof branch, " 5 0x1/0x2/P/-/-/0/%0300d \n", 0);
	is_refused(branch, BT_E_CORRUPT, "the branch at byte 3 is none");
}

static void samples_with_other_fields_than_the_rest_are_refused(void **state)
{
	struct buf b = {0};
	(void)state;

	for (unsigned i = 0; i < 20; i++)
		put(&b, i == 15 ? "[003]  0x1/0x2/P/-/-/0/ \n" : " %u  0x1/0x2/P/-/-/0/ \n",
		    1000 + i);
	buf_u8(&b, 0);
	is_refused((const char *)b.data, BT_E_CORRUPT,
		   "the sample at byte 375 has not the fields of the others");
	buf_release(&b);
	is_refused("[003]  0x1/0x2/P/-/-/0/ \n 5595  0x1/0x2/P/-/-/0/ \n", BT_E_CORRUPT,
		   "the samples differ in the fields");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_set_of_fields_is_read_as_it_was_printed),
		cmocka_unit_test(callchains_are_read_with_every_set_of_fields),
		cmocka_unit_test(names_may_look_like_any_field),
		cmocka_unit_test(a_name_may_end_in_a_blank),
		cmocka_unit_test(text_whose_blanks_were_taken_out_is_read),
		cmocka_unit_test(lines_of_others_are_passed_over),
		cmocka_unit_test(samples_without_branches_lend_nothing_to_the_next),
		cmocka_unit_test(forms_of_a_branch),
		cmocka_unit_test(what_tells_no_addresses_or_not_whose_is_named),
		cmocka_unit_test(what_stands_behind_a_branch_has_an_end),
		cmocka_unit_test(samples_with_other_fields_than_the_rest_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
