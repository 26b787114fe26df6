/* SPDX-License-Identifier: MIT */
#include "collector/goals_missed.h"

#include <stdio.h>
#include <stdlib.h>

#include "format/trace_reader.h"

enum {
	SHOWN = 3, /* of hundreds */
};

/* Marks the first point of that name that is not marked: two may be the same. */
static void mark(const struct goal *goals, size_t count, struct slice label, bool *reached)
{
	for (size_t i = 0; i < count; i++) {
		char text[GOAL_TEXT];

		goal_print(&goals[i], text, sizeof text);
		if (reached[i] || !slice_is(label, text))
			continue;
		reached[i] = true;
		return;
	}
}

static bool find_reached(const char *path, const struct goal *goals, size_t count, bool *reached)
{
	struct trace_cursor c;
	struct bt_record rec;
	struct trace *t;
	int rc;

	if (trace_open_events(&t, path, NULL))
		return false;
	trace_cursor_init(&c, t, &t->files[0]);
	while ((rc = trace_cursor_next(&c, &rec, NULL)))
		if (rc > 0 && rec.kind == BT_RECORD_SNAPSHOT && rec.u.snapshot.kind == BT_SNAPSHOT_REQUEST)
			mark(goals, count, rec.u.snapshot.label, reached);
	trace_cursor_release(&c);
	trace_close(t);
	return true;
}

static void name_them(const struct goal *goals, size_t count, size_t missed, const bool *reached, char *text, size_t size)
{
	size_t shown = 0, n = 0;

	for (size_t i = 0; i < count && shown < SHOWN; i++) {
		char name[GOAL_TEXT];

		if (reached[i])
			continue;
		goal_print(&goals[i], name, sizeof name);
		n += (size_t)snprintf(text + n, size - n, "%s%s", shown++ ? ", " : ": ", name);
	}
	if (missed > shown && shown)
		snprintf(text + n, size - n, " and %zu more", missed - shown);
}

void goals_missed(const char *trace, const struct goal *goals, size_t count, size_t kept, char text[GOALS_MISSED_TEXT])
{
	bool *reached = calloc(count + 1, sizeof *reached);
	int n = snprintf(text, GOALS_MISSED_TEXT, "%zu of %zu points of --snap-at were never reached", count - kept, count);

	if (reached && n > 0 && find_reached(trace, goals, count, reached))
		name_them(goals, count, count - kept, reached, text + n, GOALS_MISSED_TEXT - (size_t)n);
	free(reached);
}
