/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/task/hidden_signals.h"
#include "collector/tracee/tracee.h"
#include "lib/array_size.h"

enum {
	LOOK_NS = 50000,   /* between two looks at whether others are awake */
	LOOKS_LEAST = 10,  /* while somebody is waited for: where the machine is crowded time passes
			      and nobody has run */
	IMPATIENCE = 4,    /* halvings of how long they are waited for */
	SHORT_READ = 4096, /* bytes */
};

/* For how long, at most, in ns. */
static const uint64_t patience[] = {[OTHERS_NONE] = 0,
				    [OTHERS_RUN] = 3000000,
				    [OTHERS_SYSCALL] = 50000000,
				    [OTHERS_SHORT] = 2000000000};

#define MASK_OF(signo) (1ull << ((signo)-1))

static enum hidden_signal kind_of(const siginfo_t *info)
{
	return info->si_signo == SIGSEGV ? HIDDEN_SEGV : HIDDEN_TRAP;
}

/* Of those of a thread's own only tgkill()'s and the kernel's can be told. */
static bool is_wide(const siginfo_t *info)
{
	return info->si_code != SI_TKILL && info->si_code <= 0;
}

/* Whether it may be one that the kernel forces upon a thread that blocks it, which ends the
 * process. Not perf's, for instance (TRAP_PERF). */
static bool is_forced(const siginfo_t *info)
{
	if (info->si_signo != SIGTRAP)
		return info->si_code > 0;
	return info->si_code == TRAP_BRKPT || info->si_code == TRAP_TRACE ||
	       info->si_code == TRAP_BRANCH || info->si_code == SI_KERNEL;
}

/* Calls in which a task sleeps or is about to return: they take, show or unblock what waits, or
 * wait for a descriptor that may do so (signalfd(2)). */
static const uint16_t short_syscalls[] = {
	SYS_rt_sigtimedwait, SYS_rt_sigpending, SYS_rt_sigsuspend, SYS_rt_sigprocmask,
	SYS_rt_sigreturn,    SYS_poll,          SYS_ppoll,         SYS_select,
	SYS_pselect6,        SYS_epoll_wait,    SYS_epoll_pwait,   SYS_epoll_pwait2,
};

static bool is_in_short_syscall(const struct task *task)
{
	if (!task->in_syscall || task->syscall.compat)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(short_syscalls); i++)
		if (task->syscall.nr == short_syscalls[i])
			return true;
	return task->syscall.nr == SYS_read &&
	       task->syscall.args[2] <= SHORT_READ; /* of a signalfd, perhaps */
}

/* Whether one of the signals comes to it as soon as it is given a processor. */
static bool lets_come(pid_t tid, uint64_t signals)
{
	struct tracee_signals s;

	return !tracee_signals(tid, &s) && s.shared_pending & signals & ~s.blocked;
}

static enum others others_to_wait_for(const struct task *task, uint64_t signals)
{
	enum others found = OTHERS_NONE;

	for (const struct task *other = task->process->members; other; other = other->member_next) {
		enum others kind = OTHERS_NONE;

		if (other == task)
			continue;
		if (other->state == TASK_RUNNING)
			kind = found < OTHERS_SYSCALL && lets_come(other->host_tid, signals) &&
					       tracee_is_awake(other->host_tid)
				       ? OTHERS_SYSCALL
				       : OTHERS_RUN;
		else if (other->state == TASK_IN_SYSCALL)
			kind = is_in_short_syscall(other) ? OTHERS_SHORT : OTHERS_SYSCALL;
		/* Asked last: each time a file of procfs is read. */
		if (kind > found &&
		    (other->state == TASK_RUNNING || tracee_is_awake(other->host_tid)))
			found = kind;
		if (found == OTHERS_SHORT)
			break;
	}
	return found;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Signals wait for the process, and the task is about to unblock them: others see them first. Where
 * they were waited for in vain in a call, it is not for as long the next time. Returns 0 with *s as
 * it is then, or -BT_E_GONE. */
static int let_others_look(const struct task *task, struct hidden_signals *h, uint64_t signals,
			   struct tracee_signals *s)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	uint64_t began = now_ns();
	enum others first = OTHERS_NONE;

	for (int looks = 0; s->shared_pending & signals; looks++) {
		enum others others = others_to_wait_for(task, signals);

		first = looks ? first : others;
		if (others == OTHERS_NONE)
			return 0;
		if (looks >= LOOKS_LEAST &&
		    now_ns() - began >= patience[others] >> h->impatience[others]) {
			h->impatience[others] += others == first && others >= OTHERS_SYSCALL &&
						 h->impatience[others] < IMPATIENCE;
			return 0;
		}
		nanosleep(&pause, NULL);
		if (tracee_signals(task->host_tid, s))
			return -BT_E_GONE;
	}
	if (first != OTHERS_NONE)
		memset(h->impatience, 0, sizeof h->impatience);
	return 0;
}

static void count(struct task *task, struct hidden_signals *h, bool counted)
{
	task->process->signals_held += counted - h->counted;
	h->counted = counted;
}

/* Others of the process may take what waits for it, and is in signals, before the task has that
 * unblocked. */
static int offer(struct task *task, struct hidden_signals *h, uint64_t signals,
		 struct tracee_signals *s)
{
	if (task->process->tasks == 1)
		return 0;
	if (let_others_look(task, h, signals, s))
		return -BT_E_GONE;
	h->looked = s->shared_pending & signals;
	if (h->looked)
		count(task, h, true);
	return 0;
}

