/* SPDX-License-Identifier: MIT */
/* The text is read twice. First, to find the layout of its lines (script_head.h): the lines up to
 * one with branches are a sample's, and each is tried in all layouts. The layout is taken that
 * nearly all samples may have. Then each line is read by it. A line that fits begins a sample; a
 * line with branches completes it; lines of a callchain add to it, others are passed over. A
 * sample is given to the importer when the next one begins.
 *
 * Fields that print no addresses, or offsets in files instead, make btrec refuse the file, with
 * the field's name. */
#include "import/brstack_text.h"

#include <stdlib.h>
#include <string.h>

#include "import/brstack_branch.h"
#include "import/script_head.h"
#include "import/text_cursor.h"
#include "lib/array_size.h"
#include "lib/grow.h"

enum {
	BRANCHES_MAX = 1 << 16, /* of a sample */
	NAME_MAX_LEN = 64,
};

struct text_reader {
	struct importer *im;
	struct slice all;
	struct bt_error *err;
	unsigned layout;
	struct import_branch *branches;
	size_t count, cap;
	/* The sample that is being read: its first line was seen, it is given when the next begins.
	 */
	bool open, has_branches;
	struct import_sample sample;
	bool has_ids, has_ip, has_chain;
	char comm[NAME_MAX_LEN];
};

static uint64_t offset_of(const struct text_reader *r, const uint8_t *at)
{
	return (uint64_t)(at - r->all.at);
}

/* --- lines --- */

/* A line, and where its branches begin. */
struct script_line {
	struct slice head, branches;
	bool in_chain; /* it begins with a tab and an address */
};

/* Comments begin in the first column, with a blank behind the sign: a name that begins with it has
 * either blanks before or no such blank. */
static bool is_comment(struct slice line)
{
	return line.len && *line.at == '#' && (line.len == 1 || text_is_blank(line.at[1]));
}

/* A line of the program's source, of the field srccode. */
static bool is_source(struct slice line)
{
	uint64_t number;

	return text_take_char(&line, '|') && text_take_number(&line, 10, &number) && line.len &&
	       *line.at == ' ';
}

/* A line of the field metric, which begins as a sample does. */
static bool is_metric(struct slice head)
{
	static const char metric[] = "\tmetric: ";

	return head.len && memmem(head.at, head.len, metric, sizeof metric - 1);
}

/* Takes the next line that may be of a sample. False at the end. Other lines that begin with a tab
 * are of brstackinsn. */
static bool take_line(struct slice *text, struct script_line *out)
{
	while (text->len) {
		struct slice line = text_take_line(text);
		uint64_t ip;
		bool in_chain = script_chain_ip(line, &ip);
		size_t at;

		while (line.len && line.at[line.len - 1] == '\r')
			line.len--;
		if (!text_trimmed(line).len || is_comment(line) || is_source(line) ||
		    (*line.at == '\t' && !in_chain))
			continue;
		at = brstack_branch_find(line);
		*out = (struct script_line){
			.head = slice_take(&line, at), .branches = line, .in_chain = in_chain};
		if (!is_metric(out->head))
			return true;
	}
	return false;
}

/* --- the layout of the file --- */

/* The lines of a sample, up to that with branches. layouts: those that some line of the sample may
 * have. */
struct groups {
	bool layouts[SCRIPT_LAYOUTS];
	size_t counts[SCRIPT_LAYOUTS], samples;
	bool has_lines;
};

static void end_group(struct groups *g)
{
	for (unsigned i = 0; i < SCRIPT_LAYOUTS; i++)
		g->counts[i] += g->layouts[i];
	memset(g->layouts, 0, sizeof g->layouts);
	g->samples++;
	g->has_lines = false;
}

/* After other lines of the sample, a line of branches alone tells nothing of its fields. */
static void add_to_group(struct groups *g, const struct script_line *line)
{
	bool blank = !text_trimmed(line->head).len;

	if (!line->in_chain && !(blank && g->has_lines))
		script_head_layouts(line->head, g->layouts);
	if (line->in_chain && !g->has_lines)
		g->layouts[0] = true; /* addresses without anything before */
	g->has_lines = true;
	if (line->branches.len)
		end_group(g);
}

