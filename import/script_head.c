/* SPDX-License-Identifier: MIT */
/* A line is tried in every layout at once: a tree of choices, first the form of the name, then of
 * the ids, then each field, present or not. A path through the tree marks its layout if valid text
 * follows the head.
 *
 * script_head_layouts() takes all paths and marks all layouts that fit. script_head_parse() takes
 * only the paths of one layout, and keeps the values. script_head_choose() takes the one with most
 * (layout_rank()) of the layouts that nearly all samples have. */
#include "import/script_head.h"

#include <assert.h>
#include <string.h>

#include "import/text_cursor.h"
#include "lib/array_size.h"

enum {
	COMM_LEN = 15, /* of the kernel's */
	COMM_COLUMNS = 16,
	COMM_COLUMNS_LATENCY = 8,
	COMM_MAX_LEN = 63, /* of names that others than perf print */
	PERIOD_COLUMNS = 10,
	NUMBER_COLUMNS = 16,  /* of ip, addr, weight and the like */
	EVENT_MAX_LEN = 4096, /* with the events as given to perf: they can be long */
	MISC_COLUMNS = 6,
	PID_LIMIT = 1 << 22,      /* the kernel's PID_MAX_LIMIT */
	NOT_AN_ADDRESS = 1 << 16, /* numbers below: the kernel's default vm.mmap_min_addr */
};

/* The number of a layout: two bits for comm, two for the ids, one for each other field. */
enum comm_kind { COMM_NONE, COMM_COLUMN, COMM_LATENCY, COMM_PLAIN };
enum ids_kind { IDS_NONE, IDS_5, IDS_7, IDS_PLAIN };
enum {
	COMM_MASK = 3,
	IDS_SHIFT = 2,
	FIELDS_SHIFT = 4, /* the others, in their order */
};

/* A line being read. The layouts that fit are marked in all, or the values kept of the one that is
 * wanted. */
struct line_reading {
	struct slice line;
	bool *all;
	unsigned wanted;
	size_t id_blanks; /* before plain ids: more than one may be columns of something else */
	bool id_is_first, id_is_single;
	struct script_head head;
};

static struct slice rest_from(const struct line_reading *r, size_t at)
{
	struct slice rest = r->line;

	slice_take(&rest, at);
	return rest;
}

static size_t offset_in_line(const struct line_reading *r, struct slice rest)
{
	return (size_t)(rest.at - r->line.at);
}

/* Takes the blank that separates a field from the next; the line's end may lack it. */
static bool take_end(struct slice *in)
{
	if (!in->len)
		return true;
	if (!text_is_blank(*in->at))
		return false;
	slice_take(in, 1);
	return true;
}

/* --- fields: each takes itself and the blank behind it --- */

static bool take_decimal(struct slice *in, uint32_t *out)
{
	bool negative = text_take_char(in, '-');
	uint64_t v;

	if (!text_take_number(in, 10, &v) || v > UINT32_MAX || (negative && v != 1))
		return false;
	*out = negative ? 0u - (uint32_t)v : (uint32_t)v;
	return true;
}

static bool take_ids(struct line_reading *r, struct slice *in, unsigned kind)
{
	unsigned columns = kind == IDS_5 ? 5 : kind == IDS_7 ? 7 : 0;
	size_t start = in->len, width, blanks = text_take_blanks(in);
	struct import_thread_id id;

	r->id_blanks = blanks;
	r->id_is_first = start == r->line.len;
	if (!take_decimal(in, &id.pid))
		return false;
	width = start - in->len;
	/* Right-aligned: blanks only as far as there is room. */
	if (columns && (width < columns || (blanks && width > columns)))
		return false;
	r->id_is_single = !text_take_char(in, '/');
	id.tid = id.pid;
	if (!r->id_is_single) {
		start = in->len;
		if (!take_decimal(in, &id.tid))
			return false;
		width = start - in->len;
		for (; columns && width < columns; width++)
			if (!text_take_char(in, ' '))
				return false;
	}
	r->head.id = id;
	r->head.has_ids = true;
	/* Plain numbers can be anything: of pids there are no more. */
	return take_end(in) &&
	       (columns || !r->id_is_single || id.pid <= PID_LIMIT || id.pid == UINT32_MAX);
}

static bool take_cpu(struct line_reading *r, struct slice *in, unsigned layout)
{
	bool latency = (layout & COMM_MASK) == COMM_LATENCY;
	size_t blanks = text_take_blanks(in), start = in->len;
	uint64_t v;

	if (!latency && !text_take_char(in, '['))
		return false;
	if (!text_take_number(in, 10, &v) || v >= UINT32_MAX)
		return false;
	if (latency && (blanks + start - in->len < 3 || (blanks && blanks + start - in->len > 3)))
		return false;
	r->head.cpu = (uint32_t)v + 1;
	return (latency || text_take_char(in, ']')) && take_end(in);
}

