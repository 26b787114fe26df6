/* SPDX-License-Identifier: MIT */
/* Answers to system calls that are known before a task makes them (backend.h), from the tracer's
 * side: they go into the window's log, where a routine finds them (routine_answered_call.c), and
 * are read back as far as they have been given.
 *
 * The kernel would write to pages that are write-protected for us, and a routine cannot: then calls
 * stop, as in a recording. */
#include <string.h>

#include "collector/backend/engine/engine_private.h"

static size_t aligned(size_t n) { return (n + LOG_ALIGN - 1) / LOG_ALIGN * LOG_ALIGN; }

/* An offset in the log, from its end. */
static uint64_t from_end(size_t at) { return (uint64_t)at - LOG_BYTES; }

/* A piece of the answer, at the log's offset `at`. Returns where the next one is to be; 0: there is
 * no room. */
static size_t put_piece(struct answer *a, unsigned i, uint8_t *log, size_t at, uint64_t addr,
			struct slice bytes)
{
	if (bytes.len > LOG_BYTES - at)
		return 0;
	if (bytes.len)
		memcpy(log + at, bytes.at, bytes.len);
	a->lengths[i] = (uint32_t)bytes.len;
	a->ends[i] = addr + bytes.len;
	a->data[i] = from_end(at + bytes.len);
	return aligned(at + bytes.len);
}

/* The same of what the call does to mappings. */
static size_t put_change(struct answer *a, uint8_t *log, size_t at,
			 const struct bt_logged_change *change)
{
	const struct answer_change c = {.change = *change};

	if (sizeof c > LOG_BYTES - at)
		return 0;
	memcpy(log + at, &c, sizeof c);
	a->change = from_end(at);
	return at + sizeof c;
}

/* Writes the answer to this call at the log's offset `at`. Returns where the next one is to be; 0:
 * there is no room. */
static size_t put_answer(uint8_t *log, size_t at, const struct bt_logged_call *call)
{
	struct answer a = {.form = call->form,
			   .nr = call->nr,
			   .result = call->result,
			   .tick = (uint32_t)call->tick,
			   .arg_count = call->arg_count};
	size_t next = at + sizeof a;

	if (LOG_BYTES - at < sizeof a)
		return 0;
	memcpy(a.args, call->args, call->arg_count * sizeof a.args[0]);
	if (call->form != BT_LOGGED_CALL)
		a.args[0] = call->ecx | (uint64_t)call->ebx << 32;
	for (unsigned i = 0; next && i < call->data_count; i++)
		next = put_piece(&a, i, log, next, call->data[i].addr, call->data[i].bytes);
	if (next && call->output.stream)
		next = put_piece(&a, ANSWER_OUTPUT, log, next, call->output.addr,
				 call->output.bytes);
	if (next && call->change.nr)
		next = put_change(&a, log, next, &call->change);
	if (!next)
		return 0;
	a.next = from_end(next);
	memcpy(log + at, &a, sizeof a);
	return next;
}

/* Behind the last of them there is none. */
static void end_answers(uint8_t *log, struct answers_there *there)
{
	const uint64_t none = 0;

	if (there->count)
		memcpy(log + (size_t)(LOG_BYTES + there->at[there->count - 1] + ANSWER_NEXT), &none,
		       sizeof none);
	there->at[there->count] = none;
}

/* Writes as many as there is room for. False: the task is gone. */
static bool put_answers(struct task *task, struct engine_space *es,
			const struct bt_logged_call *calls, size_t n)
{
	struct answers_there *there = es->answers;
	size_t at = 0, next;

	there->count = there->given = 0;
	for (size_t i = 0; i < n; i++) {
		next = put_answer(es->log, at, &calls[i]);
		if (!next)
			break;
		there->at[there->count++] = from_end(at);
		at = next;
	}
	end_answers(es->log, there);
	return window_write(&es->window, task->host_tid, engine_window_at(task, LOG_AT), es->log,
			    at);
}

void cache_answers_offer(const struct backend *b, struct task *task, struct engine_space *es,
			 struct context *ctx)
{
	const struct engine_task *et = task->backend;
	struct answers_there *there = es->answers;
	const struct bt_logged_call *calls;
	uint64_t passed;
	size_t n;

	if (there)
		there->offered = false;
	if (!there || es->watch.protected)
		return;
	n = b->answers.ahead(b->answers.arg, task, &calls, &passed);
	if (!n)
		return;
	if (there->given == there->count || passed != there->passed + there->given ||
	    n < there->count - there->given) {
		if (!put_answers(task, es, calls, n))
			return;
		there->passed = passed;
	}
	there->offered = true;
	there->noted = 0;
	ctx->answer = there->at[there->given];
	ctx->answer_ticks = (uint32_t)(et->ticks_start - task_tick(task));
	ctx->answer_noted = !et->ticks;
}

void cache_answers_noted(struct engine_space *es, uint64_t tick)
{
	struct answers_there *there = es->answers;

	if (there && there->offered && there->noted < ANSWERS_MOST)
		there->ticks[there->noted++] = tick;
}

void cache_answers_take(const struct backend *b, struct task *task, struct engine_space *es,
			const struct stretch *s)
{
	struct answers_there *there = es->answers;
	size_t given;

	if (!there || !there->offered)
		return;
	there->offered = false;
	for (given = there->given; given <= there->count; given++)
		if (there->at[given] == s->ctx.answer)
			break;
	if (given > there->count) /* the program has scribbled on it: the next call differs */
		return;
	given -= there->given;
	there->given += given;
	for (; there->noted < given; there->noted++)
		there->ticks[there->noted] = BT_TICKS_UNKNOWN; /* the program has scribbled on it */
	if (given)
		b->answers.given(b->answers.arg, task, given,
				 ((const struct engine_task *)task->backend)->ticks ? NULL
										    : there->ticks);
}
