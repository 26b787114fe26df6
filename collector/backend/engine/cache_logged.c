/* SPDX-License-Identifier: MIT */
/* System calls made in the cache while a log is kept, from the tracer's side: what the routines
 * have noted of them and copied (routine_logged_call.c), for the observer. The call that the task
 * has just left, or died behind, may have no such note yet: it is made here, of the task's
 * registers and memory. */
#include <errno.h>
#include <string.h>

#include "collector/backend/engine/cache/logged_calls.h"
#include "collector/backend/engine/cache/syscall_policy.h"
#include "collector/backend/engine/engine_private.h"
#include "collector/tracee/tracee.h"
#include "lib/call_result.h"
#include "lib/page.h"
#include "syscalls/syscall_ranges.h"

/* Bytes of the log that the stretch has, as far as the program has left sense there. */
static size_t logged_bytes(const struct stretch *s)
{
	uint64_t bytes = s->ctx.log_next + LOG_BYTES;

	return bytes <= LOG_BYTES ? (size_t)bytes : 0;
}

bool cache_logged_begin(const struct task *task, struct engine_space *es, const struct stretch *s)
{
	size_t n = logged_bytes(s);

	return !n ||
	       window_read(&es->window, task->host_tid, engine_window_at(task, LOG_AT), es->log, n);
}

/* The length of a piece that the kernel has written with this result, at most. */
static uint64_t bytes_written(const struct logged_piece *p, const struct logged_note *note,
			      uint64_t result)
{
	uint64_t most = p->by ? note->args[p->by - 1] * p->unit : p->unit,
		 more = p->flags & LOGGED_MORE ? SYSCALL_ENTRY_MOST : 0;
	bool partial = result == (uint64_t)-EFAULT || result == (uint64_t)-EIO ||
		       result == (uint64_t)-EBADMSG;

	if (call_has_failed(result))
		return partial || p->flags & LOGGED_EVER ? most : 0;
	return p->flags & LOGGED_CUT && result <= LOG_OF_CALL && result * p->unit + more < most
		       ? result * p->unit + more
		       : most;
}

/* The facts of a call that has a note. NULL: the cache makes no such call. */
static const struct logged_known *known_call(struct engine_space *es, uint64_t nr)
{
	struct logged_known *known = nr < POLICY_NUMBERS ? &es->logged[nr] : NULL;

	if (known && !known->is_known)
		*known = (struct logged_known){.is_known = true,
					       .stops = logged_call_policy(nr) == POLICY_STOP,
					       .arg_count = syscall_arg_count(syscall_shape(nr)),
					       .row = logged_call_row(nr)};
	return known && !known->stops ? known : NULL;
}

/* The row of a call. stream: not 0 for output of the program, whose row is that of the bytes it
 * wrote. */
static struct logged_row row_of(const struct logged_known *known, uint64_t stream)
{
	return stream ? logged_stream_row() : known->row;
}

/* Makes the note of the call that the task has just made, with these registers behind it, and
 * copies what it has written behind the rest of the log. */
static void make_note(struct logged_note *note, const struct task *task, struct engine_space *es,
		      const struct stretch *s, const struct syscall_note *call,
		      const struct logged_known *known)
{
	const struct bt_regs *r = &s->regs;
	struct logged_row row = row_of(known, s->ctx.stream);
	size_t at = logged_bytes(s);

	*note = (struct logged_note){.marker = (uint32_t)NOTE_OF_LOG,
				     .stream = (uint32_t)s->ctx.stream,
				     .args = {r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9},
				     .data = (int32_t)at - LOG_BYTES};
	for (size_t i = 0; i < BT_LOGGED_DATA; i++) {
		const struct logged_piece *p = &row.pieces[i];
		uint64_t n = p->arg ? bytes_written(p, note, call->result) : 0;

		if (n > LOG_BYTES - at)
			n = LOG_BYTES - at;
		note->lengths[i] = n ? (uint32_t)tracee_read(task->host_tid, note->args[p->arg - 1],
							     es->log + at, n)
				     : 0;
		at += (note->lengths[i] + LOG_ALIGN - 1) / LOG_ALIGN * LOG_ALIGN;
		at = at < LOG_BYTES ? at : LOG_BYTES;
	}
}

