/* SPDX-License-Identifier: MIT */
/* The destination of a replay, as people name it (--to): an event, a point, the crash, the end of
 * the recording. It is of one task. Found in the trace, it is a point to which a replay comes. Used
 * by the session that replays and by the command. No state. */
#ifndef BT_DESTINATION_H
#define BT_DESTINATION_H

#include "collector/task/stop_point.h"
#include "format/trace_reader.h"

enum destination_kind {
	DESTINATION_POINT,
	DESTINATION_EVENT, /* the point of an event */
	DESTINATION_CRASH, /* the point at which the last deadly signal reached its task; else that
			of an exit with failure */
	DESTINATION_END,   /* the end of the log */
};

struct destination {
	enum destination_kind kind;
	uint64_t event; /* DESTINATION_EVENT: its seq; DESTINATION_CRASH: of that event, once it is
			   found */
	/* Once it is found; of DESTINATION_END not: */
	struct stop_point at;
	uint16_t is; /* kind of the event's record; 0: it is none */
	bool raised; /* an instruction raises a signal there: the task is there when it has */
};

/* EVENT, decimal or with 0x; @TICK; crash; end; or a point as btrec run --snap-at takes it
 * (stop_point.h), with or without @ before it where a + , @ or : is in it. False for other text:
 * *p is untouched then. */
bool destination_parse(const char *text, struct destination *p);

/* Finds p->at in the trace. Errors: BT_E_NOT_REACHED: the trace has no such event, or the event is
 * nowhere (the note of a mapping, say), or there was no crash. */
int destination_find(struct destination *p, const struct trace *t,
		     struct bt_error *err) BT_MUST_USE;

/* Room for destination_print(), with the NUL. */
enum { DESTINATION_TEXT = STOP_POINT_TEXT + 40 };
void destination_print(const struct destination *p, char *out, size_t size);

#endif
