/* SPDX-License-Identifier: MIT */
/* The events of a log (doc/FORMAT.md, "The log"), one after the other, each with its effects. Used
 * by the session that replays. Nothing in a log is trusted: what is wrong ends it, with the reason.
 */
#ifndef BT_LOG_EVENTS_H
#define BT_LOG_EVENTS_H

#include "collector/task/task.h"
#include "format/log_calls.h"
#include "format/log_processor.h"
#include "format/trace_cursor.h"
#include "lib/buf.h"

struct log_effect {
	uint16_t kind; /* enum bt_record_kind: LOG_DATA, LOG_SHAPE, LOG_STATE, LOG_OUTPUT */
	union {
		struct bt_record_log_data data;
		struct bt_record_log_shape shape;
		struct bt_record_log_state state;
		struct bt_record_log_output output;
	} u;
	size_t bytes_at; /* in log_events.bytes, of its slice */
};

struct log_events {
	struct trace_cursor cursor;
	bool opened;
	bool has_processor; /* what was offered to the recording is known: */
	struct processor_offer processor;
	struct bt_record event; /* the present one. Its slices live until the next one */
	bool of_calls; /* it is one of a LOG_CALLS, in the form of a LOG_CALL: of point only tick is
			  known, of regs the number and arg_count arguments, seq is 0 */
	unsigned arg_count;
	struct slice calls; /* that come next, of this task: */
	uint32_t calls_task;
	struct log_calls_codec codec;
	struct log_effect *effects;
	size_t count, cap;
	uint64_t most; /* bytes that the effects of one event may take here: packed, a file of some
			  kilobytes may hold gigabytes */
	struct buf bytes;
	struct buf info; /* of the event */
	bool over;       /* event is no more: reason says why */
	char reason[200];
	enum bt_error_code damage; /* then: what is wrong with the bytes of the log; 0: nothing */
	bool full;                 /* there is no memory for the effects of an event */
	bool cut_off;              /* the recorder did not get to the log's end */
};

/* Opens the trace's log. memory: bytes that the program may have, of which the effects of one event
 * may take half here; 0: it is not known. Errors: BT_E_UNSUPPORTED: it has none. The trace must
 * live as long as the events. */
int log_events_open(struct log_events *l, const struct trace *t, uint64_t memory,
		    struct bt_error *err) BT_MUST_USE;
void log_events_close(struct log_events *l);

/* Goes on to the next event. False at the log's end: l->over. */
bool log_events_next(struct log_events *l);

/* The bytes of an effect of the present event. */
struct slice log_effect_bytes(const struct log_events *l, const struct log_effect *e);

/* An event in words; its seq, 0: it has none; its point; its registers, NULL: it has none. */
enum { LOG_EVENT_NAME = 80 };
const char *log_event_name(const struct bt_record *rec, char out[LOG_EVENT_NAME]);
uint64_t log_event_seq(const struct bt_record *rec);
const struct bt_point *log_event_point(const struct bt_record *rec);
const struct bt_regs *log_event_regs(const struct bt_record *rec);

/* The present event is one of_calls, and the task has come to a call: what is not known of it is as
 * it came. */
void log_events_complete(struct log_events *l, const struct task *task);

#endif
