/* SPDX-License-Identifier: MIT */
#include "collector/replay/log_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"
#include "syscalls/syscall_names.h"

/* The processor is told by the log's first record. */
static void learn_processor(struct log_events *l, const struct trace *t,
			    const struct trace_file *file)
{
	struct trace_cursor first;
	struct bt_record rec;
	struct bt_error err;

	trace_cursor_init(&first, t, file);
	l->has_processor =
		trace_cursor_next(&first, &rec, &err) == 1 && rec.kind == BT_RECORD_LOG_PROCESSOR;
	if (l->has_processor)
		log_processor_decode(&rec.u.log_processor, &l->processor);
	trace_cursor_release(&first);
}

/* A system call moves less than 2 GB (MAX_RW_COUNT in Linux' include/linux/fs.h). */
#define EFFECTS_MOST ((uint64_t)4 << 30)

int log_events_open(struct log_events *l, const struct trace *t, uint64_t memory,
		    struct bt_error *err)
{
	*l = (struct log_events){.most = memory && memory / 2 < EFFECTS_MOST ? memory / 2
									     : EFFECTS_MOST};
	for (size_t i = 0; i < t->file_count; i++) {
		if (t->files[i].kind != BT_FILE_LOG)
			continue;
		trace_cursor_init(&l->cursor, t, &t->files[i]);
		l->opened = true;
		learn_processor(l, t, &t->files[i]);
		return 0;
	}
	return bt_fail(err, BT_E_UNSUPPORTED, 0,
		       "%s: cannot be replayed: it has no log (btrec run --replayable keeps one)",
		       t->path);
}

void log_events_close(struct log_events *l)
{
	if (l->opened)
		trace_cursor_release(&l->cursor);
	free(l->effects);
	buf_release(&l->bytes);
	buf_release(&l->info);
	*l = (struct log_events){0};
}

static bool ends(struct log_events *l, const char *reason)
{
	l->over = true;
	snprintf(l->reason, sizeof l->reason, "%.199s", reason);
	return false;
}

/* The slice of an effect, which lives as long as the cursor's block. NULL: it has none. */
static struct slice *bytes_of(struct log_effect *e)
{
	return e->kind == BT_RECORD_LOG_DATA     ? &e->u.data.bytes
	       : e->kind == BT_RECORD_LOG_STATE  ? &e->u.state.extended
	       : e->kind == BT_RECORD_LOG_OUTPUT ? &e->u.output.bytes
						 : NULL;
}

/* Takes a copy of an effect. False without memory, or with too many of them. */
static bool take_effect(struct log_events *l, const struct bt_record *rec)
{
	struct log_effect *effects, *e;
	struct slice *bytes;

	if (l->bytes.len + l->count * sizeof *effects > l->most)
		return false;
	effects = array_grow(l->effects, l->count, &l->cap, sizeof *effects);
	if (!effects)
		return false;
	l->effects = effects;
	e = &effects[l->count++];
	*e = (struct log_effect){.kind = rec->kind, .bytes_at = l->bytes.len};
	if (rec->kind == BT_RECORD_LOG_DATA)
		e->u.data = rec->u.log_data;
	else if (rec->kind == BT_RECORD_LOG_SHAPE)
		e->u.shape = rec->u.log_shape;
	else if (rec->kind == BT_RECORD_LOG_STATE)
		e->u.state = rec->u.log_state;
	else
		e->u.output = rec->u.log_output;
	bytes = bytes_of(e);
	if (bytes)
		buf_put(&l->bytes, bytes->at, bytes->len);
	return !l->bytes.failed;
}

struct slice log_effect_bytes(const struct log_events *l, const struct log_effect *e)
{
	struct log_effect copy = *e;
	const struct slice *bytes = bytes_of(&copy);

	return bytes ? slice_of(l->bytes.data + e->bytes_at, bytes->len) : slice_of(NULL, 0);
}

/* Makes the next of the calls the present event. */
static bool take_call(struct log_events *l)
{
	struct bt_logged_call call;
	struct bt_record_log_call *c = &l->event.u.log_call;
	int rc = log_calls_decode(&l->codec, &l->calls, &call);

	if (rc != 1) {
		l->damage = BT_E_CORRUPT;
		return ends(l, "calls that make no sense");
	}
	l->event = (struct bt_record){.kind = BT_RECORD_LOG_CALL};
	c->point.tick = call.tick;
	c->regs = (struct bt_regs){.rdi = call.args[0],
				   .rsi = call.args[1],
				   .rdx = call.args[2],
				   .r10 = call.args[3],
				   .r8 = call.args[4],
				   .r9 = call.args[5],
				   .orig_rax = call.nr};
	c->task = l->calls_task;
	c->result = call.result;
	c->again = call.again;
	l->of_calls = true;
	l->arg_count = call.arg_count;
	for (unsigned i = 0; i < call.data_count; i++) {
		const struct bt_record data = {
			.kind = BT_RECORD_LOG_DATA,
			.u.log_data = {.addr = call.data[i].addr, .bytes = call.data[i].bytes}};

		if (!take_effect(l, &data)) {
			l->full = true;
			return ends(l, "out of memory");
		}
	}
	return true;
}

