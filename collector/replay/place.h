/* SPDX-License-Identifier: MIT */
/* A place in a recording, as people name it: an event, a point, the crash, the end. It is of one
 * task. Found in the trace, then it is a point to which a replay comes. Used by the session that
 * replays and by the command. No state. */
#ifndef BT_PLACE_H
#define BT_PLACE_H

#include "collector/task/stop_point.h"
#include "format/trace_reader.h"

enum place_kind {
	PLACE_POINT,
	PLACE_EVENT, /* the point of an event */
	PLACE_CRASH, /* the point at which the last deadly signal reached its task; else that of an
			exit with failure */
	PLACE_END,   /* the end of the log */
};

struct place {
	enum place_kind kind;
	uint64_t event; /* PLACE_EVENT: its seq; PLACE_CRASH: of that event, once it is found */
	/* Once it is found; of PLACE_END not: */
	struct stop_point at;
	uint16_t is; /* kind of the event's record; 0: it is none */
	bool raised; /* an instruction raises a signal there: the task is there when it has */
};

/* EVENT, decimal or with 0x; @TICK; crash; end; or a point as btrec run --snap-at takes it
 * (stop_point.h), with or without @ before it where a + , @ or : is in it. False for other text:
 * *p is untouched then. */
bool place_parse(const char *text, struct place *p);

/* Finds p->at in the trace. Errors: BT_E_NOT_REACHED: the trace has no such event, or the event is
 * nowhere (the note of a mapping, say), or there was no crash. */
int place_find(struct place *p, const struct trace *t, struct bt_error *err) BT_MUST_USE;

/* Room for place_print(), with the NUL. */
enum { PLACE_TEXT = STOP_POINT_TEXT + 40 };
void place_print(const struct place *p, char *out, size_t size);

#endif
