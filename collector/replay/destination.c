/* SPDX-License-Identifier: MIT */
#include "collector/replay/destination.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/trace_cursor.h"

static bool parse_event(const char *text, uint64_t *event)
{
	int base = !strncmp(text, "0x", 2) ? 16 : 10;
	const char *digits = base == 16 ? text + 2 : text;
	char *end;

	if (!*digits ||
	    strspn(digits, base == 16 ? "0123456789abcdefABCDEF" : "0123456789") != strlen(digits))
		return false;
	errno = 0;
	*event = strtoull(digits, &end, base);
	return !errno;
}

bool destination_parse(const char *text, struct destination *p)
{
	struct destination found = {.kind = DESTINATION_POINT};

	if (!strcmp(text, "crash"))
		found.kind = DESTINATION_CRASH;
	else if (!strcmp(text, "end"))
		found.kind = DESTINATION_END;
	else if (parse_event(text, &found.event))
		found.kind = DESTINATION_EVENT;
	else if (!stop_point_parse(text + (*text == '@'), &found.at))
		return false;
	*p = found;
	return true;
}

/* Of the crash a signal tells more than the exit that follows it. */
static unsigned crash_weight(const struct bt_record *rec)
{
	if (rec->kind == BT_RECORD_SIGNAL)
		return rec->u.signal.action == BT_ACTION_TERMINATE ||
				       rec->u.signal.action == BT_ACTION_CORE
			       ? 2
			       : 0;
	return rec->kind == BT_RECORD_EXIT &&
	       (rec->u.exit.kind == BT_EXIT_SIGNAL ||
		(rec->u.exit.kind == BT_EXIT_STATUS && rec->u.exit.status));
}

/* Which of a trace's events is looked for, and what was found. */
struct finding {
	struct destination *destination;
	unsigned weight;  /* of the best event so far; 0: none was found */
	uint16_t nowhere; /* the event's kind, if it is at no point of a task; else 0 */
};

/* seq is the first member of every event (trace_events.c). */
static bool is_the_event(const struct destination *p, const struct bt_record *rec)
{
	return bt_record_name(rec->kind) && rec->kind != BT_RECORD_HEADER &&
	       rec->kind != BT_RECORD_UNIT && rec->u.end.seq == p->event;
}

static void look_at(struct finding *f, const struct bt_record *rec)
{
	const struct bt_point *point = bt_record_point(rec);
	uint32_t task = bt_record_task(rec);
	unsigned weight = f->destination->kind == DESTINATION_CRASH
				  ? crash_weight(rec)
				  : is_the_event(f->destination, rec);

	if (!weight || weight < f->weight)
		return;
	if (!task || !point) {
		f->nowhere = rec->kind;
		return;
	}
	f->nowhere = 0;
	f->weight = weight;
	f->destination->at = (struct stop_point){.task = task, .at = *point, .iteration = true};
	f->destination->event = rec->u.end.seq;
	f->destination->is = rec->kind;
	f->destination->raised = rec->kind == BT_RECORD_SIGNAL && rec->u.signal.sync;
}

static int say_nothing_found(const struct finding *f, const struct trace *t, struct bt_error *err)
{
	if (f->destination->kind == DESTINATION_CRASH)
		return bt_fail(err, BT_E_NOT_REACHED, 0,
			       "%s has no crash: no deadly signal, and no exit with failure",
			       t->path);
	if (f->nowhere)
		return bt_fail(err, BT_E_NOT_REACHED, 0,
			       "%s: event %" PRIu64 " is a %s, which is at no point of a task",
			       t->path, f->destination->event, bt_record_name(f->nowhere));
	return bt_fail(err, BT_E_NOT_REACHED, 0, "%s has no event %" PRIu64 " (0x%" PRIx64 ")",
		       t->path, f->destination->event, f->destination->event);
}

int destination_find(struct destination *p, const struct trace *t, struct bt_error *err)
{
	struct finding f = {.destination = p};
	struct trace_cursor c;
	struct bt_record rec;
	struct bt_error damage;
	int rc;

	if (p->kind != DESTINATION_EVENT && p->kind != DESTINATION_CRASH)
		return 0;
	trace_cursor_init(&c, t, &t->files[0]);
	/* Damaged records are passed over: the destination may be behind them. */
	while ((rc = trace_cursor_next(&c, &rec, &damage)) != 0 && rc != -BT_E_TRUNCATED &&
	       rc != -BT_E_NO_MEMORY && rc != -BT_E_IO)
		if (rc == 1)
			look_at(&f, &rec);
	trace_cursor_release(&c);
	return f.weight ? 0 : say_nothing_found(&f, t, err);
}

void destination_print(const struct destination *p, char *out, size_t size)
{
	char at[STOP_POINT_TEXT];

	stop_point_print(&p->at, at, sizeof at);
	if (p->kind == DESTINATION_EVENT)
		snprintf(out, size, "event %" PRIu64 " (%s)", p->event, at);
	else
		snprintf(out, size, "%s",
			 p->kind == DESTINATION_END     ? "the end"
			 : p->kind == DESTINATION_CRASH ? "the crash"
							: at);
}
