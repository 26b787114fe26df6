/* SPDX-License-Identifier: MIT */
/* The pace of a task's timers (setitimer(2), timer_create(2)). They go on while the recorder serves
 * a signal. Where that takes longer than the timer's interval the program would do nothing but
 * enter handlers. So behind a handler's entry, and behind its end, the signals of timers are kept
 * from the task until it has run as long as the recorder worked for the last of them, and as long
 * again for what the kernel does. This says which signals, and how long; the stepper has the kernel
 * block them meanwhile (step_pace.c). Times are in nanoseconds.
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
	uint64_t served; /* signals of timers that have come since the program last ran as long as
			    it was to: bit (signo - 1). None that an instruction raises. Others
			    come at once: the kernel gives the one with the lowest number first,
			    so some would wait for ever */
	uint64_t used;   /* processor time that the recorder had used when the last of them came, */
	uint64_t ran;    /* ... and time that the program had run since */
	uint64_t went_on;   /* it last went on behind a handler's entry or end */
	uint64_t handlers;  /* handlers of such signals that it has not left: bit i, where so many
			       others began before (task->depth) */
	bool given;         /* the last signal that came was one of these, and no handler has begun
			       since */
	bool entered, left; /* the program is to go on behind such an entry or end next */
};

/* Whether a timer has sent the signal, or may have: what the kernel sends as SIGALRM, SIGVTALRM and
 * SIGPROF comes of nothing else. */
bool timer_pace_is_timers(const siginfo_t *info);

/* The task is about to be given this signal, in so many handlers that it has not left. */
void timer_pace_came(struct timer_pace *p, const siginfo_t *info, unsigned depth, uint64_t now,
		     uint64_t used);

/* It is at the first instruction of a handler; behind the sigreturn of one, with so many that it
 * has not left then. Those of other signals change nothing: with many of them the timers' would
 * wait for ever. */
void timer_pace_entered(struct timer_pace *p);
void timer_pace_left(struct timer_pace *p, unsigned depth);

/* It has changed its mask (rt_sigprocmask(2)), in so many handlers that it has not left. In one of
 * these signals' that is an end of it: siglongjmp(3) does so while it is still on its stack, which
 * would grow with each signal that comes there. */
void timer_pace_unblocked(struct timer_pace *p, unsigned depth);

/* Whether it is to go on from there. */
bool timer_pace_is_due(const struct timer_pace *p);

/* It goes on from there. waits: one of p->served is pending. Returns how long it is to run before
 * the next of those: 0 where that may come at once, as the timers leave it time enough. */
uint64_t timer_pace_begin(struct timer_pace *p, bool waits, uint64_t now, uint64_t used);

/* It has run as long as it was to. */
void timer_pace_ended(struct timer_pace *p);

#endif