/* K, U, H, G, g: whose code it was. */
static bool take_misc(struct line_reading *r, struct slice *in, unsigned layout)
{
	size_t n = 0;

	(void)r;
	(void)layout;
	text_take_blanks(in);
	while (n < in->len && n < MISC_COLUMNS && memchr("KUHGg", in->at[n], 5))
		n++;
	slice_take(in, n);
	if (!n || !take_end(in))
		return false;
	for (n++; n < MISC_COLUMNS && text_take_char(in, ' '); n++)
		;
	return true;
}

static bool take_tod(struct line_reading *r, struct slice *in, unsigned layout)
{
	static const char pattern[] = "9999-99-99 99:99:99.";
	uint64_t fraction;

	(void)r;
	(void)layout;
	text_take_blanks(in);
	for (const char *p = pattern; *p; p++) {
		if (!in->len ||
		    (*p == '9' ? *in->at < '0' || *in->at > '9' : *in->at != (uint8_t)*p))
			return false;
		slice_take(in, 1);
	}
	return text_take_number(in, 10, &fraction) && take_end(in);
}

static bool take_time(struct line_reading *r, struct slice *in, unsigned layout)
{
	uint64_t seconds, fraction;
	size_t digits;

	(void)layout;
	text_take_blanks(in);
	if (!text_take_number(in, 10, &seconds) || !text_take_char(in, '.') ||
	    seconds > UINT64_MAX / 1000000000 - 1)
		return false;
	digits = in->len;
	if (!text_take_number(in, 10, &fraction))
		return false;
	digits -= in->len;
	if (digits > 9 || !text_take_char(in, ':') || !take_end(in))
		return false;
	for (; digits < 9; digits++)
		fraction *= 10;
	r->head.time = seconds * 1000000000 + fraction;
	return true;
}

static bool is_number(struct slice word, unsigned base)
{
	uint64_t v;

	return text_take_number(&word, base, &v) && !word.len;
}

/* The number of words in an event's name: names made from attributes have more than one. */
static unsigned words_of_name(struct slice first)
{
	static const struct {
		const char *word;
		unsigned count;
	} names[] = {{"raw", 2}, {"type", 4}, {"unknown", 4}};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (slice_is(first, names[i].word))
			return names[i].count;
	return 1;
}

/* Digits with points and slashes are a time or ids. */
static bool is_event_name(struct slice word)
{
	size_t n = 0;

	while (n < word.len &&
	       ((word.at[n] >= '0' && word.at[n] <= '9') || memchr("./:-", word.at[n], 4)))
		n++;
	return n < word.len;
}

/* A number, which may be the period; then the name and a colon. */
static bool take_event(struct line_reading *r, struct slice *in, unsigned layout)
{
	struct slice word = text_take_word(in);
	const uint8_t *start;

	(void)layout;
	if (is_number(word, 10))
		word = text_take_word(in);
	start = word.at;
	for (unsigned n = words_of_name(word); n > 1 && word.len && word.at[word.len - 1] != ':';
	     n--)
		word = text_take_word(in);
	if (word.len < 2 || word.len > EVENT_MAX_LEN || word.at[word.len - 1] != ':')
		return false;
	r->head.event = slice_of(start, (size_t)(word.at - start) + word.len - 1);
	return is_event_name(r->head.event) && take_end(in);
}

typedef bool take_field(struct line_reading *r, struct slice *in, unsigned layout);

static take_field *const fields[] = {take_cpu, take_misc, take_tod, take_time, take_event};
enum {
	FIELDS = ARRAY_SIZE(fields),
	CPU = 1 << FIELDS_SHIFT,
	TIME = 1 << (FIELDS_SHIFT + 3),
	EVENT = 1 << (FIELDS_SHIFT + 4),
};
static_assert(1 << (FIELDS_SHIFT + FIELDS) <= SCRIPT_LAYOUTS, "a bit for each field");

/* --- behind the event --- */

/* ip is a blank and 16 columns. addr, weight and others have no such blank, so ip is the last
 * number with one. If no number has columns, because blanks were removed, ip is the first one,
 * except a period. */
