/* SPDX-License-Identifier: MIT */
/* The pace of a task's timers (setitimer(2), timer_create(2)). They go on while the recorder serves
 * a signal. Where that takes longer than the timer's interval the program would do nothing but enter
 * handlers. So behind a handler's entry, and behind its end, the signals of timers are kept from the
 * task until it has run as long as the recorder worked for the last of them, and as long again for
 * what the kernel does. This says which signals, and how long; the stepper has the kernel block
 * them meanwhile (step_pace.c). Times are in nanoseconds.
 *
 * One struct a task; no locks. */
#ifndef BT_TIMER_PACE_H
#define BT_TIMER_PACE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	PACE_MOST = 10000000, /* two slices of a turn: no signal comes later than where threads of
				 a process take turns */
};

/* Zeroed: no signal has come. */
struct timer_pace {
	uint64_t timers;   /* signals that a timer sent when they last came: bit (signo - 1). None
			      that an instruction raises */
	int last;          /* the last of them, */
	uint64_t used;     /* ... what the recorder had used of a processor when it came, */
	uint64_t ran;      /* ... and how long the program had run since */
	uint64_t went_on;  /* it last went on behind a handler's entry or end */
	bool entered, left; /* it is to go on so next */
};

/* Whether a timer has sent the signal, or may have: what the kernel sends as SIGALRM, SIGVTALRM and
 * SIGPROF comes of nothing else. */
bool timer_pace_is_timers(const siginfo_t *info);

/* The task is about to be given this signal. */
void timer_pace_came(struct timer_pace *p, const siginfo_t *info, uint64_t now, uint64_t used);

/* It is at the first instruction of a handler; behind a sigreturn. */
void timer_pace_entered(struct timer_pace *p);
void timer_pace_left(struct timer_pace *p);

/* Whether it is to go on from there. */
bool timer_pace_is_due(const struct timer_pace *p);

/* It goes on from there. pending: signals of its timers that are. Returns how long it is to run
 * before the next: 0 where that may come at once, as the timers leave it time enough. Where two
 * timers' signals come together, the one's handler may begin in the other's, as it does natively.
 */
uint64_t timer_pace_begin(struct timer_pace *p, uint64_t pending, uint64_t now, uint64_t used);

#endif