int hidden_signals_hide(struct task *task, struct hidden_signals *h)
{
	uint64_t mask,
		hide = MASK_OF(SIGTRAP) | (task->process->space->watched ? MASK_OF(SIGSEGV) : 0);
	struct tracee_signals s;

	if (tracee_get_mask(task->host_tid, &mask))
		return -BT_E_GONE;
	h->faults_blocked = mask & ~hide & (MASK_OF(SIGSEGV) | MASK_OF(SIGBUS));
	if (!(mask & hide))
		return 0;
	/* QUIRK(setsigmask-restore): PTRACE_SETSIGMASK ends the temporary mask of epoll_pwait and
	 * its kin (ptrace_setsigmask, Linux 6.18), under which a signal may be waiting: that one
	 * comes first, before any instruction. */
	if (tracee_signals(task->host_tid, &s))
		return -BT_E_GONE;
	if ((s.pending | s.shared_pending) & ~s.blocked)
		return mask & MASK_OF(SIGTRAP) ? HIDE_SIGNAL_FIRST : HIDE_SIGNAL_MAY_COME;
	if (offer(task, h, mask & hide, &s))
		return -BT_E_GONE;
	h->mask |= mask & hide;
	return tracee_set_mask(task->host_tid, mask & ~hide);
}

/* To the thread or the process, as it came. What has a value keeps that and its sender; the kernel
 * lets nobody say of a plain kill() that another made it (rt_sigqueueinfo(2)). */
void hidden_signals_post(struct task *task, struct hidden_signals *h, const siginfo_t *info)
{
	enum hidden_signal kind = kind_of(info);
	bool wide = is_wide(info);
	int signo = info->si_signo;
	pid_t pid = task->process->host_pid;

	if (wide && info->si_code < 0) {
		(void)!syscall(SYS_rt_sigqueueinfo, pid, signo, info);
		return;
	}
	*(wide ? &task->process->posted[kind] : &h->posted[kind]) =
		(struct posted_signal){true, *info};
	(void)!(wide ? kill(pid, signo) : tgkill(pid, task->host_tid, signo));
}

int hidden_signals_unhide(struct task *task, struct hidden_signals *h)
{
	uint64_t mask, hidden = h->mask;

	if (!hidden)
		return 0;
	h->mask = h->looked = 0;
	return tracee_get_mask(task->host_tid, &mask) ||
			       tracee_set_mask(task->host_tid, mask | hidden)
		       ? -BT_E_GONE
		       : 0;
}

/* wide: what was sent to the process; else what was sent to the thread. */
static void post_held(struct task *task, struct hidden_signals *h, bool wide)
{
	for (int i = 0; i < HIDDEN_SIGNALS; i++) {
		struct held_signal *s = &h->held[i][wide];

		if (s->held)
			hidden_signals_post(task, h, &s->info);
		s->held = false;
	}
	if (wide)
		count(task, h, false);
}

void hidden_signals_give_back(struct task *task, struct hidden_signals *h)
{
	if (h->mask) /* it would get it itself */
		return;
	post_held(task, h, false);
	post_held(task, h, true);
}

void hidden_signals_let_kill(struct hidden_signals *h, int signo) { h->mask &= ~MASK_OF(signo); }

int hidden_signals_restore(struct task *task, struct hidden_signals *h)
{
	if (hidden_signals_unhide(task, h))
		return -BT_E_GONE;
	hidden_signals_give_back(task, h);
	return 0;
}

int hidden_signals_rest(struct task *task, struct hidden_signals *h)
{
	if (task->process->tasks == 1)
		return 0;
	if (!task->mid_run)
		return hidden_signals_restore(task, h);
	/* The mask stays: its own trap may be pending, or come next. With that the kernel would
	 * drop a second one that is the thread's. */
	h->looked = 0;
	post_held(task, h, true);
	return 0;
}

int hidden_signals_go_on(struct task *task, struct hidden_signals *h)
{
	struct tracee_signals s;

	if (!h->mask || task->process->tasks == 1)
		return 0;
	return tracee_signals(task->host_tid, &s) || offer(task, h, h->mask, &s) ? -BT_E_GONE : 0;
}

/* In a PID namespace, nobody outside has a number. */
static bool was_posted(const struct posted_signal *p, const siginfo_t *info)
{
	return p->posted && (info->si_code == SI_USER || info->si_code == SI_TKILL) &&
	       (info->si_pid == getpid() || !info->si_pid);
}

bool hidden_signals_keep(struct task *task, struct hidden_signals *h, siginfo_t *info, bool sent)
{
	enum hidden_signal kind = kind_of(info);
	bool wide = is_wide(info), looked = h->looked & MASK_OF(info->si_signo);
	struct posted_signal *p = wide ? &task->process->posted[kind] : &h->posted[kind];
	struct held_signal *s = &h->held[kind][wide];

	if (info->si_signo != SIGTRAP && info->si_signo != SIGSEGV)
		return false;
	h->looked &= ~MASK_OF(info->si_signo);
	if (was_posted(p, info)) {
		p->posted = false;
		*info = p->info;
	}
	if (!(h->mask & MASK_OF(info->si_signo)) || (!sent && is_forced(info)))
		return false;
	if (s->held) /* a second one, while the first is pending */
		return true;
	s->held = true;
	s->info = *info;
	if (!wide || task->process->tasks == 1)
		return true;
	count(task, h, true);
	/* Natively the kernel would have asked all threads, and this one blocks it: another may be
	 * waiting for it. */
	if (!looked && !task->mid_run)
		(void)!hidden_signals_restore(task, h);
	return true;
}