static void find_ip(struct line_reading *r, struct slice rest, unsigned layout)
{
	bool has_columns = false, has_source = false;
	uint64_t v;

	while (rest.len) {
		size_t blanks = text_take_blanks(&rest), width;
		struct slice word = text_take_word(&rest), digits = word;

		has_source = has_source || (word.len > 3 && !memcmp(word.at, "|OP", 3));
		if (word.len > 2 && word.at[0] == '0' && word.at[1] == 'x')
			slice_take(&digits, 2);
		width = blanks + word.len;
		if (!text_take_number(&digits, 16, &v) || digits.len)
			continue;
		if (width == PERIOD_COLUMNS && !(layout & EVENT) && is_number(word, 10)) {
			text_take_char(&rest, ' ');
			continue;
		}
		/* Behind the padded data_src a small number is a weight. */
		if (width > NUMBER_COLUMNS
			    ? !has_source || v >= NOT_AN_ADDRESS
			    : !has_columns && !r->head.has_ip && width < NUMBER_COLUMNS) {
			r->head.ip = v;
			r->head.has_ip = true;
		}
		has_columns = has_columns || width >= NUMBER_COLUMNS;
	}
}

/* Without an event or a time nothing marks the end of the fields: a number, a cgroup, registers or
 * nothing must follow, and the address must not pass for an id. */
static bool may_follow(const struct line_reading *r, unsigned layout, struct slice rest)
{
	unsigned ids = layout >> IDS_SHIFT & 3;
	struct slice word;

	if (ids == IDS_PLAIN && r->id_is_single &&
	    !(layout >> FIELDS_SHIFT & ~(unsigned)(EVENT >> FIELDS_SHIFT)) &&
	    r->id_blanks > (r->id_is_first ? 0 : 1))
		return false;
	/* Names that are longer than the kernel's, numbers, behind blanks that are no columns, or
	 * cut as with --latency, need more to be believed. */
	if (!(layout >> IDS_SHIFT) && (r->head.comm.len > COMM_LEN || is_number(r->head.comm, 16)))
		return false;
	if (layout == COMM_PLAIN && text_is_blank(*r->line.at))
		return false;
	if (layout == (COMM_PLAIN | EVENT) && is_number(r->head.comm, 10)) /* a period */
		return false;
	if ((layout & COMM_MASK) == COMM_LATENCY && !(layout & CPU))
		return false;
	if (layout & (TIME | EVENT))
		return true;
	text_take_blanks(&rest);
	word = text_take_word(&rest);
	return !word.len || is_number(word, 16) || *word.at == '/' ||
	       (word.len > 4 && !memcmp(word.at, "ABI:", 4));
}

/* A line that looks like a sample but is another record, which perf script shows on request. */
static bool is_other_line(struct slice rest)
{
	static const char record[] = "PERF_RECORD_";
	struct slice word = text_take_word(&rest);

	return word.len > sizeof record - 1 && !memcmp(word.at, record, sizeof record - 1);
}

/* --- layouts --- */

static bool finish_head(struct line_reading *r, size_t at, unsigned layout)
{
	struct slice rest = rest_from(r, at);

	if (!may_follow(r, layout, rest) || is_other_line(rest) || is_other_line(r->head.event))
		return false;
	if (r->all) {
		r->all[layout] = true;
		return false; /* go on with the others */
	}
	find_ip(r, rest, layout);
	return true;
}

/* Tries the fields from number i on at a place of the line, each as being there and as not. Returns
 * true once the wanted layout is read. */
static bool try_fields(struct line_reading *r, size_t i, size_t at, unsigned layout)
{
	for (; i < FIELDS; i++) {
		unsigned bit = 1u << (FIELDS_SHIFT + i);
		struct slice rest = rest_from(r, at);
		struct script_head before = r->head;

		if (!r->all && !(r->wanted & bit))
			continue;
		if (!is_other_line(rest) && fields[i](r, &rest, layout) &&
		    try_fields(r, i + 1, offset_in_line(r, rest), layout | bit))
			return true;
		r->head = before;
		if (!r->all)
			return false;
	}
	return finish_head(r, at, layout);
}

static bool try_ids(struct line_reading *r, size_t at, unsigned layout)
{
	for (unsigned kind = IDS_NONE; kind <= IDS_PLAIN; kind++) {
		struct slice rest = rest_from(r, at);
		struct script_head before = r->head;

		if (!r->all && (r->wanted >> IDS_SHIFT & 3) != kind)
			continue;
		if ((kind == IDS_NONE || take_ids(r, &rest, kind)) &&
		    try_fields(r, 0, offset_in_line(r, rest), layout | kind << IDS_SHIFT))
			return true;
		r->head = before;
	}
	return false;
}

/* No name is a time; with --ns that fills the columns of one. */
static bool try_comm(struct line_reading *r, size_t len, unsigned kind)
{
	struct slice comm = text_trimmed(slice_of(r->line.at, len)), rest = comm;

	if (!comm.len || (take_time(r, &rest, 0) && !rest.len))
		return false;
	r->head = (struct script_head){.comm = comm};
	return try_ids(r, len + (len < r->line.len), kind);
}