bool log_events_next(struct log_events *l)
{
	struct bt_record rec;
	struct bt_error err;
	int rc;

	if (l->over)
		return false;
	l->count = 0;
	l->of_calls = false;
	buf_reset(&l->bytes);
	if (l->calls.len)
		return take_call(l);
	while ((rc = trace_cursor_next(&l->cursor, &rec, &err)) == 1) {
		switch (rec.kind) {
		case BT_RECORD_LOG_DATA:
		case BT_RECORD_LOG_SHAPE:
		case BT_RECORD_LOG_STATE:
		case BT_RECORD_LOG_OUTPUT:
			if (take_effect(l, &rec))
				break;
			l->full = true;
			return ends(l, "out of memory");
		case BT_RECORD_LOG_END:
			snprintf(l->reason, sizeof l->reason, "%.*s",
				 (int)(rec.u.log_end.reason.len < 150 ? rec.u.log_end.reason.len
								      : 150),
				 (const char *)rec.u.log_end.reason.at);
			l->over = true;
			return false;
		case BT_RECORD_LOG_CALLS: /* the first has the effects before it, too */
			l->calls = rec.u.log_calls.calls;
			l->calls_task = rec.u.log_calls.task;
			l->codec = (struct log_calls_codec){.tick = rec.u.log_calls.tick};
			if (!l->calls.len)
				break;
			return take_call(l);
		case BT_RECORD_LOG:
		case BT_RECORD_LOG_CALL:
		case BT_RECORD_LOG_SIGNAL:
		case BT_RECORD_LOG_HANDLER:
		case BT_RECORD_LOG_EXIT:
		case BT_RECORD_LOG_INSTRUCTION:
			l->event = rec;
			return true;
		default: /* of a later version: an event that changes nothing */
			break;
		}
	}
	l->cut_off = rc == 0 || rc == -BT_E_TRUNCATED;
	if (l->cut_off)
		return ends(l, "the recorder was cut off there");
	l->damage = err.code;
	return ends(l, err.text);
}

/* ---- The present event ---- */

const char *log_event_name(const struct bt_record *rec, char out[LOG_EVENT_NAME])
{
	char name[SYSCALL_NAME_MAX];

	switch (rec->kind) {
	case BT_RECORD_LOG_CALL:
		snprintf(out, LOG_EVENT_NAME, "the system call %s",
			 syscall_name(rec->u.log_call.regs.orig_rax, name));
		break;
	case BT_RECORD_LOG_SIGNAL:
		snprintf(out, LOG_EVENT_NAME, "signal %u", rec->u.log_signal.signo);
		break;
	case BT_RECORD_LOG_HANDLER:
		snprintf(out, LOG_EVENT_NAME, "a signal handler");
		break;
	case BT_RECORD_LOG_INSTRUCTION:
		snprintf(out, LOG_EVENT_NAME, "an instruction with a result of its own");
		break;
	default:
		snprintf(out, LOG_EVENT_NAME, "the end of the task");
	}
	return out;
}

uint64_t log_event_seq(const struct bt_record *rec)
{
	return rec->kind == BT_RECORD_LOG_CALL      ? rec->u.log_call.seq
	       : rec->kind == BT_RECORD_LOG_SIGNAL  ? rec->u.log_signal.seq
	       : rec->kind == BT_RECORD_LOG_HANDLER ? rec->u.log_handler.seq
	       : rec->kind == BT_RECORD_LOG_EXIT    ? rec->u.log_exit.seq
						    : 0;
}

const struct bt_point *log_event_point(const struct bt_record *rec)
{
	switch (rec->kind) {
	case BT_RECORD_LOG_CALL:
		return &rec->u.log_call.point;
	case BT_RECORD_LOG_SIGNAL:
		return &rec->u.log_signal.point;
	case BT_RECORD_LOG_HANDLER:
		return &rec->u.log_handler.point;
	case BT_RECORD_LOG_EXIT:
		return &rec->u.log_exit.point;
	case BT_RECORD_LOG_INSTRUCTION:
		return &rec->u.log_instruction.point;
	default:
		return &rec->u.log.point;
	}
}

const struct bt_regs *log_event_regs(const struct bt_record *rec)
{
	return rec->kind == BT_RECORD_LOG_CALL     ? &rec->u.log_call.regs
	       : rec->kind == BT_RECORD_LOG_SIGNAL ? &rec->u.log_signal.regs
						   : NULL;
}

void log_events_complete(struct log_events *l, const struct task *task)
{
	struct bt_record_log_call *call = &l->event.u.log_call;
	const struct bt_regs known = call->regs;
	const uint64_t args[] = {known.rdi, known.rsi, known.rdx, known.r10, known.r8, known.r9};
	uint64_t tick = call->point.tick;
	uint64_t *const to[] = {&call->regs.rdi, &call->regs.rsi, &call->regs.rdx,
				&call->regs.r10, &call->regs.r8,  &call->regs.r9};

	call->regs = task->regs;
	call->regs.orig_rax = known.orig_rax;
	for (unsigned i = 0; i < l->arg_count; i++)
		*to[i] = args[i];
	call->point = task_point(task);
	call->point.tick = tick;
}
