/* SPDX-License-Identifier: MIT */
/* Signals of timers that come before the program gets on (engine_signals.c): at the tick at which a
 * handler of the same signal was entered, or one of any timer's has returned. They are to wait,
 * else the program might do nothing but handle them. Signals of two timers that come together are
 * no such case: natively the one's handler begins in the other's. Used by engine.c and
 * engine_signals.c; the struct is part of the engine's task. */
#ifndef BT_TIMER_SIGNALS_H
#define BT_TIMER_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "collector/task/task.h"

enum {
	TIMER_HANDLERS = 4, /* nested ones that are known */
};

/* Zeroed: none has come. */
struct timer_signals {
	int delivered; /* the signal that is about to be handled, if it is a timer's; 0 */
	uint64_t handlers[TIMER_HANDLERS]; /* the stack pointer at their first instruction; 0: none
					    */
	unsigned next;                     /* of handlers, modulo TIMER_HANDLERS */
	bool returns;                      /* one of them is in its sigreturn */
	uint64_t wait, tick; /* those that are to wait if they come at this tick: bit (signo - 1) */
};

/* The task is about to be given a signal. */
void timer_signals_given(struct timer_signals *t, const siginfo_t *info);

/* It is at the first instruction of a handler; at the entry of a sigreturn; behind that. */
void timer_signals_entered(struct timer_signals *t, const struct task *task);
void timer_signals_return(struct timer_signals *t, const struct task *task);
void timer_signals_returned(struct timer_signals *t, const struct task *task);

/* Whether a signal that has come is to wait for the next tick. */
bool timer_signals_comes_at_once(const struct timer_signals *t, const struct task *task,
				 const siginfo_t *info);

/* It has waited: another one comes. */
void timer_signals_waited(struct timer_signals *t, const siginfo_t *info);

#endif
