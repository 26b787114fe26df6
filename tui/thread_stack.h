/* SPDX-License-Identifier: MIT */
/* The stack of a thread of the moment shown, with the calls that its branch history left open. Used
 * by the views of threads and of what happened. */
#ifndef BT_THREAD_STACK_H
#define BT_THREAD_STACK_H

#include "decoder/cause/callstack.h"
#include "tui/viewer.h"

enum {
	THREAD_STACK_MAX = 1 << 18, /* frames unwound: 8 MiB of small ones */
};

struct thread_stack {
	struct stack_frame *frames; /* NULL: not looked for yet */
	size_t count, unwound;      /* frames behind the unwound ones are the history's */
	bool complete;
	struct callstack calls;
	uint64_t *numbers; /* of the calls' entries, in the task's history */
	struct stack_check check;
};

/* Unwinds the stack and asks the history, once. Returns 1 when the user has stopped it, and then
 * nothing is known. Errors: BT_E_NO_MEMORY. */
int thread_stack_find(struct thread_stack *s, struct viewer *v, const struct bt_record_thread *t,
		      struct bt_error *err) BT_MUST_USE;
void thread_stack_release(struct thread_stack *s);

/* The number, in the task's history, of the call that made a frame. False: the history has none. */
bool thread_stack_call(const struct thread_stack *s, size_t frame, uint64_t *number);
/* The same of the newest open call that returns to an address. */
bool thread_stack_returning(const struct thread_stack *s, uint64_t addr, uint64_t *number);

#endif
