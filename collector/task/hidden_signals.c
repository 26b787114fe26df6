/* SPDX-License-Identifier: MIT */
/* A hidden signal is one that the program blocks and the kernel's mask does not: h->mask. A task
 * hides them before it runs user code (hidden_signals_hide()), and restores the mask where the
 * program or the kernel looks at it.
 *
 * Meanwhile such a signal may arrive. hidden_signals_keep() holds it, one per kind and per receiver
 * (thread or process), as the kernel keeps one pending. When the mask is restored the held signal
 * is posted again. The kernel lets nobody send a plain kill() in another's name, so `posted` keeps
 * the first siginfo, which replaces the second when that arrives.
 *
 * A signal for the process may be another thread's. Before a task unblocks it, let_others_look()
 * waits until another thread has taken it, or none is awake that could, or patience ends. Patience
 * depends on what the others do, and halves each time it was in vain. */
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/task/hidden_signals.h"
#include "collector/tracee/tracee.h"
#include "lib/array_size.h"

enum {
	LOOK_NS = 50000,   /* between two checks whether others are awake */
	LOOKS_LEAST = 10,  /* checks at least: on a crowded machine time passes without the others
			      having run */
	IMPATIENCE = 4,    /* patience is halved so often at most */
	SHORT_READ = 4096, /* bytes */
};

/* The longest wait for other threads, in ns, by what they do. */
static const uint64_t patience[] = {[OTHERS_NONE] = 0,
				    [OTHERS_RUN] = 3000000,
				    [OTHERS_SYSCALL] = 50000000,
				    [OTHERS_SHORT] = 2000000000};

#define MASK_OF(signo) (1ull << ((signo)-1))

static enum hidden_signal hidden_kind(const siginfo_t *info)
{
	return info->si_signo == SIGSEGV ? HIDDEN_SEGV : HIDDEN_TRAP;
}

/* Whether the signal counts as sent to the process. Of signals sent to a thread only tgkill()'s and
 * the kernel's can be recognized. */
static bool is_wide(const siginfo_t *info)
{
	return info->si_code != SI_TKILL && info->si_code <= 0;
}

/* Whether the kernel may have forced the signal upon the thread, which ends the process where the
 * thread blocks it. TRAP_PERF, for instance, is not forced. */
static bool is_forced(const siginfo_t *info)
{
	if (info->si_signo != SIGTRAP)
		return info->si_code > 0;
	return info->si_code == TRAP_BRKPT || info->si_code == TRAP_TRACE ||
	       info->si_code == TRAP_BRANCH || info->si_code == SI_KERNEL;
}

/* Calls in which a task sleeps or is about to return. They take, show or unblock pending signals,
 * or wait for a descriptor that may be a signalfd(2). */
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

/* Whether the thread gets one of the signals as soon as it is given a processor. */
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
		/* Asked last, as it reads a file of procfs. */
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

/* Signals are pending for the process, and the task is about to unblock them: waits until other
 * threads have had the chance to take them. A wait in vain for a thread in a call makes the next
 * one shorter. Returns 0 with *s as it is then, or -BT_E_GONE. */
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

static void count_hidden(struct task *task, struct hidden_signals *h, bool counted)
{
	task->process->signals_held += counted - h->counted;
	h->counted = counted;
}

/* Offers those of the signals that are pending for the process to its other threads, before the
 * task has them unblocked. */
static int offer_signals(struct task *task, struct hidden_signals *h, uint64_t signals,
			 struct tracee_signals *s)
{
	if (task->process->tasks == 1)
		return 0;
	if (let_others_look(task, h, signals, s))
		return -BT_E_GONE;
	h->looked = s->shared_pending & signals;
	if (h->looked)
		count_hidden(task, h, true);
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
	 * similar calls (ptrace_setsigmask, Linux 6.18). A signal that is pending and not blocked
	 * under that mask comes first, before any instruction. */
	if (tracee_signals(task->host_tid, &s))
		return -BT_E_GONE;
	if ((s.pending | s.shared_pending) & ~s.blocked)
		return mask & MASK_OF(SIGTRAP) ? HIDE_SIGNAL_FIRST : HIDE_SIGNAL_MAY_COME;
	if (offer_signals(task, h, mask & hide, &s))
		return -BT_E_GONE;
	h->mask |= mask & hide;
	return tracee_set_mask(task->host_tid, mask & ~hide);
}

