/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/hidden_signals.h"
#include "collector/tracee.h"

enum {
	LOOK_NS = 50000,   /* between two looks at whether others are awake */
	LOOKS = 400,	   /* so often, if it was never in vain */
	IMPATIENCE = 8,	   /* halvings of that */
};

#define MASK_OF(signo) (1ull << ((signo) - 1))

static const int signal_numbers[HIDDEN_SIGNALS] = {[HIDDEN_TRAP] = SIGTRAP, [HIDDEN_SEGV] = SIGSEGV};

/* Whether another thread of the process runs: in the kernel, if one at a time runs user code. */
static bool others_are_awake(const struct task *task)
{
	char path[64];
	struct dirent *entry;
	bool awake = false;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/task", task->process->pid);
	dir = opendir(path);
	while (dir && !awake && (entry = readdir(dir))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		awake = tid > 0 && tid != task->tid && tracee_is_awake(tid);
	}
	if (dir)
		closedir(dir);
	return awake;
}

/* A signal that waits for the process, and that the task is about to unblock: whoever has a call to see it with, sees it first. Those
 * that compute cannot be told from those in a call: where all are waited for in vain, it is not as long the next time. */
static void let_others_look(const struct task *task, struct hidden_signals *h)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	unsigned looks = LOOKS >> h->impatience;

	while (others_are_awake(task)) {
		if (!looks--) {
			h->impatience += h->impatience < IMPATIENCE;
			return;
		}
		nanosleep(&pause, NULL);
	}
	h->impatience = 0;
}

static void count(struct task *task, struct hidden_signals *h, bool counted)
{
	task->process->signals_held += counted - h->counted;
	h->counted = counted;
}

int hidden_signals_hide(struct task *task, struct hidden_signals *h)
{
	uint64_t mask, hide = MASK_OF(SIGTRAP) | (task->process->space->watched ? MASK_OF(SIGSEGV) : 0);
	struct tracee_signals s;

	if (tracee_get_mask(task->tid, &mask))
		return -BT_E_GONE;
	if (!(mask & hide))
		return 0;
	/* QUIRK(setsigmask-restore): PTRACE_SETSIGMASK ends the temporary mask of epoll_pwait and its kin (ptrace_setsigmask, Linux
	 * 6.18), under which a signal may be waiting: that one comes first, before any instruction. */
	if (tracee_signals(task->tid, &s))
		return -BT_E_GONE;
	if ((s.pending | s.shared_pending) & ~s.blocked)
		return mask & MASK_OF(SIGTRAP) ? HIDE_SIGNAL_FIRST : HIDE_SIGNAL_MAY_COME;
	if (task->process->tasks > 1 && s.shared_pending & mask & hide) {
		let_others_look(task, h);
		count(task, h, true);
	}
	h->mask |= mask & hide;
	return tracee_set_mask(task->tid, mask & ~hide);
}

/* To the thread or the process, as it came. What has a value keeps that and its sender; the kernel lets nobody say of a plain kill()
 * that another made it (rt_sigqueueinfo(2)). */
static bool post(const struct task *task, struct held_signal *s, bool wide)
{
	int signo = s->info.si_signo;
	pid_t pid = task->process->pid;

	if (wide && s->info.si_code < 0)
		return !syscall(SYS_rt_sigqueueinfo, pid, signo, &s->info);
	return !(wide ? kill(pid, signo) : tgkill(pid, task->tid, signo));
}

int hidden_signals_restore(struct task *task, struct hidden_signals *h)
{
	uint64_t mask, hidden = h->mask;

	if (!hidden)
		return 0;
	h->mask = 0;
	count(task, h, false);
	if (tracee_get_mask(task->tid, &mask) || tracee_set_mask(task->tid, mask | hidden))
		return -BT_E_GONE;
	for (int i = 0; i < HIDDEN_SIGNALS * 2; i++) {
		struct held_signal *s = &h->held[i / 2][i % 2];

		if (!s->held)
			continue;
		s->held = false;
		s->posted = post(task, s, i % 2);
	}
	return 0;
}

int hidden_signals_rest(struct task *task, struct hidden_signals *h)
{
	return h->counted ? hidden_signals_restore(task, h) : 0;
}

/* Whether it is the one that was posted. In a PID namespace, nobody outside has a number. */
static bool was_posted(const struct held_signal *s, const siginfo_t *info)
{
	if (!s->posted)
		return false;
	if (info->si_code < 0 && info->si_code != SI_TKILL)
		return info->si_code == s->info.si_code && info->si_value.sival_ptr == s->info.si_value.sival_ptr;
	return info->si_code <= 0 && (info->si_pid == getpid() || !info->si_pid);
}

bool hidden_signals_keep(struct task *task, struct hidden_signals *h, siginfo_t *info)
{
	/* Of a thread's own only those of tgkill() can be told. */
	bool wide = info->si_code != SI_TKILL, again;
	struct held_signal *s = &h->held[info->si_signo == signal_numbers[HIDDEN_SEGV] ? HIDDEN_SEGV : HIDDEN_TRAP][wide];

	again = was_posted(s, info);
	if (again) {
		s->posted = false;
		*info = s->info;
		tracee_set_siginfo(task->tid, info);
	}
	if (!(h->mask & MASK_OF(info->si_signo)) || info->si_code > 0)
		return false;
	if (s->held) /* a second one, while the first is pending */
		return true;
	s->held = true;
	s->info = *info;
	if (!wide)
		return true;
	count(task, h, true);
	/* Natively the kernel would have asked all threads, and this one blocks it: another may be waiting for it. */
	if (!again && task->process->tasks > 1)
		(void)!hidden_signals_restore(task, h);
	return true;
}
