/* SPDX-License-Identifier: MIT */
/* The events of a log (doc/FORMAT.md, "The log"), one after the other, each with its effects. Used
 * by the session that replays. Nothing in a log is trusted: damage ends it, with the reason. */
#ifndef BT_LOG_READER_H
#define BT_LOG_READER_H

#include "collector/replay/log_event.h"
#include "collector/replay/mapped_copies.h"
#include "collector/replay/met_objects.h"
#include "collector/task/task.h"
#include "format/log_calls.h"
#include "format/log_processor.h"
#include "format/trace_cursor.h"
#include "lib/buf.h"

struct log_effect {
	uint16_t kind; /* enum bt_record_kind: LOG_DATA, LOG_SHAPE, LOG_STATE, LOG_OUTPUT,
			  LOG_UNSEEN, LOG_STACK_LIMIT */
	union {
		struct bt_record_log_data data;
		struct bt_record_log_shape shape;
		struct bt_record_log_state state;
		struct bt_record_log_output output;
		struct bt_record_log_unseen unseen;
		struct bt_record_log_stack_limit stack_limit;
	} u;
	size_t bytes_at; /* in log_item.bytes, of its slice */
};

/* The next item of a log: an event with its effects, or (over) the log's end. */
struct log_item {
	struct bt_record event; /* its slices live until the log is read on */
	struct log_effect *effects;
	size_t count, cap;
	struct buf bytes; /* of the effects */
	bool over;        /* event is none: reason says why */
	char reason[200];
	enum bt_error_code damage; /* then: the damage in the log's bytes; BT_E_NO_MEMORY, BT_E_IO:
				      they could not be read; 0: none */
	bool full;                 /* the effects of an event take more than they may */
	bool cut_off;              /* the recorder did not get to the log's end */
};

/* Calls of LOG_CALLS records, decoded: those from `next` on are still to come. */
struct log_queue {
	struct bt_logged_call *calls;       /* their data lie in bytes */
	struct bt_record_log_shape *shapes; /* of each: end 0: it has none */
	size_t next, count;
	struct buf bytes;
	/* Those that are not decoded yet, of the record read last: */
	struct slice rest;
	struct log_calls_codec codec;
	struct bt_logged_output output;   /* of the first of those, */
	struct bt_record_log_shape shape; /* and its shape; end 0: it has none */
	bool corrupt;                     /* the bytes behind them make no sense */
	uint32_t task;
};

struct log_reader {
	struct trace_cursor cursor;
	bool opened;
	bool has_processor; /* the recording's processor is known: */
	struct processor_offer processor;
	struct log_item now; /* the present event */
	bool of_calls; /* it is one of a LOG_CALLS, in the form of a LOG_CALL: of point only tick is
			  known, of regs the number and arg_count arguments, seq is 0; or in the
			  form of a LOG_INSTRUCTION: of regs what the instruction gave */
	bool has_effects; /* and it has others than its own data */
	unsigned arg_count;
	struct log_queue queue; /* of_calls: the present event is the first of it */
	bool has_behind;        /* the item behind the queue is known: */
	struct log_item behind;
	struct met_objects objects;
	const struct trace *trace;
	struct mapped_copies copies;
	uint64_t passed;       /* events before the present one, */
	uint64_t passed_calls; /* and how many of them were calls of LOG_CALLS */
	uint64_t most; /* bytes that the effects of one event may take here: packed, a file of
			  some kilobytes may hold gigabytes */
};

/* Opens the trace's log. memory: bytes that the program may have, of which the effects of one event
 * may take half here; 0: it is not known. Errors: BT_E_UNSUPPORTED: it has none. The trace must
 * live as long as the events. */
int log_reader_open(struct log_reader *l, const struct trace *t, uint64_t memory,
		    struct bt_error *err) BT_MUST_USE;
void log_reader_close(struct log_reader *l);

/* Goes on to the next event. False at the log's end: l->now.over. */
bool log_reader_next(struct log_reader *l);

/* The present event is of_calls: it and those of the same kind behind it, as far as they have been
 * read. Returns how many: the last is followed by l->behind, if that is known. They live until
 * log_reader_next(). */
size_t log_reader_calls(const struct log_reader *l, const struct bt_logged_call **calls);

/* The shape of the i-th of these; NULL: it has none. */
const struct bt_record_log_shape *log_reader_shape(const struct log_reader *l, size_t i);

/* Passes over n - 1 of these: the last of n is the present event. */
void log_reader_pass(struct log_reader *l, size_t n);

/* The bytes of an effect of the present event. */
struct slice log_effect_bytes(const struct log_reader *l, const struct log_effect *e);

/* Whether the present event is a call whose number is of the 32-bit table, as its code's width, or
 * the SYSCALL_ENTER that the trace has of it, says: 64-bit code may make such calls, too (int
 * 0x80). Reads the trace's events: for an event that is told, not for each. */
bool log_reader_is_compat(const struct log_reader *l);

/* What the present event is, which is one of_calls. */
enum bt_logged_form log_reader_form(const struct log_reader *l);

/* The present event is one of_calls, and the task has come to a call, or is behind an instruction:
 * what is not known of it is as it came. */
void log_reader_complete(struct log_reader *l, const struct task *task);

#endif
