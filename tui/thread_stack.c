/* SPDX-License-Identifier: MIT */
#include "tui/thread_stack.h"

#include <stdlib.h>

#include "tui/busy.h"

/* Its frames are those unwound, and where these end early the history's. */
static bool find_calls(struct thread_stack *s, struct viewer *v, const struct history *h,
		       const struct bt_record_thread *t)
{
	callstack_build(&s->calls, h, v->s, history_index(h, t->position));
	s->check = callstack_check(&s->calls, s->frames, s->unwound);
	s->count = s->complete ? s->unwound
			       : callstack_extend(&s->calls, &s->check, s->frames, s->unwound,
						  THREAD_STACK_MAX);
	s->numbers = calloc(s->calls.count + 1, sizeof *s->numbers);
	for (size_t i = 0; s->numbers && i < s->calls.count; i++)
		s->numbers[i] = h->entries[s->calls.calls[i].entry].number;
	return s->numbers != NULL;
}

/* The history shown, if it is this thread's, and all of it. */
static int ask_history(struct thread_stack *s, struct viewer *v, const struct bt_record_thread *t,
		       struct bt_error *err)
{
	struct busy busy;
	const struct history_watch watch = busy_watch(&busy);
	struct history own;
	int rc;

	if (t->task == v->task && !v->history.is_part)
		return find_calls(s, v, &v->history, t) ? 0 : bt_no_memory(err, NULL);
	busy_begin(&busy, &v->screen, "reading the thread's branches", 0);
	rc = history_load_calls(&own, v->m, t->task, &watch, err);
	if (rc)
		return rc;
	if (!find_calls(s, v, &own, t))
		rc = bt_no_memory(err, NULL);
	history_release(&own);
	return rc;
}

int thread_stack_find(struct thread_stack *s, struct viewer *v, const struct bt_record_thread *t,
		      struct bt_error *err)
{
	struct stack_frame *shorter;
	int rc;

	if (s->frames)
		return 0;
	s->frames = calloc(THREAD_STACK_MAX, sizeof *s->frames);
	if (!s->frames)
		return bt_no_memory(err, NULL);
	s->unwound = symbols_unwind(v->s, v->snap, t, s->frames, THREAD_STACK_MAX, &s->complete);
	rc = ask_history(s, v, t, err);
	if (rc) {
		thread_stack_release(s);
		return rc;
	}
	shorter = realloc(s->frames, s->count * sizeof *s->frames);
	if (shorter)
		s->frames = shorter;
	return 0;
}

void thread_stack_release(struct thread_stack *s)
{
	free(s->frames);
	free(s->numbers);
	callstack_release(&s->calls);
	*s = (struct thread_stack){0};
}

bool thread_stack_call(const struct thread_stack *s, size_t frame, uint64_t *number)
{
	size_t call = s->calls.count;

	if (frame < s->unwound)
		call = callstack_call_of(&s->calls, s->frames, frame);
	else if (frame < s->count && frame - s->unwound < s->check.outer)
		call = s->check.outer - 1 - (frame - s->unwound);
	if (call >= s->calls.count)
		return false;
	*number = s->numbers[call];
	return true;
}

bool thread_stack_returning(const struct thread_stack *s, uint64_t addr, uint64_t *number)
{
	for (size_t i = s->calls.count; i-- > 0;)
		if (s->calls.calls[i].ret == addr) {
			*number = s->numbers[i];
			return true;
		}
	return false;
}