/* A line of brstackinsn, or text behind a branch there. */
static bool is_disassembly(struct slice line)
{
	uint64_t address;
	size_t digits;

	if (!text_take_char(&line, '\t'))
		return false;
	digits = line.len;
	if (!text_take_number(&line, 16, &address) || digits - line.len != 16 ||
	    !text_take_char(&line, '\t'))
		return false;
	return line.len && memmem(line.at, line.len, "\t#", 2);
}

/* The field that holds branches in a form without addresses; NULL: none that is known. */
static const char *other_field(struct slice text)
{
	while (text.len) {
		struct slice line = text_take_line(&text);

		if (is_disassembly(line))
			return "brstackinsn";
		if (brstack_flags_stand_in(line))
			return "brstacksym";
	}
	return NULL;
}

static int refuse_field(struct text_reader *r, const char *field, const char *why,
			const uint8_t *at)
{
	return bt_fail_at(r->err, BT_E_UNSUPPORTED, offset_of(r, at),
			  "perf script: the field %s %s: print it with -F ...,brstack", field, why);
}

static int find_layout(struct text_reader *r)
{
	struct groups *g = calloc(1, sizeof *g);
	const char *other;
	struct slice text = r->all;
	struct script_line line;
	int rc = 0;

	if (!g)
		return bt_no_memory(r->err, "the import");
	while (take_line(&text, &line))
		add_to_group(g, &line);
	other = g->samples ? NULL : other_field(r->all);
	if (!g->samples)
		rc = refuse_field(r, other ? other : "with the branches", "tells no addresses",
				  r->all.at);
	else if (!script_head_choose(g->counts, g->samples, &r->layout))
		rc = bt_fail_at(r->err, BT_E_CORRUPT, 0,
				"perf script: the samples differ in the fields that stand before "
				"their branches");
	free(g);
	return rc;
}

/* --- samples --- */

static bool is_idle(const struct text_reader *r)
{
	return r->has_ids && !r->sample.id.pid && !r->sample.id.tid;
}

/* A sample without branches counts only if its lines surely begin samples. */
static void give_sample(struct text_reader *r)
{
	struct slice comm =
		bt_str(*r->comm || !is_idle(r) ? r->comm : "swapper"); /* as perf calls it */

	if (!r->open || (!r->has_branches && !script_head_is_strong(r->layout))) {
		r->open = false;
		return;
	}
	if (comm.len)
		importer_comm(r->im, r->sample.id, r->sample.time, comm, false);
	r->sample.has_branches = true;
	r->sample.branches = r->branches;
	r->sample.branch_count = r->count;
	importer_sample(r->im, &r->sample);
	r->open = false;
	r->count = 0;
}

static void begin_sample(struct text_reader *r, const struct script_head *h)
{
	give_sample(r);
	r->open = true;
	r->has_branches = false;
	r->count = 0;
	r->has_ids = h->has_ids;
	r->has_ip = h->has_ip;
	r->has_chain = false;
	r->sample = (struct import_sample){
		.id = h->id, .time = h->time, .ip = h->ip, .cpu = h->cpu, .event = h->event};
	snprintf(r->comm, sizeof r->comm, "%.*s",
		 (int)(h->comm.len < NAME_MAX_LEN ? h->comm.len : NAME_MAX_LEN - 1),
		 h->comm.len ? (const char *)h->comm.at : "");
}

static int add_branch(struct text_reader *r, const struct import_branch *b)
{
	struct import_branch *at = array_grow(r->branches, r->count, &r->cap, sizeof *at);

	if (!at)
		return bt_no_memory(r->err, "the import");
	r->branches = at;
	at[r->count++] = *b;
	return 0;
}

/* Mapped at one place of a process, and as large as its code. */
static bool is_one_place(struct slice file)
{
	static const char *const others[] = {"//", "/memfd:", "/dev/"};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (file.len >= strlen(others[i]) && !memcmp(file.at, others[i], strlen(others[i])))
			return false;
	return slice_is(file, "[kernel.kallsyms]") || (file.len && *file.at == '/');
}

/* brstackoff prints like brstack, but offsets in files for addresses. It shows if a sample's own
 * address is in the same file: no file reaches that far. */
