/* SPDX-License-Identifier: MIT */
/* Signals that the kernel must not find blocked when our own traps and faults raise them: SIGTRAP,
 * and SIGSEGV where pages are write-protected (address_space.watched). QUIRK(step-sigtrap-blocked):
 * it would reset their disposition and unblock them (force_sig_info_to_task). So they are unblocked
 * while a task runs user code, and blocked again whenever the program or the kernel looks: at every
 * system call, at every delivery, and where the task loses its turn, but in the midst of a step,
 * where a trap of ours may be on its way. What somebody sends meanwhile is pending as the program
 * sees it: what came for the process is offered to its other threads first, and then held here. */
#ifndef BT_HIDDEN_SIGNALS_H
#define BT_HIDDEN_SIGNALS_H

#include "collector/task/task.h"

enum {
	HIDE_SIGNAL_FIRST = 1, /* a signal comes before the next instruction: nothing was changed */
	HIDE_SIGNAL_MAY_COME = 2, /* the same, but a step can be made, and meanwhile another thread
				     may have got it */
};

/* For whom a task waits that is about to unblock what they may take. */
enum others {
	OTHERS_NONE,
	OTHERS_RUN,     /* they run side by side with it, and have it at once or not at all */
	OTHERS_SYSCALL, /* they are awake in a system call, or it comes to them when they are given
			   a processor */
	OTHERS_SHORT,   /* in a short one: who is awake there has not been given a processor */
	OTHERS_KINDS,
};

struct held_signal {
	bool held;
	siginfo_t info;
};

/* Of a task. Zeroed: nothing is hidden. */
struct hidden_signals {
	uint64_t mask; /* those that the program blocks, while the kernel's mask has them unblocked
			*/
	struct held_signal held[HIDDEN_SIGNALS]
			       [2]; /* [0]: sent to the thread, [1]: to the process */
	struct posted_signal posted[HIDDEN_SIGNALS]; /* to the thread */
	uint64_t looked;     /* those that waited for the process when the task was about to unblock
				them, and that nobody else has taken */
	bool faults_blocked; /* the kernel's mask had SIGSEGV or SIGBUS blocked when it was last
				looked at */
	bool counted; /* in process->signals_held: it has one that was sent to the process, or the
			 kernel is about to give it one */
	unsigned impatience[OTHERS_KINDS]; /* how often others of the process were waited for in
					      vain, by what they were doing */
};

/* Before the stopped task runs user code that will trap. Returns 0, HIDE_..., or -BT_E_GONE. */
int hidden_signals_hide(struct task *task, struct hidden_signals *h);

/* The stopped task's mask is the program's again. Returns 0 or -BT_E_GONE. */
int hidden_signals_unhide(struct task *task, struct hidden_signals *h);

/* Behind that: the kernel has what was held. To be called before the task makes a system call, but
 * not before the others of its process are stopped that are to be stopped for it (backend_company):
 * one of them would get it. What it may not be sent (the program has changed its user) is lost. */
void hidden_signals_give_back(struct task *task, struct hidden_signals *h);

/* An instruction has raised it, and it is about to end the process: what blocks it is not to come
 * back, as the kernel unblocks what it forces upon a thread (force_sig_info_to_task). It would
 * queue again what is blocked, and the thread run on. */
void hidden_signals_let_kill(struct hidden_signals *h, int signo);

/* Both. Returns 0 or -BT_E_GONE. */
int hidden_signals_restore(struct task *task, struct hidden_signals *h);

/* The stopped task lets others of its process run, which may ask for what was sent to the process:
 * all is restored; in the midst of a step (mid_run) the kernel has again what was sent to the
 * process, and the mask stays. Returns as hidden_signals_restore() does. */
int hidden_signals_rest(struct task *task, struct hidden_signals *h);

/* The stopped task goes on in the midst of a step: what waits for the process it is not to take
 * from under others that ask for it. Returns 0 or -BT_E_GONE. */
int hidden_signals_go_on(struct task *task, struct hidden_signals *h);

/* A signal that is none of ours has come. True: it is a SIGTRAP or SIGSEGV, the program blocks it,
 * and the task is to go on without it, by way of hidden_signals_hide(). May change *info to the one
 * that was sent first, of which the kernel does not know: with false it is the caller's to tell it.
 * sent: whatever it looks like, no instruction has raised it. */
bool hidden_signals_keep(struct task *task, struct hidden_signals *h, siginfo_t *info, bool sent);

/* The kernel has this SIGTRAP again, which came to the stopped task where it could not be told of.
 */
void hidden_signals_post(struct task *task, struct hidden_signals *h, const siginfo_t *info);

#endif