/* Sends the signal again, to the thread or the process, as it came. A queued one keeps its value
 * and sender. The kernel lets nobody send a plain kill() in another's name (rt_sigqueueinfo(2)). */
void hidden_signals_post(struct task *task, struct hidden_signals *h, const siginfo_t *info)
{
	enum hidden_signal kind = hidden_kind(info);
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

/* Those that are blocked go out of the kernel's mask, these signals come into it. */
static int change_mask(struct task *task, struct hidden_signals *h, uint64_t hidden)
{
	uint64_t mask, blocked = h->blocked;

	h->paced = h->blocked = 0;
	task->due = 0;
	return tracee_get_mask(task->host_tid, &mask) ||
			       tracee_set_mask(task->host_tid, (mask & ~blocked) | hidden)
		       ? -BT_E_GONE
		       : 0;
}

int hidden_signals_unhide(struct task *task, struct hidden_signals *h)
{
	uint64_t hidden = h->mask;

	if (!hidden && !h->paced)
		return 0;
	h->mask = h->looked = 0;
	return change_mask(task, h, hidden);
}

int hidden_signals_pace(struct task *task, struct hidden_signals *h, uint64_t signals)
{
	uint64_t mask;

	if (tracee_get_mask(task->host_tid, &mask) ||
	    tracee_set_mask(task->host_tid, mask | signals))
		return -BT_E_GONE;
	h->paced = signals;
	h->blocked |= signals & ~mask;
	return 0;
}

int hidden_signals_end_pace(struct task *task, struct hidden_signals *h)
{
	return h->paced ? change_mask(task, h, 0) : 0;
}

/* Sends held signals again. wide: those for the process; else those for the thread. */
static void post_signals(struct task *task, struct hidden_signals *h, bool wide)
{
	for (int i = 0; i < HIDDEN_SIGNALS; i++) {
		struct held_signal *s = &h->held[i][wide];

		if (s->held)
			hidden_signals_post(task, h, &s->info);
		s->held = false;
	}
	if (wide)
		count_hidden(task, h, false);
}

void hidden_signals_give_back(struct task *task, struct hidden_signals *h)
{
	if (h->mask) /* still hidden: the task would get them itself */
		return;
	post_signals(task, h, false);
	post_signals(task, h, true);
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
	/* The mask stays: a trap of ours may be pending, or come next. While it is pending the
	 * kernel would drop a second SIGTRAP for the thread, so those stay held. */
	h->looked = 0;
	post_signals(task, h, true);
	return 0;
}

int hidden_signals_go_on(struct task *task, struct hidden_signals *h)
{
	struct tracee_signals s;

	if (!h->mask || task->process->tasks == 1)
		return 0;
	return tracee_signals(task->host_tid, &s) || offer_signals(task, h, h->mask, &s)
		       ? -BT_E_GONE
		       : 0;
}

/* si_pid of a sender outside the receiver's pid namespace is 0. */
static bool was_posted(const struct posted_signal *p, const siginfo_t *info)
{
	return p->posted && (info->si_code == SI_USER || info->si_code == SI_TKILL) &&
	       (info->si_pid == getpid() || !info->si_pid);
}

bool hidden_signals_keep(struct task *task, struct hidden_signals *h, siginfo_t *info, bool sent)
{
	enum hidden_signal kind = hidden_kind(info);
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
	if (s->held) /* the kernel drops a second one while the first is pending */
		return true;
	s->held = true;
	s->info = *info;
	if (!wide || task->process->tasks == 1)
		return true;
	count_hidden(task, h, true);
	/* Natively this thread blocks the signal, and the kernel would have chosen another that
	 * waits for it. */
	if (!looked && !task->mid_run)
		(void)!hidden_signals_restore(task, h);
	return true;
}
