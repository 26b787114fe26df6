/* SPDX-License-Identifier: MIT */
#include "commands/missed_stop_points.h"

#include <stdio.h>
#include <stdlib.h>

#include "format/trace_cursor.h"

enum {
	SHOWN = 3, /* of hundreds */
};

/* Marks the first unmarked point of that name: two may be the same. */
static void mark_missed(const struct stop_point *stop_points, size_t count, struct slice label,
			bool *reached)
{
	for (size_t i = 0; i < count; i++) {
		char text[STOP_POINT_TEXT];

		stop_point_print(&stop_points[i], text, sizeof text);
		if (reached[i] || !slice_is(label, text))
			continue;
		reached[i] = true;
		return;
	}
}

static bool find_reached(const char *path, const struct stop_point *stop_points, size_t count,
			 bool *reached)
{
	struct trace_cursor c;
	struct bt_record rec;
	struct trace *t;
	int rc;

	if (trace_open_events(&t, path, NULL))
		return false;
	trace_cursor_init(&c, t, &t->files[0]);
	while ((rc = trace_cursor_next(&c, &rec, NULL)))
		if (rc > 0 && rec.kind == BT_RECORD_SNAPSHOT &&
		    rec.u.snapshot.kind == BT_SNAPSHOT_REQUEST)
			mark_missed(stop_points, count, rec.u.snapshot.label, reached);
	trace_cursor_release(&c);
	trace_close(t);
	return true;
}

static void name_them(const struct stop_point *stop_points, size_t count, size_t missed,
		      const bool *reached, char *text, size_t size)
{
	size_t shown = 0, n = 0;

	for (size_t i = 0; i < count && shown < SHOWN; i++) {
		char name[STOP_POINT_TEXT];

		if (reached[i])
			continue;
		stop_point_print(&stop_points[i], name, sizeof name);
		n += (size_t)snprintf(text + n, size - n, "%s%s", shown++ ? ", " : ": ", name);
	}
	if (missed > shown && shown)
		snprintf(text + n, size - n, " and %zu more", missed - shown);
}

void missed_stop_points(const char *trace, const struct stop_point *stop_points, size_t count,
			size_t kept, char text[MISSED_STOP_POINTS_TEXT])
{
	bool *reached = calloc(count + 1, sizeof *reached);
	int n = snprintf(text, MISSED_STOP_POINTS_TEXT,
			 "%zu of %zu points of --snap-at were never reached", count - kept, count);

	if (reached && n > 0 && find_reached(trace, stop_points, count, reached))
		name_them(stop_points, count, count - kept, reached, text + n,
			  MISSED_STOP_POINTS_TEXT - (size_t)n);
	free(reached);
}