static bool is_offset(const struct text_reader *r, struct slice head,
		      const struct brstack_branch *b)
{
	struct slice file = b->file;

	head = text_trimmed(head);
	if (!b->entry.from || b->entry.from >> 32 || !(r->sample.ip >> 32) || !is_one_place(file) ||
	    head.len < file.len + 2)
		return false;
	slice_take(&head, head.len - file.len - 2);
	return head.at[0] == '(' && head.at[head.len - 1] == ')' &&
	       !memcmp(head.at + 1, file.at, file.len);
}

/* The branches, and behind them fields that are not read; there no branch can be any more. */
static int take_branches(struct text_reader *r, struct slice head, struct slice in)
{
	struct brstack_branch b;
	int rc = 0;

	r->has_branches = true;
	for (text_take_blanks(&in); !rc && in.len > 1 && in.at[0] == '0' && in.at[1] == 'x';
	     text_take_blanks(&in)) {
		uint64_t offset = offset_of(r, in.at);

		if (r->count == BRANCHES_MAX || !brstack_branch_take(&in, &b))
			return bt_fail_at(r->err, BT_E_CORRUPT, offset,
					  "perf script: the branch at byte %llu is none",
					  (unsigned long long)offset);
		if (is_offset(r, head, &b))
			return refuse_field(r, "brstackoff", "tells offsets in files",
					    r->all.at + offset);
		rc = b.taken ? add_branch(r, &b.entry) : 0; /* the code between the others has it */
	}
	if (!rc && brstack_branch_find(in) < in.len)
		rc = bt_fail_at(r->err, BT_E_CORRUPT, offset_of(r, in.at),
				"perf script: what stands between branches at byte %llu is none",
				(unsigned long long)offset_of(r, in.at));
	return rc;
}

/* The address of a callchain's first line is the sample's. Without fields before it, it begins a
 * sample. */
static void take_chain(struct text_reader *r, struct slice line)
{
	struct script_head h = {.has_ip = true};

	if (!script_chain_ip(line, &h.ip))
		return;
	if (!r->layout && (!r->open || r->has_branches)) {
		begin_sample(r, &h);
		r->has_chain = true;
	} else if (r->open && !r->has_branches && !r->has_chain) {
		r->sample.ip = h.ip;
		r->has_chain = true;
	}
}

/* A line behind one without branches may continue that sample, as one of srcline does: then it
 * lacks fields of the first line. */
static bool begins_sample(const struct text_reader *r, const struct script_head *h)
{
	bool pending = r->open && !r->has_branches;

	return !pending || script_head_is_strong(r->layout) ||
	       ((h->comm.len || h->has_ip) && h->has_ip == r->has_ip);
}

static int take_sample_line(struct text_reader *r, const struct script_line *line)
{
	struct script_head h;

	if (script_head_is_guest(line->head))
		return refuse_field(r, "machine_pid",
				    "is of guests, whose processes are not told apart from others",
				    line->head.at);
	if (line->in_chain)
		take_chain(r, line->head);
	else if (script_head_parse(line->head, r->layout, &h) && begins_sample(r, &h))
		begin_sample(r, &h);
	if (!line->branches.len)
		return 0;
	if (!r->open || r->has_branches)
		return bt_fail_at(r->err, BT_E_CORRUPT, offset_of(r, line->head.at),
				  "perf script: the sample at byte %llu has not the fields of the "
				  "others before its branches",
				  (unsigned long long)offset_of(r, line->head.at));
	return take_branches(r, line->head, line->branches);
}

bool brstack_text_is(struct slice text)
{
	struct script_line line;
	struct slice rest;

	if (text.len > BRSTACK_TEXT_LOOKED_AT)
		text.len = BRSTACK_TEXT_LOOKED_AT;
	if (!text.len || memchr(text.at, 0, text.len))
		return false;
	rest = text;
	while (take_line(&rest, &line))
		if (line.branches.len)
			return true;
	return other_field(text);
}

int brstack_text_import(struct importer *im, struct slice text, struct bt_error *err)
{
	struct text_reader r = {.im = im, .all = text, .err = err};
	struct script_line line;
	int rc = find_layout(&r);

	importer_header(im)->source = bt_str("lbr");
	while (!rc && !importer_failed(im) && take_line(&text, &line))
		rc = take_sample_line(&r, &line);
	if (!rc)
		give_sample(&r);
	free(r.branches);
	return rc;
}
