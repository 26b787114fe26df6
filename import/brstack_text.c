/* SPDX-License-Identifier: MIT */
#include "import/brstack_text.h"

#include <stdlib.h>
#include <string.h>

enum {
	BRANCHES_MAX = 1 << 16, /* of a sample */
	NAME_MAX_LEN = 64,
	TYPE_SHIFT = 20,
	SPEC_SHIFT = 24,
};

struct text_reader {
	struct importer *im;
	struct slice all;
	struct bt_error *err;
	struct import_branch *branches;
	size_t count, cap;
	/* The sample that is being read: its first line was seen, it is given when the next begins. */
	bool open, has_branches;
	struct import_sample sample;
	char comm[NAME_MAX_LEN];
};

static bool is_space(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Takes the next word off a line; empty at its end. */
static struct slice take_word(struct slice *line)
{
	struct slice word;
	size_t n = 0;

	while (line->len && is_space(*line->at))
		slice_take(line, 1);
	while (n < line->len && !is_space(line->at[n]))
		n++;
	word = slice_take(line, n);
	return word;
}

static struct slice take_line(struct slice *text)
{
	const uint8_t *end = text->len ? memchr(text->at, '\n', text->len) : NULL;
	struct slice line = slice_take(text, end ? (size_t)(end - text->at) : text->len);

	if (end)
		slice_take(text, 1);
	return line;
}

static int digit_of(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

/* Takes a number off the front. False when there is none, or it has more than 64 bits. */
static bool take_number(struct slice *in, unsigned base, uint64_t *out)
{
	size_t n = 0;

	for (*out = 0; n < in->len && digit_of(in->at[n]) < (int)base; n++) {
		if (*out > (UINT64_MAX - (unsigned)digit_of(in->at[n])) / base)
			return false;
		*out = *out * base + (unsigned)digit_of(in->at[n]);
	}
	slice_take(in, n);
	return n;
}

static bool take_char(struct slice *in, char c)
{
	if (!in->len || *in->at != (uint8_t)c)
		return false;
	slice_take(in, 1);
	return true;
}

/* --- a branch --- */

/* 0xADDRESS, and behind it its file in brackets. */
static bool take_address(struct slice *in, uint64_t *out)
{
	const uint8_t *end;

	if (!take_char(in, '0') || !take_char(in, 'x') || !take_number(in, 16, out))
		return false;
	if (!in->len || *in->at != '(')
		return true;
	end = memchr(in->at, ')', in->len);
	if (end)
		slice_take(in, (size_t)(end - in->at) + 1);
	return end;
}

/* The text up to the next slash, which is taken too. */
static struct slice take_field(struct slice *in)
{
	const uint8_t *end = in->len ? memchr(in->at, '/', in->len) : NULL;
	struct slice field = slice_take(in, end ? (size_t)(end - in->at) : in->len);

	if (end)
		slice_take(in, 1);
	return field;
}

static bool has(struct slice field, char c)
{
	return field.len && memchr(field.at, c, field.len);
}

static uint64_t name_index(struct slice field, const char *const *names, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (field.len == strlen(names[i]) && !memcmp(field.at, names[i], field.len))
			return i;
	return 0;
}

/* The fields behind the addresses, those of later versions of perf included. */
static bool take_flags(struct slice *in, uint64_t *flags)
{
	static const char *const types[] = {"", "COND", "UNCOND", "IND", "CALL", "IND_CALL", "RET", "SYSCALL", "SYSRET", "COND_CALL",
		"COND_RET", "ERET", "IRQ", "SERROR", "NO_TX"};
	static const char *const specs[] = {"", "SPEC_WRONG_PATH", "NON_SPEC_CORRECT_PATH", "SPEC_CORRECT_PATH"};
	struct slice predicted = take_field(in), in_tx = take_field(in), aborted = take_field(in), count = take_field(in);
	uint64_t cycles = 0;

	*flags = has(predicted, 'P') ? IMPORT_PREDICTED : has(predicted, 'M') ? IMPORT_MISPREDICTED : 0;
	*flags |= has(in_tx, 'X') ? IMPORT_IN_TX : 0;
	*flags |= has(aborted, 'A') ? IMPORT_ABORT : 0;
	if (count.len && !(count.len == 1 && *count.at == '-') && (!take_number(&count, 10, &cycles) || count.len || cycles > UINT16_MAX))
		return false;
	*flags |= cycles << IMPORT_CYCLES_SHIFT;
	*flags |= name_index(take_field(in), types, sizeof types / sizeof *types) << TYPE_SHIFT;
	*flags |= name_index(take_field(in), specs, sizeof specs / sizeof *specs) << SPEC_SHIFT;
	return true;
}

/* Whether a word looks like a branch: an address, a slash, an address. */
static bool looks_like_branch(struct slice word)
{
	uint64_t v;

	return take_address(&word, &v) && take_char(&word, '/') && word.len >= 2 && word.at[0] == '0' && word.at[1] == 'x';
}

static bool parse_branch(struct slice word, struct import_branch *b)
{
	*b = (struct import_branch){0};
	return take_address(&word, &b->from) && take_char(&word, '/') && take_address(&word, &b->to) && take_char(&word, '/') &&
	       take_flags(&word, &b->flags);
}

static int add_branch(struct text_reader *r, struct slice word)
{
	uint64_t offset = (uint64_t)(word.at - r->all.at);
	struct import_branch b;

	if (!parse_branch(word, &b) || r->count == BRANCHES_MAX)
		return bt_fail_at(r->err, BT_E_CORRUPT, offset, "perf script: the branch at byte %llu is none", (unsigned long long)offset);
	if (r->count == r->cap) {
		size_t cap = r->cap ? r->cap * 2 : 64;
		struct import_branch *at = realloc(r->branches, cap * sizeof *at);

		if (!at)
			return bt_fail(r->err, BT_E_NO_MEMORY, 0, "out of memory for the import");
		r->branches = at;
		r->cap = cap;
	}
	r->branches[r->count++] = b;
	r->has_branches = true;
	return 0;
}

/* --- what stands before the branches --- */

static bool parse_id(struct slice word, uint32_t *out)
{
	bool negative = take_char(&word, '-');
	uint64_t v;

	if (!take_number(&word, 10, &v) || word.len || v > UINT32_MAX)
		return false;
	*out = negative ? 0u - (uint32_t)v : (uint32_t)v;
	return true;
}

/* PID/TID */
static bool parse_ids(struct slice word, struct import_thread_id *id)
{
	const uint8_t *slash = word.len ? memchr(word.at, '/', word.len) : NULL;
	struct slice pid = word, tid = word;

	if (!slash)
		return false;
	pid.len = (size_t)(slash - word.at);
	slice_take(&tid, pid.len + 1);
	return parse_id(pid, &id->pid) && parse_id(tid, &id->tid);
}

/* SECONDS.FRACTION: */
static bool parse_time(struct slice word, uint64_t *out)
{
	uint64_t seconds, fraction;
	size_t digits;

	if (!word.len || word.at[word.len - 1] != ':')
		return false;
	word.len--;
	if (!take_number(&word, 10, &seconds) || !take_char(&word, '.') || seconds > UINT64_MAX / 1000000000 - 1)
		return false;
	digits = word.len;
	if (digits > 9 || !take_number(&word, 10, &fraction) || word.len)
		return false;
	for (; digits < 9; digits++)
		fraction *= 10;
	*out = seconds * 1000000000 + fraction;
	return true;
}

/* [CPU] */
static bool parse_cpu(struct slice word, uint32_t *out)
{
	uint64_t v;

	if (!take_char(&word, '[') || !take_number(&word, 10, &v) || !take_char(&word, ']') || word.len || v >= UINT32_MAX)
		return false;
	*out = (uint32_t)v + 1;
	return true;
}

static bool parse_ip(struct slice word, uint64_t *out)
{
	if (word.len > 2 && word.at[0] == '0' && word.at[1] == 'x')
		slice_take(&word, 2);
	return take_number(&word, 16, out) && !word.len;
}

/* What was found in the words before the branches. */
struct head {
	struct import_sample sample;
	struct slice comm; /* from the first word to the ids */
	struct slice before; /* the last word that was nothing else yet */
	bool ids, time, event, ip;
};

/* One id alone stands before the CPU or the time. */
static void take_single_id(struct head *h, const uint8_t *line_start)
{
	uint32_t id;

	if (h->ids || !h->before.len || !parse_id(h->before, &id))
		return;
	h->ids = true;
	h->sample.id = (struct import_thread_id){id, id};
	h->comm = slice_of(line_start, (size_t)(h->before.at - line_start));
}

static void take_head_word(struct head *h, struct slice word, const uint8_t *line_start)
{
	uint64_t ip;

	if (!h->ids && !h->time && parse_ids(word, &h->sample.id)) {
		h->ids = true;
		h->comm = slice_of(line_start, (size_t)(word.at - line_start));
	} else if (!h->event && parse_cpu(word, &h->sample.cpu)) {
		take_single_id(h, line_start);
	} else if (!h->time && parse_time(word, &h->sample.time)) {
		take_single_id(h, line_start);
		h->time = true;
	} else if (!h->event && (h->ids || h->time) && word.len > 1 && word.at[word.len - 1] == ':') {
		h->event = true;
		h->sample.ip = 0; /* a number before it is a period */
		h->sample.event = slice_of(word.at, word.len - 1);
	} else if (!h->ip && parse_ip(word, &ip)) {
		h->sample.ip = ip;
		h->ip = h->event;
	}
	h->before = word;
}

static struct slice trimmed(struct slice s)
{
	while (s.len && is_space(*s.at))
		slice_take(&s, 1);
	while (s.len && is_space(s.at[s.len - 1]))
		s.len--;
	return s;
}

static void give_sample(struct text_reader *r)
{
	struct slice comm = bt_str(r->comm);

	if (!r->open)
		return;
	if (comm.len)
		importer_comm(r->im, r->sample.id, r->sample.time, comm, false);
	r->sample.has_branches = true;
	r->sample.branches = r->branches;
	r->sample.branch_count = r->count;
	importer_sample(r->im, &r->sample);
	r->open = false;
	r->count = 0;
}

/* A head begins a sample, but for the lines of a callchain, which have no more than an address and a function. */
static void take_head(struct text_reader *r, const struct head *h, bool branches)
{
	struct slice comm = trimmed(h->comm);
	bool begins = h->ids || h->time || (!r->open && branches) || (branches && r->has_branches);

	if (!begins && r->open && !r->sample.ip)
		r->sample.ip = h->sample.ip;
	if (!begins)
		return;
	give_sample(r);
	r->open = true;
	r->has_branches = false;
	r->sample = h->sample;
	snprintf(r->comm, sizeof r->comm, "%.*s", (int)(comm.len < NAME_MAX_LEN ? comm.len : NAME_MAX_LEN - 1),
		 comm.len ? (const char *)comm.at : "");
}

static int take_one_line(struct text_reader *r, struct slice line)
{
	const uint8_t *start = line.at;
	struct slice word = take_word(&line);
	struct head head = {.ids = false};
	int rc = 0;

	if (!word.len || *word.at == '#')
		return 0;
	for (; word.len && !looks_like_branch(word); word = take_word(&line))
		take_head_word(&head, word, start);
	take_head(r, &head, word.len);
	for (; word.len && !rc; word = take_word(&line))
		rc = add_branch(r, word);
	return rc;
}

bool brstack_text_is(struct slice text)
{
	if (text.len > BRSTACK_TEXT_LOOKED_AT)
		text.len = BRSTACK_TEXT_LOOKED_AT;
	if (!text.len || memchr(text.at, 0, text.len))
		return false;
	while (text.len) {
		struct slice line = take_line(&text), word;

		while ((word = take_word(&line)).len)
			if (looks_like_branch(word))
				return true;
	}
	return false;
}

int brstack_text_import(struct importer *im, struct slice text, struct bt_error *err)
{
	struct text_reader r = {.im = im, .all = text, .err = err};
	int rc = 0;

	importer_header(im)->source = bt_str("lbr");
	while (!rc && text.len && !importer_failed(im))
		rc = take_one_line(&r, take_line(&text));
	if (!rc)
		give_sample(&r);
	free(r.branches);
	return rc;
}
