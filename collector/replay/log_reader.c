/* SPDX-License-Identifier: MIT */
#include "collector/replay/log_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/replay/host.h"
#include "collector/tracee/tracee.h"
#include "lib/grow.h"

/* The processor is told by the log's first record. */
static void learn_processor(struct log_reader *l, const struct trace *t,
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

int log_reader_open(struct log_reader *l, const struct trace *t, uint64_t memory,
		    struct bt_error *err)
{
	*l = (struct log_reader){.trace = t,
				 .most = memory && memory / 2 < EFFECTS_MOST ? memory / 2
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

static void item_release(struct log_item *item)
{
	free(item->effects);
	buf_release(&item->bytes);
}

void log_reader_close(struct log_reader *l)
{
	if (l->opened)
		trace_cursor_release(&l->cursor);
	item_release(&l->now);
	item_release(&l->behind);
	free(l->queue.calls);
	free(l->queue.shapes);
	buf_release(&l->queue.bytes);
	met_objects_release(&l->objects);
	mapped_copies_release(&l->copies);
	*l = (struct log_reader){0};
}

static bool item_ends(struct log_item *item, const char *reason)
{
	item->over = true;
	snprintf(item->reason, sizeof item->reason, "%.199s", reason);
	return false;
}

static bool item_ends_full(struct log_item *item)
{
	item->full = true;
	return item_ends(item, "the effects of an event take more memory than they may");
}

static bool item_ends_damaged(struct log_item *item, enum bt_error_code damage, const char *reason)
{
	item->damage = damage;
	return item_ends(item, reason);
}

static bool item_ends_without_memory(struct log_item *item)
{
	return item_ends_damaged(item, BT_E_NO_MEMORY, "out of memory");
}

/* The slice of an effect, which lives as long as the cursor's block. NULL: it has none. */
static struct slice *bytes_of(struct log_effect *e)
{
	return e->kind == BT_RECORD_LOG_DATA     ? &e->u.data.bytes
	       : e->kind == BT_RECORD_LOG_STATE  ? &e->u.state.extended
	       : e->kind == BT_RECORD_LOG_OUTPUT ? &e->u.output.bytes
						 : NULL;
}

/* Takes a copy of an effect. False: the log ends there, without memory or with too many of them. */
static bool take_effect(struct log_item *item, uint64_t most, const struct bt_record *rec)
{
	struct log_effect *effects, *e;
	struct slice *bytes;

	if (item->bytes.len + item->count * sizeof *effects > most)
		return item_ends_full(item);
	effects = array_grow(item->effects, item->count, &item->cap, sizeof *effects);
	if (!effects)
		return item_ends_without_memory(item);
	item->effects = effects;
	e = &effects[item->count++];
	*e = (struct log_effect){.kind = rec->kind, .bytes_at = item->bytes.len};
	if (rec->kind == BT_RECORD_LOG_DATA)
		e->u.data = rec->u.log_data;
	else if (rec->kind == BT_RECORD_LOG_SHAPE)
		e->u.shape = rec->u.log_shape;
	else if (rec->kind == BT_RECORD_LOG_STATE)
		e->u.state = rec->u.log_state;
	else if (rec->kind == BT_RECORD_LOG_UNSEEN)
		e->u.unseen = rec->u.log_unseen;
	else if (rec->kind == BT_RECORD_LOG_STACK_LIMIT)
		e->u.stack_limit = rec->u.log_stack_limit;
	else
		e->u.output = rec->u.log_output;
	bytes = bytes_of(e);
	if (bytes)
		buf_put(&item->bytes, bytes->at, bytes->len);
	return !item->bytes.failed || item_ends_without_memory(item);
}

/* Bytes of an item's effects. Without any the item may have no memory for them. */
static struct slice item_bytes(const struct log_item *item, size_t at, size_t n)
{
	return n ? slice_of(item->bytes.data + at, n) : slice_of(NULL, 0);
}

struct slice log_effect_bytes(const struct log_reader *l, const struct log_effect *e)
{
	struct log_effect copy = *e;
	const struct slice *bytes = bytes_of(&copy);

	return item_bytes(&l->now, e->bytes_at, bytes ? bytes->len : 0);
}

/* ---- Reading ---- */

static void item_clear(struct log_item *item)
{
	item->count = 0;
	buf_reset(&item->bytes);
}

/* Makes what is in memory behind a LOG_OBJECT or LOG_AGAIN a LOG_DATA. False: the log ends there.
 */
static bool take_object(struct log_reader *l, struct log_item *item, const struct bt_record *rec)
{
	struct bt_record data = {.kind = BT_RECORD_LOG_DATA};
	struct bt_record_log_data *d = &data.u.log_data;

	if (rec->kind == BT_RECORD_LOG_OBJECT) {
		d->addr = rec->u.log_object.addr;
		d->bytes = rec->u.log_object.bytes;
		switch (met_objects_keep(&l->objects, d->bytes)) {
		case MET_OBJECT_TOO_MUCH:
			return item_ends_damaged(item, BT_E_CORRUPT,
						 "more objects than a log may have");
		case MET_OBJECT_NO_MEMORY:
			return item_ends_without_memory(item);
		case MET_OBJECT_KEPT:
			break;
		}
	} else {
		d->addr = rec->u.log_again.addr;
		if (!met_objects_get(&l->objects, rec->u.log_again.object, &d->bytes))
			return item_ends_damaged(item, BT_E_CORRUPT,
						 "an object that it does not have");
	}
	return take_effect(item, l->most, &data);
}

/* The same of a LOG_PIECE. */
static bool take_piece(struct log_reader *l, struct log_item *item,
		       const struct bt_record_log_piece *piece)
{
	struct bt_record data = {.kind = BT_RECORD_LOG_DATA, .u.log_data.addr = piece->addr};
	struct bt_error err;

	if (mapped_copies_get(&l->copies, l->trace, piece, &data.u.log_data.bytes, &err))
		return item_ends_damaged(item, err.code, err.text);
	return take_effect(item, l->most, &data);
}

/* Reads the next item at the cursor: an event with its effects; the end of the log; or a record of
 * calls, of which the item has the record alone. */
static void read_item(struct log_reader *l, struct log_item *item)
{
	struct bt_record rec;
	struct bt_error err;
	int rc;

	item_clear(item);
	while ((rc = trace_cursor_next(&l->cursor, &rec, &err)) == 1) {
		switch (rec.kind) {
		case BT_RECORD_LOG_DATA:
		case BT_RECORD_LOG_SHAPE:
		case BT_RECORD_LOG_STATE:
		case BT_RECORD_LOG_OUTPUT:
		case BT_RECORD_LOG_UNSEEN:
		case BT_RECORD_LOG_STACK_LIMIT:
			if (take_effect(item, l->most, &rec))
				break;
			return;
		case BT_RECORD_LOG_OBJECT:
		case BT_RECORD_LOG_AGAIN:
			if (take_object(l, item, &rec))
				break;
			return;
		case BT_RECORD_LOG_PIECE:
			if (take_piece(l, item, &rec.u.log_piece))
				break;
			return;
		case BT_RECORD_LOG_END:
			snprintf(item->reason, sizeof item->reason, "%.*s",
				 (int)(rec.u.log_end.reason.len < 150 ? rec.u.log_end.reason.len
								      : 150),
				 (const char *)rec.u.log_end.reason.at);
			item->over = true;
			return;
		case BT_RECORD_LOG_CALLS: /* the effects are of the first */
			if (!rec.u.log_calls.calls.len) {
				item_clear(item);
				break;
			}
			item->event = rec;
			return;
		case BT_RECORD_LOG:
		case BT_RECORD_LOG_CALL:
		case BT_RECORD_LOG_SIGNAL:
		case BT_RECORD_LOG_HANDLER:
		case BT_RECORD_LOG_EXIT:
		case BT_RECORD_LOG_INSTRUCTION:
			item->event = rec;
			return;
		default: /* of a later version: an event that changes nothing */
			break;
		}
	}
	item->cut_off = rc == 0 || rc == -BT_E_TRUNCATED;
	(void)item_ends(item, !item->cut_off            ? err.text
			      : l->trace->being_written ? "the log is still being written"
							: "the recorder was cut off there");
	item->damage = item->cut_off ? 0 : err.code;
}

static bool is_calls(const struct log_item *item)
{
	return !item->over && item->event.kind == BT_RECORD_LOG_CALLS;
}

/* Whether the only effect before these calls is what the first of them writes for the user. */
static bool has_output_alone(const struct log_item *item)
{
	return item->count == 1 && item->effects[0].kind == BT_RECORD_LOG_OUTPUT &&
	       item->effects[0].u.output.addr;
}

/* The same of what it does to mappings. */
static bool has_shape_alone(const struct log_item *item)
{
	return item->count == 1 && item->effects[0].kind == BT_RECORD_LOG_SHAPE &&
	       item->effects[0].u.shape.end;
}

/* Whether these calls can be queued behind those of the task that are there: the first of them has
 * no effects but its own, and its output or shape. */
static bool is_queued(const struct log_item *item, uint32_t task)
{
	return is_calls(item) &&
	       (!item->count || has_output_alone(item) || has_shape_alone(item)) &&
	       item->event.u.log_calls.task == task;
}

/* ---- The queue ---- */

enum {
	QUEUE_CALLS = 4096,
	QUEUE_BYTES = 1 << 20, /* unless one call has more */
};

static bool queue_begin(struct log_queue *q)
{
	q->next = q->count = 0;
	buf_reset(&q->bytes);
	if (!q->calls)
		q->calls = malloc(QUEUE_CALLS * sizeof *q->calls);
	if (!q->shapes)
		q->shapes = malloc(QUEUE_CALLS * sizeof *q->shapes);
	return q->calls && q->shapes;
}

/* Copies some bytes into the queue, which has room for them. */
static struct slice queue_bytes(struct log_queue *q, struct slice bytes)
{
	buf_put(&q->bytes, bytes.at, bytes.len);
	return slice_of(q->bytes.data + q->bytes.len - bytes.len, bytes.len);
}

/* Copies the call's data and output into the queue, where they do not move. False: there is no room
 * for them behind the others. */
static bool queue_data(struct log_queue *q, struct bt_logged_call *call)
{
	size_t n = call->output.bytes.len;

	for (unsigned i = 0; i < call->data_count; i++)
		n += call->data[i].bytes.len;
	if (!q->count && !buf_reserve(&q->bytes, n > QUEUE_BYTES ? n : QUEUE_BYTES))
		return false;
	if (q->bytes.len + n > q->bytes.cap)
		return false;
	for (unsigned i = 0; i < call->data_count; i++)
		call->data[i].bytes = queue_bytes(q, call->data[i].bytes);
	call->output.bytes = queue_bytes(q, call->output.bytes);
	return true;
}

/* Decodes what the queue has room for of the rest. */
static void queue_decode(struct log_queue *q)
{
	while (q->count < QUEUE_CALLS && q->rest.len) {
		struct log_calls_codec codec = q->codec;
		struct slice rest = q->rest;
		struct bt_logged_call *call = &q->calls[q->count];

		q->corrupt = log_calls_decode(&codec, &rest, call) != 1;
		if (q->corrupt)
			return;
		call->output = q->output;
		if (!queue_data(q, call))
			return;
		q->shapes[q->count] = q->shape;
		if (!q->shape.end || !host_change(&q->shape, &call->change))
			call->change.nr = 0;
		q->output.stream = 0;
		q->output.bytes = slice_of(NULL, 0);
		q->shape.end = 0;
		q->codec = codec;
		q->rest = rest;
		q->count++;
	}
}

/* The rest is that of this record, whose first call may have its output or shape in the item. */
static void queue_record(struct log_queue *q, struct log_item *item)
{
	const struct bt_record_log_calls *calls = &item->event.u.log_calls;
	const struct bt_record_log_output *output;

	q->rest = calls->calls;
	q->task = calls->task;
	q->codec = (struct log_calls_codec){.tick = calls->tick};
	if (has_shape_alone(item)) {
		q->shape = item->effects[0].u.shape;
		item->count = 0;
	}
	if (!has_output_alone(item))
		return;
	output = &item->effects[0].u.output;
	q->output.stream = output->stream;
	q->output.addr = output->addr;
	q->output.bytes = item_bytes(item, item->effects[0].bytes_at, output->bytes.len);
	item->count = 0;
}

/* Fills the queue, which is empty, and reads on until what comes behind it is known, or it is full.
 * False: there is nothing, and the present item says why. */
static bool fill_queue(struct log_reader *l)
{
	struct log_queue *q = &l->queue;

	if (!queue_begin(q))
		return item_ends_without_memory(&l->now);
	queue_decode(q);
	while (!q->rest.len && !l->has_behind) {
		read_item(l, &l->behind);
		if (is_queued(&l->behind, q->task)) {
			queue_record(q, &l->behind);
			queue_decode(q);
		} else {
			l->has_behind = true;
		}
	}
	if (q->count)
		return true;
	return q->corrupt ? item_ends_damaged(&l->now, BT_E_CORRUPT, "calls that make no sense")
			  : item_ends_without_memory(&l->now);
}

static bool take_shape(struct log_item *item, uint64_t most,
		       const struct bt_record_log_shape *shape)
{
	const struct bt_record rec = {.kind = BT_RECORD_LOG_SHAPE, .u.log_shape = *shape};

	return take_effect(item, most, &rec);
}

static bool take_output(struct log_item *item, uint64_t most, const struct bt_logged_output *output)
{
	const struct bt_record rec = {.kind = BT_RECORD_LOG_OUTPUT,
				      .u.log_output = {.stream = (uint8_t)output->stream,
						       .addr = output->addr,
						       .bytes = output->bytes}};

	return take_effect(item, most, &rec);
}

/* The registers that an instruction gave. */
static void set_results(const struct bt_logged_call *call, struct bt_regs *regs)
{
	regs->rax = (uint32_t)call->result;
	regs->rdx = call->result >> 32;
	if (call->form == BT_LOGGED_RDTSCP || call->form == BT_LOGGED_CPUID)
		regs->rcx = call->ecx;
	if (call->form == BT_LOGGED_CPUID)
		regs->rbx = call->ebx;
}

/* The event that the call is, but for its effects. */
static void take_event(struct log_reader *l, const struct bt_logged_call *call)
{
	struct bt_record_log_call *c = &l->now.event.u.log_call;

	l->now.event = (struct bt_record){.kind = BT_RECORD_LOG_CALL};
	c->point.tick = call->tick;
	c->regs = (struct bt_regs){.rdi = call->args[0],
				   .rsi = call->args[1],
				   .rdx = call->args[2],
				   .r10 = call->args[3],
				   .r8 = call->args[4],
				   .r9 = call->args[5],
				   .orig_rax = call->nr};
	c->task = l->queue.task;
	c->result = call->result;
	c->again = call->again;
	c->told = call->told;
	l->arg_count = call->arg_count;
}

/* The same of an instruction. */
static void take_instruction(struct log_reader *l, const struct bt_logged_call *call)
{
	struct bt_record_log_instruction *i = &l->now.event.u.log_instruction;

	l->now.event = (struct bt_record){.kind = BT_RECORD_LOG_INSTRUCTION};
	i->task = l->queue.task;
	i->point.tick = call->tick;
	set_results(call, &i->regs);
}

/* Makes the next of the calls the present event. */
static bool take_call(struct log_reader *l)
{
	const struct bt_logged_call *call = &l->queue.calls[l->queue.next];

	l->has_effects = l->now.count;
	l->of_calls = true;
	(call->form == BT_LOGGED_CALL ? take_event : take_instruction)(l, call);
	if (l->queue.shapes[l->queue.next].end &&
	    !take_shape(&l->now, l->most, &l->queue.shapes[l->queue.next]))
		return false;
	if (call->output.stream && !take_output(&l->now, l->most, &call->output))
		return false;
	for (unsigned i = 0; i < call->data_count; i++) {
		const struct bt_record data = {
			.kind = BT_RECORD_LOG_DATA,
			.u.log_data = {.addr = call->data[i].addr, .bytes = call->data[i].bytes}};

		if (!take_effect(&l->now, l->most, &data))
			return false;
	}
	return true;
}

/* ---- Going on ---- */

/* Makes the item that was read ahead the present one. */
static void take_behind(struct log_reader *l)
{
	struct log_item before = l->now;

	l->now = l->behind;
	l->behind = before;
	l->has_behind = false;
}

bool log_reader_next(struct log_reader *l)
{
	struct log_queue *q = &l->queue;

	if (l->now.over)
		return false;
	l->passed++;
	if (l->of_calls) {
		l->passed_calls += q->calls[q->next].form == BT_LOGGED_CALL;
		l->of_calls = false;
		item_clear(&l->now);
		if (++q->next < q->count)
			return take_call(l);
	}
	if (!q->rest.len) {
		if (l->has_behind)
			take_behind(l);
		else
			read_item(l, &l->now);
		if (!is_calls(&l->now))
			return !l->now.over;
		queue_record(q, &l->now);
	}
	return fill_queue(l) && take_call(l);
}

size_t log_reader_calls(const struct log_reader *l, const struct bt_logged_call **calls)
{
	*calls = l->queue.calls + l->queue.next;
	return l->queue.count - l->queue.next;
}

const struct bt_record_log_shape *log_reader_shape(const struct log_reader *l, size_t i)
{
	const struct bt_record_log_shape *shape = &l->queue.shapes[l->queue.next + i];

	return shape->end ? shape : NULL;
}

void log_reader_pass(struct log_reader *l, size_t n)
{
	struct log_queue *q = &l->queue;
	const size_t last = q->next + n - 1;

	for (; q->next < last; q->next++) {
		l->passed++;
		l->passed_calls += q->calls[q->next].form == BT_LOGGED_CALL;
	}
	item_clear(&l->now);
	(void)take_call(l);
}

/* Whether the last call that the task entered before that event of the trace is of the 32-bit
 * table.
 */
static bool was_entered_as_compat(const struct trace *t, uint32_t task, uint64_t seq)
{
	struct trace_cursor c;
	struct bt_record rec;
	struct bt_error err;
	bool compat = false;

	trace_cursor_init(&c, t, &t->files[0]);
	while (trace_cursor_next(&c, &rec, &err) == 1) {
		if (rec.kind == BT_RECORD_SYSCALL_ENTER && rec.u.syscall_enter.task == task)
			compat = rec.u.syscall_enter.compat;
		if (rec.kind == BT_RECORD_SYSCALL_EXIT && rec.u.syscall_exit.seq >= seq)
			break;
	}
	trace_cursor_release(&c);
	return compat;
}

bool log_reader_is_compat(const struct log_reader *l)
{
	const struct bt_record_log_call *call = &l->now.event.u.log_call;

	return l->now.event.kind == BT_RECORD_LOG_CALL && !l->of_calls &&
	       (!tracee_is_in_64_bit(&call->regs) ||
		was_entered_as_compat(l->trace, call->task, call->seq));
}

enum bt_logged_form log_reader_form(const struct log_reader *l)
{
	return l->queue.calls[l->queue.next].form;
}

static void complete_instruction(struct log_reader *l, const struct task *task)
{
	struct bt_record_log_instruction *i = &l->now.event.u.log_instruction;
	uint64_t tick = i->point.tick;

	i->point = task_point(task);
	i->point.tick = tick;
	i->regs = task->regs;
	set_results(&l->queue.calls[l->queue.next], &i->regs); /* the others are the task's */
}

static void complete_call(struct log_reader *l, const struct task *task)
{
	struct bt_record_log_call *call = &l->now.event.u.log_call;
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

void log_reader_complete(struct log_reader *l, const struct task *task)
{
	if (l->now.event.kind == BT_RECORD_LOG_INSTRUCTION)
		complete_instruction(l, task);
	else
		complete_call(l, task);
}