/* Reads a note. The program can have written over it: pieces that make no sense are left out. */
static void read_note(struct bt_logged_call *out, const struct engine_space *es,
		      const struct logged_note *note, const struct logged_known *known)
{
	struct logged_row row = row_of(known, note->stream);
	uint64_t at = (uint64_t)(LOG_BYTES + (int64_t)note->data);

	out->arg_count = known->arg_count;
	memcpy(out->args, note->args, out->arg_count * sizeof out->args[0]);
	for (size_t i = 0; i < BT_LOGGED_DATA; i++) {
		uint64_t n = note->lengths[i];

		if (!n || !row.pieces[i].arg)
			continue;
		if (at > LOG_BYTES || n > LOG_BYTES - at)
			return;
		if (note->stream) {
			out->output.stream = note->stream;
			out->output.addr = note->args[row.pieces[i].arg - 1];
			out->output.bytes = slice_of(es->log + at, n);
			return;
		}
		out->data[out->data_count].addr = note->args[row.pieces[i].arg - 1];
		out->data[out->data_count++].bytes = slice_of(es->log + at, n);
		at += (n + LOG_ALIGN - 1) / LOG_ALIGN * LOG_ALIGN;
	}
}

size_t cache_logged_take(struct task *task, struct engine_space *es, const struct stretch *s,
			 const struct bt_syscall *call, const struct syscall_note *note,
			 const struct syscall_note *end)
{
	const struct observer *observer = task->process->space->observer;
	struct bt_logged_call out = {.tick = call->tick, .nr = call->nr, .result = call->result};
	const struct logged_note *logged = (const void *)(note + 1);
	bool noted = (size_t)(end - note) > LOGGED_BYTES / NOTE_SIZE &&
		     logged->marker == (uint32_t)NOTE_OF_LOG;
	const struct logged_known *known = known_call(es, call->nr);
	struct logged_note made;

	if (!known)
		return 0;
	if (!noted)
		make_note(&made, task, es, s, note, known);
	out.again = s->called && note + 1 == end && tracee_wants_restart(&s->regs);
	read_note(&out, es, noted ? logged : &made, known);
	if (observer->ops->logged)
		observer->ops->logged(observer->arg, task, &out);
	return noted ? LOGGED_BYTES / NOTE_SIZE : 0;
}

/* Of an instruction's note; of others it is none of these forms. */
static unsigned form_of(const struct syscall_note *note)
{
	return (uint32_t)NOTE_OF_INSTRUCTION - note->nr;
}

bool cache_logged_is_instruction(const struct syscall_note *note)
{
	return form_of(note) > BT_LOGGED_CALL && form_of(note) < BT_LOGGED_FORMS;
}

size_t cache_logged_instruction(struct task *task, const struct syscall_note *note,
				const struct syscall_note *end, uint64_t tick, bool logs)
{
	const struct observer *observer = task->process->space->observer;
	struct bt_logged_call out = {.tick = tick, .form = form_of(note), .result = note->result};
	const struct registers_note *registers = (const void *)(note + 1);
	const bool is_long =
		(out.form == BT_LOGGED_RDTSCP || out.form == BT_LOGGED_CPUID) && note + 1 < end;

	if (is_long) {
		out.ecx = registers->ecx;
		out.ebx = out.form == BT_LOGGED_CPUID ? registers->ebx : 0;
	}
	if (logs && observer->ops->logged)
		observer->ops->logged(observer->arg, task, &out);
	return is_long;
}

bool cache_logged_finish(const struct task *task, const struct engine_space *es,
			 struct bt_regs *raw)
{
	const struct code_cache *c = es->cache;
	uint64_t at = raw->rip - region_address(CODE_AT), to, left = -raw->rdx;
	uint8_t bytes[BT_PAGE];
	size_t i = 0;

	while (i < BT_LOGGED_DATA && (at < c->logs[i].from || at >= c->logs[i].to))
		i++;
	to = LOG_BYTES + raw->rcx + raw->rdx;
	if (i == BT_LOGGED_DATA || to > LOG_BYTES || left > LOG_BYTES - to)
		return false;
	while (left) {
		size_t n = tracee_read(task->host_tid, raw->rsi - left, bytes,
				       left < sizeof bytes ? left : sizeof bytes);

		if (!n || !window_write(&es->window, task->host_tid,
					engine_window_at(task, LOG_AT + to), bytes, n))
			break;
		to += n;
		left -= n;
	}
	raw->rdx = -left;
	raw->rip = region_address(CODE_AT) + c->logs[i].to;
	return true;
}
