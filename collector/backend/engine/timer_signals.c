/* SPDX-License-Identifier: MIT */
#include "collector/backend/engine/timer_signals.h"

enum {
	RETURN_BYTES = 8, /* a handler's own return, before its sigreturn, takes its address off the
			     frame */
};

static uint64_t bit_of(int signo) { return 1ull << (signo - 1); }

/* Those of setitimer(2), alarm(2) and timer_create(2). */
static bool is_of_timer(const siginfo_t *info)
{
	int signo = info->si_signo;

	return info->si_code == SI_TIMER ||
	       (info->si_code == SI_KERNEL &&
		(signo == SIGALRM || signo == SIGVTALRM || signo == SIGPROF));
}

static void note_signals(struct timer_signals *t, const struct task *task, uint64_t signals)
{
	uint64_t tick = task_tick(task);

	t->wait = (t->tick == tick ? t->wait : 0) | signals;
	t->tick = tick;
}

void timer_signals_given(struct timer_signals *t, const siginfo_t *info)
{
	t->delivered = is_of_timer(info) ? info->si_signo : 0;
}

void timer_signals_entered(struct timer_signals *t, const struct task *task)
{
	if (!t->delivered)
		return;
	t->handlers[t->next++ % TIMER_HANDLERS] = task->regs.rsp;
	note_signals(t, task, bit_of(t->delivered));
	t->delivered = 0;
}

void timer_signals_return(struct timer_signals *t, const struct task *task)
{
	t->returns = false;
	for (unsigned i = 0; i < TIMER_HANDLERS; i++) {
		if (!t->handlers[i] || t->handlers[i] + RETURN_BYTES != task->regs.rsp)
			continue;
		t->returns = true;
		t->handlers[i] = 0;
	}
}

void timer_signals_returned(struct timer_signals *t, const struct task *task)
{
	if (t->returns)
		note_signals(t, task, UINT64_MAX);
	t->returns = false;
}

bool timer_signals_comes_at_once(const struct timer_signals *t, const struct task *task,
				 const siginfo_t *info)
{
	return is_of_timer(info) && t->tick == task_tick(task) && t->wait & bit_of(info->si_signo);
}

void timer_signals_waited(struct timer_signals *t, const siginfo_t *info)
{
	t->wait &= ~bit_of(info->si_signo);
}