static bool try_until(struct line_reading *r, size_t len, unsigned kind)
{
	bool ends = len <= r->line.len && (len == r->line.len || text_is_blank(r->line.at[len]));

	/* With known columns a blank may be a name's last character. */
	return ends && ((!r->all && kind == COMM_COLUMN) || !text_is_blank(r->line.at[len - 1])) &&
	       try_comm(r, len, kind);
}

/* At the right of 16 columns, which is more than the kernel's names have: there is a blank before.
 * Others than perf print longer words. */
static bool try_column(struct line_reading *r)
{
	struct slice rest = r->line, word = text_take_word(&rest);
	bool is_long =
		word.at == r->line.at && word.len >= COMM_COLUMNS && word.len <= COMM_MAX_LEN;

	if (!is_long && (!r->line.len || r->line.at[0] != ' '))
		return false;
	return try_until(r, is_long ? word.len : COMM_COLUMNS, COMM_COLUMN);
}

/* Without columns. Tries the longest name that the kernel allows first: a part of a name can look
 * like the next field. */
static bool try_plain(struct line_reading *r)
{
	struct slice rest = r->line;
	size_t start = text_take_blanks(&rest);

	for (size_t len = COMM_LEN; len > 0; len--)
		if (try_until(r, start + len, COMM_PLAIN))
			return true;
	for (size_t len = COMM_LEN + 1; len <= COMM_MAX_LEN; len++)
		if (try_until(r, start + len, COMM_PLAIN))
			return true;
	return false;
}

static bool try_all(struct line_reading *r)
{
	bool any = r->all;

	if ((any || (r->wanted & COMM_MASK) == COMM_NONE) && try_ids(r, 0, COMM_NONE))
		return true;
	if ((any || (r->wanted & COMM_MASK) == COMM_COLUMN) && try_column(r))
		return true;
	if ((any || (r->wanted & COMM_MASK) == COMM_LATENCY) &&
	    try_until(r, COMM_COLUMNS_LATENCY, COMM_LATENCY))
		return true;
	return (any || (r->wanted & COMM_MASK) == COMM_PLAIN) && try_plain(r);
}

void script_head_layouts(struct slice line, bool layouts[SCRIPT_LAYOUTS])
{
	struct line_reading r = {.line = line, .all = layouts};

	(void)try_all(&r);
}

bool script_head_parse(struct slice line, unsigned layout, struct script_head *head)
{
	struct line_reading r = {.line = line, .wanted = layout};

	if (!try_all(&r))
		return false;
	*head = r.head;
	return true;
}

/* More is better. Columns that all samples have are no accident; after them, each further field
 * leaves less that could be part of a name. */
static unsigned layout_rank(unsigned layout)
{
	unsigned comm = layout & COMM_MASK, ids = layout >> IDS_SHIFT & 3;
	bool columns =
		comm != COMM_PLAIN && ids != IDS_PLAIN && (comm != COMM_NONE || ids != IDS_NONE);
	unsigned count = (comm != COMM_NONE) + 2 * (ids != IDS_NONE) +
			 2 * (unsigned)__builtin_popcount(layout >> FIELDS_SHIFT);

	return (columns ? 1u << 8 : 0) | count << 2 | (ids == IDS_PLAIN ? 0 : 2) |
	       (comm != COMM_LATENCY ? 1u : 0);
}

bool script_head_choose(const size_t counts[SCRIPT_LAYOUTS], size_t samples, unsigned *layout)
{
	size_t enough = samples - samples / 10;
	bool found = false;

	for (unsigned i = 0; i < SCRIPT_LAYOUTS; i++) {
		bool better =
			!found || layout_rank(i) > layout_rank(*layout) ||
			(layout_rank(i) == layout_rank(*layout) && counts[i] > counts[*layout]);

		if (counts[i] >= enough && better) {
			*layout = i;
			found = true;
		}
	}
	return found;
}

bool script_head_is_strong(unsigned layout) { return layout >> IDS_SHIFT; }

bool script_chain_ip(struct slice line, uint64_t *ip)
{
	if (!text_take_char(&line, '\t'))
		return false;
	text_take_blanks(&line);
	return text_take_number(&line, 16, ip) && (!line.len || *line.at == ' ');
}

bool script_head_is_guest(struct slice line)
{
	static const char field[] = "VM:";
	uint64_t pid;

	if (line.len < sizeof field || memcmp(line.at, field, sizeof field - 1))
		return false;
	slice_take(&line, sizeof field - 1);
	text_take_blanks(&line);
	return text_take_number(&line, 10, &pid) && line.len && *line.at == ' ';
}
