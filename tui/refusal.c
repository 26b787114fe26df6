/* SPDX-License-Identifier: MIT */
/* Names are compared without parameters, namespaces and case, by how many characters must be
 * added, left out or replaced to make one of the other (Levenshtein). */
#include "tui/refusal.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "decoder/cause/focus.h"
#include "decoder/symbols/function_name.h"
#include "decoder/symbols/text.h"
#include "lib/hash_table.h"
#include "lib/name_pattern.h"

enum {
	NEAREST = 3,
	COMPARED_MAX = 64, /* characters of a name */
	LISTED = 8,        /* numbers with gaps between them */
};

__attribute__((format(printf, 2, 3))) static void add(char out[REFUSAL_MAX], const char *fmt, ...)
{
	size_t n = strlen(out);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out + n, REFUSAL_MAX - n, fmt, ap);
	va_end(ap);
}

/* "1", "1 and 2", "1 to 5", "1, 4 and 9": ascending numbers. */
static void add_numbers(char out[REFUSAL_MAX], uint32_t (*number)(const struct model *m, size_t i),
			const struct model *m, size_t count)
{
	uint32_t first = number(m, 0), last = number(m, count - 1);

	if (count > 2 && last - first == count - 1) {
		add(out, "%" PRIu32 " to %" PRIu32, first, last);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (count > LISTED && i == LISTED - 1) {
			add(out, " ... %" PRIu32, last);
			return;
		}
		add(out, "%s%" PRIu32, !i ? "" : i + 1 == count ? " and " : ", ", number(m, i));
	}
}

static uint32_t snapshot_number(const struct model *m, size_t i)
{
	return m->snapshots[i].rec->snapshot;
}

static uint32_t task_number(const struct model *m, size_t i) { return m->tasks[i].task; }

void refusal_snapshot(char out[REFUSAL_MAX], const struct model *m, uint32_t asked)
{
	size_t n = m->snapshot_count;

	snprintf(out, REFUSAL_MAX, "no snapshot %" PRIu32 ": the trace has %s", asked,
		 n ? "" : "no moments");
	if (!n)
		return;
	add(out, "%zu moment%s: ", n, n == 1 ? "" : "s");
	add_numbers(out, snapshot_number, m, n);
}

void refusal_thread(char out[REFUSAL_MAX], const struct model *m, uint32_t asked)
{
	size_t n = m->task_count;

	snprintf(out, REFUSAL_MAX, "no task or thread %" PRIu32 ": the trace has %s", asked,
		 n ? "" : "no tasks");
	if (!n)
		return;
	add(out, "%zu task%s: ", n, n == 1 ? "" : "s");
	add_numbers(out, task_number, m, n);
}

/* ---- Names ---- */

struct nearest {
	const char *wanted; /* as compared() leaves it */
	size_t most;        /* a name that is further away is none */
	char names[NEAREST][FUNCTION_NAME_MAX];
	size_t distances[NEAREST], count;
};

/* The last component of a name, in lower case. */
static void compared(char out[COMPARED_MAX + 1], const char *name)
{
	const char *at = name;
	size_t n = 0;

	for (const char *s = name; *s; s++)
		if ((s[0] == ':' && s[1] == ':' && s[2]) || (*s == '.' && s[1]))
			at = s + (*s == ':' ? 2 : 1);
	while (*at == ':')
		at++;
	for (; n < COMPARED_MAX && at[n]; n++)
		out[n] = (char)tolower((unsigned char)at[n]);
	out[n] = '\0';
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static size_t distance(const char *a, const char *b)
{
	size_t row[COMPARED_MAX + 1], len = strlen(b);

	for (size_t j = 0; j <= len; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= len; j++) {
			size_t replaced = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			row[j] = least(replaced, 1 + least(row[j], row[j - 1]));
		}
	}
	return row[len];
}

static void take_name(struct nearest *n, const char *function)
{
	char name[FUNCTION_NAME_MAX], last[COMPARED_MAX + 1];
	size_t d, at;

	function_name_plain(name, function);
	compared(last, name);
	d = strstr(last, n->wanted) ? 1 : distance(last, n->wanted);
	if (!*last || d > n->most)
		return;
	for (size_t i = 0; i < n->count; i++)
		if (!strcmp(n->names[i], name))
			return;
	at = n->count;
	while (at && n->distances[at - 1] > d)
		at--;
	if (at == NEAREST)
		return;
	if (n->count < NEAREST)
		n->count++;
	memmove(n->names[at + 1], n->names[at], (n->count - 1 - at) * sizeof n->names[0]);
	memmove(n->distances + at + 1, n->distances + at,
		(n->count - 1 - at) * sizeof *n->distances);
	memcpy(n->names[at], name, sizeof name);
	n->distances[at] = d;
}

/* Each address once. Without memory names are looked at again. */
static void take_place(struct nearest *n, struct hash_table *seen, struct symbols *s,
		       uint32_t space, uint32_t epoch, uint64_t addr)
{
	struct location loc;

	if (!addr || hash_table_find(seen, addr))
		return;
	hash_table_add(seen, (struct hash_slot){.key = addr, .number = 1});
	symbols_lookup(s, space, epoch, addr, false, &loc);
	if (*loc.function)
		take_name(n, loc.function);
	for (size_t i = 0; i < loc.inlined_count; i++)
		take_name(n, loc.inlined[i].function);
}

static void take_history(struct nearest *n, const struct model *m, struct symbols *s, uint32_t task)
{
	struct hash_table seen = {0};
	struct history h;

	if (history_load_calls(&h, m, task, NULL, NULL))
		return;
	for (size_t i = 0; i < h.count; i++) {
		const struct history_entry *e = &h.entries[i];
		uint32_t space, epoch;

		if (e->kind == BT_BRANCH_GAP)
			continue;
		history_target(&h, e, &space, &epoch);
		take_place(n, &seen, s, e->space, e->epoch, e->from);
		take_place(n, &seen, s, space, epoch, e->to);
	}
	hash_table_release(&seen);
	history_release(&h);
}

void refusal_function(char out[REFUSAL_MAX], const struct model *m, struct symbols *s,
		      const struct report_options *o)
{
	char wanted[COMPARED_MAX + 1], plain[FUNCTION_NAME_MAX];
	struct nearest n = {.wanted = wanted};
	struct focus f;
	size_t file;
	int line;

	if (source_position_parse(o->function, &file, &line)) {
		snprintf(out, REFUSAL_MAX, "no branch from or to %.200s in this history",
			 o->function);
		return;
	}
	snprintf(out, REFUSAL_MAX, "no function %.200s in this history", o->function);
	compared(wanted, function_name_plain(plain, o->function));
	n.most = strlen(wanted) < 4 ? 1 : strlen(wanted) / 3 + 1;
	if (*wanted && !focus_choose(&f, m, o) && f.task)
		take_history(&n, m, s, f.task->task);
	for (size_t i = 0; i < n.count; i++)
		add(out, "%s%.100s",
		    i              ? i + 1 == n.count ? " and " : ", "
		    : n.count == 1 ? "; the nearest name is "
				   : "; the nearest names are ",
		    n.names[i]);
}
