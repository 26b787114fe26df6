/* SPDX-License-Identifier: MIT */
/* Signals that the kernel must not find blocked when our own traps and faults raise them: SIGTRAP,
 * and SIGSEGV where pages are write-protected (address_space.watched). QUIRK(step-sigtrap-blocked):
 * it would reset their disposition and unblock them (force_sig_info_to_task). So they are unblocked
 * while a task runs user code, and blocked again whenever the program or the kernel looks: at every
 * system call, at every delivery, and where the task loses its turn, but in the midst of a step,
 * where a trap of ours may be on its way. A signal that somebody sends meanwhile stays pending as
 * the program sees it: one for the process is offered to its other threads first, then held here.
 *
 * Used by the stepper, and so by all backends that are built on it. Each task has its own struct;
 * the signals posted to a process are the process's. */
#ifndef BT_HIDDEN_SIGNALS_H
#define BT_HIDDEN_SIGNALS_H

#include "collector/task/task.h"

enum {
	HIDE_SIGNAL_FIRST = 1, /* a signal comes before the next instruction: nothing was changed */
	HIDE_SIGNAL_MAY_COME = 2, /* the same, but a step can be made, and meanwhile another thread
				     may have got it */
};

/* The state of the other threads of a process, while a task waits for one of them to take its
 * signals. */
enum others {
	OTHERS_NONE,
	OTHERS_RUN, /* one runs side by side with the task, and takes it at once or not at all */
	OTHERS_SYSCALL, /* one is awake in a system call, or takes it when given a processor */
	OTHERS_SHORT,   /* one is awake in a short call: it waits for a processor */
	OTHERS_KINDS,
};

struct held_signal {
	bool held;
	siginfo_t info;
};

/* Of a task. Zeroed: nothing is hidden. */
struct hidden_signals {
	uint64_t mask; /* signals that the program blocks and the kernel's mask does not */
	struct held_signal held[HIDDEN_SIGNALS]
			       [2]; /* [0]: sent to the thread, [1]: to the process */
	struct posted_signal posted[HIDDEN_SIGNALS]; /* to the thread */
	uint64_t paced;   /* signals of timers that are to wait (timer_pace.h), */
	uint64_t blocked; /* ... and those of them that the kernel's mask has and the program's has
			     not */
	uint64_t looked;  /* signals that were offered to the other threads, and that none took */
	bool faults_blocked; /* the kernel's mask had SIGSEGV or SIGBUS blocked when it was last
				looked at */
	bool counted; /* in process->signals_held: the task holds a signal for the process, or the
			 kernel is about to give it one */
	unsigned impatience[OTHERS_KINDS]; /* waits in vain so far, by what the others did */
};

/* The kernel blocks these signals, too, until the mask is the program's again. They are none that
 * an instruction raises. Returns 0 or -BT_E_GONE. */
int hidden_signals_pace(struct task *task, struct hidden_signals *h, uint64_t signals);

/* It does so no longer, in the stopped task. Returns 0 or -BT_E_GONE. */
int hidden_signals_end_pace(struct task *task, struct hidden_signals *h);

/* Before the stopped task runs user code that will trap. Returns 0, HIDE_..., or -BT_E_GONE. */
int hidden_signals_hide(struct task *task, struct hidden_signals *h);

/* The stopped task's mask is the program's again. Returns 0 or -BT_E_GONE. */
int hidden_signals_unhide(struct task *task, struct hidden_signals *h);

/* To be called after that: the kernel gets the held signals back. Call it before the task makes a
 * system call, and after the threads that must stand still for it are stopped (backend_company):
 * one of them would take the signal. If the program has changed its user, a signal that may not be
 * sent to it is lost. */
void hidden_signals_give_back(struct task *task, struct hidden_signals *h);

/* An instruction has raised the signal, which is about to end the process: it must stay unblocked,
 * as the kernel unblocks what it forces upon a thread (force_sig_info_to_task). Were it blocked,
 * the kernel would queue it and the thread would run on. */
void hidden_signals_let_kill(struct hidden_signals *h, int signo);

/* Unhides, then gives back. Returns 0 or -BT_E_GONE. */
int hidden_signals_restore(struct task *task, struct hidden_signals *h);

/* The stopped task lets other threads of its process run, which may ask for signals of the process:
 * restores all. In the midst of a step (mid_run) only signals of the process go back to the kernel,
 * and the mask stays. Returns as hidden_signals_restore() does. */
int hidden_signals_rest(struct task *task, struct hidden_signals *h);

/* The stopped task goes on in the midst of a step: offers pending signals of the process to its
 * other threads first. Returns 0 or -BT_E_GONE. */
int hidden_signals_go_on(struct task *task, struct hidden_signals *h);

/* A signal that is none of ours has come. True: it is a SIGTRAP or SIGSEGV that the program blocks,
 * and the task is to go on without it, through hidden_signals_hide(). If it was posted here, *info
 * becomes that of the first sending; the kernel does not know it, so on false the caller sets it.
 * sent: no instruction has raised it, whatever *info looks like. */
bool hidden_signals_keep(struct task *task, struct hidden_signals *h, siginfo_t *info, bool sent);

/* Gives the kernel this SIGTRAP back, which came where the stopped task could not take it. */
void hidden_signals_post(struct task *task, struct hidden_signals *h, const siginfo_t *info);

#endif
