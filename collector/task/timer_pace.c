/* SPDX-License-Identifier: MIT */
#include "collector/task/timer_pace.h"

enum {
	AS_LONG = 2, /* the program is to run so often as long as the recorder worked */
	ENOUGH = 2,  /* a timer that leaves it so often as long as that is left alone: it may stay
			so where it is served as fast as now */
};

static uint64_t bit_of(int signo) { return 1ull << (signo - 1); }

/* Blocked, such a signal would end the program where an instruction raises it
 * (force_sig_info_to_task in Linux' kernel/signal.c). */
static bool may_be_raised(int signo)
{
	return signo == SIGSEGV || signo == SIGBUS || signo == SIGILL || signo == SIGFPE ||
	       signo == SIGTRAP || signo == SIGSYS;
}

bool timer_pace_is_timers(const siginfo_t *info)
{
	int signo = info->si_signo;

	return info->si_code == SI_TIMER ||
	       (info->si_code == SI_KERNEL &&
		(signo == SIGALRM || signo == SIGVTALRM || signo == SIGPROF));
}

/* Of a handler in so many others, and of those in it. Deeper ones than there are bits are not
 * known. */
static uint64_t from_depth(unsigned depth) { return depth < 64 ? UINT64_MAX << depth : 0; }

void timer_pace_came(struct timer_pace *p, const siginfo_t *info, unsigned depth, uint64_t now,
		     uint64_t used)
{
	/* Handlers that were left without a sigreturn (siglongjmp(3)). */
	p->handlers &= ~from_depth(depth);
	p->given = timer_pace_is_timers(info) && !may_be_raised(info->si_signo);
	if (!p->given)
		return;
	p->served |= bit_of(info->si_signo);
	p->handlers |= depth < 64 ? 1ull << depth : 0;
	p->used = used;
	p->ran = now - p->went_on;
}

void timer_pace_entered(struct timer_pace *p)
{
	p->entered = p->given;
	p->given = false;
}

void timer_pace_left(struct timer_pace *p, unsigned depth)
{
	p->left = depth < 64 && p->handlers >> depth & 1;
	p->handlers &= ~from_depth(depth);
}

void timer_pace_unblocked(struct timer_pace *p, unsigned depth)
{
	p->left = p->handlers & ~from_depth(depth);
}

bool timer_pace_is_due(const struct timer_pace *p) { return p->entered || p->left; }

uint64_t timer_pace_begin(struct timer_pace *p, bool waits, uint64_t now, uint64_t used)
{
	uint64_t wanted = AS_LONG * (used - p->used);

	p->entered = p->left = false;
	p->went_on = now;
	if (!waits && p->ran >= ENOUGH * wanted)
		return 0;
	return wanted < PACE_MOST ? wanted : PACE_MOST;
}

void timer_pace_ended(struct timer_pace *p) { p->served = 0; }
