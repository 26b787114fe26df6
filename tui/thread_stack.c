/* SPDX-License-Identifier: MIT */
#include "tui/thread_stack.h"

#include <stdlib.h>

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

bool thread_stack_find(struct thread_stack *s, struct viewer *v, const struct bt_record_thread *t)
{
	struct history own = {0};
	struct stack_frame *shorter;
	bool found;

	if (s->frames)
		return true;
	s->frames = calloc(THREAD_STACK_MAX, sizeof *s->frames);
	if (!s->frames)
		return false;
	s->unwound = symbols_unwind(v->s, v->snap, t, s->frames, THREAD_STACK_MAX, &s->complete);
	found = t->task == v->task ? find_calls(s, v, &v->history, t)
				   : !history_load_calls(&own, v->m, t->task, NULL) &&
					     find_calls(s, v, &own, t);
	history_release(&own);
	if (!found) {
		thread_stack_release(s);
		return false;
	}
	shorter = realloc(s->frames, s->count * sizeof *s->frames);
	if (shorter)
		s->frames = shorter;
	return true;
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
