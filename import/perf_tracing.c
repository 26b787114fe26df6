/* SPDX-License-Identifier: MIT */
/* The formats of tracepoints, which a capture holds in the form of trace-cmd (read by
 * tools/perf/util/trace-event-read.c): of them, the names of the events. In a pipe nothing else may
 * have these. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/perf_private.h"
#include "import/text_cursor.h"

enum {
	TYPE_TRACEPOINT = 2,
	LINES_MAX = 16, /* the number stands in the second one */
};

static bool take_exactly(struct slice *in, const char *bytes, size_t n)
{
	struct slice got = slice_take(in, n);

	return !got.bad && !memcmp(got.at, bytes, n);
}

/* A string and the NUL behind it. */
static struct slice take_c_string(struct slice *in)
{
	const uint8_t *end = in->len ? memchr(in->at, 0, in->len) : NULL;
	struct slice text = slice_take(in, end ? (size_t)(end - in->at) : in->len + 1);

	slice_take(in, 1);
	return text;
}

static struct slice take_sized(struct slice *in)
{
	uint64_t size = slice_u64(in);

	return slice_take(in, size < SIZE_MAX ? (size_t)size : SIZE_MAX);
}

/* The rest of a line that begins with the word; empty of any other. */
static struct slice line_value(struct slice line, const char *word)
{
	size_t n = strlen(word);

	if (line.len < n || memcmp(line.at, word, n))
		return (struct slice){0};
	slice_take(&line, n);
	return line;
}

/* A tracepoint among the events: its number, and where it is described. */
struct point {
	uint64_t number;
	uint32_t attr;
	bool named;
};

/* By number. */
struct points {
	struct perf_reader *r;
	struct point *at;
	size_t count;
};

static int compare_numbers(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static void name_points(const struct points *p, uint64_t number, struct slice system,
			struct slice name)
{
	struct point key = {.number = number},
		     *found = bsearch(&key, p->at, p->count, sizeof key, compare_numbers);

	if (!found || found->named) /* with all of that number */
		return;
	while (found > p->at && found[-1].number == number)
		found--;
	for (; found < p->at + p->count && found->number == number; found++) {
		struct perf_attr *a = &p->r->attrs[found->attr];

		snprintf(a->name, sizeof a->name, "%.*s:%.*s",
			 (int)(system.len < PERF_NAME_MAX ? system.len : PERF_NAME_MAX),
			 (const char *)system.at,
			 (int)(name.len < PERF_NAME_MAX ? name.len : PERF_NAME_MAX),
			 (const char *)name.at);
		found->named = true;
	}
}

/* "name: sched_switch", "ID: 314", and the fields. */
static void take_format(const struct points *p, struct slice system, struct slice text)
{
	struct slice name = {0};
	uint64_t number;

	for (unsigned i = 0; i < LINES_MAX && text.len; i++) {
		struct slice line = text_take_line(&text), value = line_value(line, "name: ");

		if (value.len)
			name = value;
		value = line_value(line, "ID: ");
		if (name.len && text_take_number(&value, 10, &number) && !value.len) {
			name_points(p, number, system, name);
			return;
		}
	}
}

static void take_systems(const struct points *p, struct slice in)
{
	uint32_t systems = slice_u32(&in);

	for (; systems && !in.bad; systems--) {
		struct slice name = take_c_string(&in);
		uint32_t formats = slice_u32(&in);

		for (; formats && !in.bad; formats--) {
			struct slice text = take_sized(&in);

			if (!text.bad)
				take_format(p, name, text);
		}
	}
}

/* Goes to the formats by system. False when these bytes are something else. */
static bool skip_head(struct slice *in)
{
	uint32_t ftrace;

	if (!take_exactly(in, "\027\010\104tracing", 10))
		return false;
	take_c_string(in); /* version */
	if (slice_u8(in))
		return false;  /* of another byte order */
	slice_take(in, 1 + 4); /* sizes of a long and of a page */
	if (!take_exactly(in, "header_page", 12))
		return false;
	take_sized(in);
	if (!take_exactly(in, "header_event", 13))
		return false;
	take_sized(in);
	for (ftrace = slice_u32(in); ftrace && !in->bad; ftrace--)
		take_sized(in);
	return !in->bad;
}

int perf_tracing_data(struct perf_reader *r, struct slice in)
{
	struct points p = {.r = r};

	if (!in.len || !r->attr_count || !skip_head(&in))
		return 0;
	p.at = calloc(r->attr_count, sizeof *p.at);
	if (!p.at)
		return perf_no_memory(r);
	for (size_t i = 0; i < r->attr_count; i++)
		if (r->attrs[i].type == TYPE_TRACEPOINT)
			p.at[p.count++] =
				(struct point){.number = r->attrs[i].config, .attr = (uint32_t)i};
	if (p.count) {
		qsort(p.at, p.count, sizeof *p.at, compare_numbers);
		take_systems(&p, in);
	}
	free(p.at);
	return 0;
}
