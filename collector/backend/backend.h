/* SPDX-License-Identifier: MIT */
/* How user code is run: the interface between the recorder and the backends. The recorder hands a
 * stopped task to resume(), waits, and hands each stop of a task that runs under the backend to
 * stopped(), which says what the stop means to the program.
 * - Ticks, transfers and branches go into the task's history (task_branch, or task->log).
 * - task->regs holds the application's registers whenever stopped() has given something other than
 *   BACKEND_RUNS.
 * - A backend knows nothing of a trace. It tells its observer, and that of the task's space. A
 *   backend belongs to one supervisor, and is called by its thread alone. */
#ifndef BT_BACKEND_H
#define BT_BACKEND_H

#include <signal.h>

#include "collector/backend/test_knobs.h"
#include "collector/space/observer.h"
#include "collector/task/task.h"
#include "collector/tracee/wait_event.h"
#include "lib/clock.h"
#include "lib/logged_call.h"
#include "lib/processor.h"

enum backend_stop {
	BACKEND_RUNS,  /* a stop of the backend's own; the task has been resumed */
	BACKEND_SLICE, /* between two instructions, after the budget or an interruption, at the
			  task's stop point, or at a function stop (task_function_stop()): the
			  recorder may run another task */
	BACKEND_SPINS, /* the same; others wait for its turn, and it only waits for them: another is
			  to have the turn */
	BACKEND_SYSCALL_ENTER, /* at the entry of a system call: arguments are in the registers */
	BACKEND_SYSCALL_EXIT,  /* behind it: the result is in rax */
	BACKEND_INSTRUCTION,   /* behind an instruction with a result of its own, which is in the
				  registers (BT_TRAIT_OWN_RESULT); or behind a call of the vsyscall
				  page (task.left_vsyscall), whose result is in memory, too, or
				  behind xsave and its like (task.has_saved_parts), whose result is
				  there alone */
	BACKEND_SIGNAL,        /* a signal of the program's own (siginfo) waits to be delivered */
	BACKEND_HANDLER,       /* at the first instruction of a signal handler */
	BACKEND_MID_RUN, /* in the midst of a step that resume() has begun, and proceed() goes on
			    with; task->regs are those before the step */
	BACKEND_GONE,    /* the task was killed; its wait status follows */
};

enum {
	BACKEND_WAITS = 1,
};

/* In what company a task may run on, where the tasks of a unit run side by side. */
enum backend_company {
	COMPANY_ANY,
	COMPANY_TURNS, /* while no other of its unit runs user code */
	COMPANY_NONE,  /* the same, and running tasks are to be stopped for it now */
	COMPANY_LATER, /* not yet: another is making a copy of the address space */
};

/* Where a task with a stop point stops. */
enum backend_reach {
	REACH_EXACT,  /* at the point */
	REACH_BEHIND, /* at the point or some instructions farther: a counter's overflow comes late
		       */
};

struct backend;
struct output_file;
struct pmu;

/* Calls, and instructions with a result of their own, whose outcome is known before a task makes
 * them: those of a replay. A backend may answer them without a stop. */
struct answered_calls {
	/* The calls that the task makes next: number, arguments and tick are to be the same, result
	 * and data are the answer. A backend that learns the tick later tells it. Returns their
	 * number. They live until the task has run. *passed: the number of events before the first
	 * of them; if it is as it was, these are the same calls. NULL: none is known beforehand. */
	size_t (*ahead)(void *arg, struct task *task, const struct bt_logged_call **calls,
			uint64_t *passed);
	/* The task has made the first n of them, one or more, and has stopped behind that. ticks:
	 * at which, each; NULL: at theirs. */
	void (*given)(void *arg, struct task *task, size_t n, const uint64_t *ticks);
	void *arg;
};

struct backend_ops {
	const char *name;      /* as in the trace's header */
	const char *source;    /* of its branch records */
	uint32_t tick_classes; /* 0: ticks are unknown */
	bool native;           /* code runs at its own addresses: at any stop the registers are the
				  application's */

	/* Prepares a task to run under the backend (registers are not needed yet). Returns 0 or
	 * -BT_E_NO_MEMORY. */
	int (*task_init)(struct backend *b, struct task *task);
	void (*task_release)(struct backend *b, struct task *task);

	/* Lets a stopped task run from where it is, at most to its stop point (stop_point.h).
	 * Delivers signo (0: none) first, whose action will be this one (never BT_ACTION_IGNORE).
	 * In a system call (task->in_syscall) it runs to the call's exit. Returns 0 or -BT_E_GONE;
	 * or, if tasks run side by side and there is no signal, BACKEND_WAITS: the task has not
	 * run, and is to be resumed again in the company that it may have now. */
	int (*resume)(struct backend *b, struct task *task, int signo,
		      enum bt_signal_action action);

	/* Goes on with what resume() had begun, after a stop in between that was not for stopped().
	 * Returns as resume() does. */
	int (*proceed)(struct backend *b, struct task *task);

	/* Sets the stopped task's stop point, in the place of the one before: there it gives
	 * BACKEND_SLICE. The point must stay valid as long as it is set; NULL: no point. Returns
	 * the precision of the stop there. May be NULL: the backend counts no ticks. */
	enum backend_reach (*stop_at)(struct backend *b, struct task *task,
				      const struct stop_point *point);

	/* Makes a running task give BACKEND_SLICE as soon as it can. May interrupt it. */
	void (*stop_soon)(struct backend *b, struct task *task);

	/* The time task->due is over, and the task runs. It may set another one. May be NULL: the
	 * backend sets none. */
	void (*due)(struct backend *b, struct task *task);

	/* Others of its unit wait for the running task's turn: it is to give BACKEND_SPINS when it
	 * only waits for them. May be NULL: it never does. */
	void (*waited_for)(struct backend *b, struct task *task);

	/* The task has given BACKEND_SPINS and not run since. Returns whether it would still only
	 * spin if it ran. NULL: the backend never gives BACKEND_SPINS. */
	bool (*still_spins)(struct backend *b, struct task *task);

	/* If tasks of a unit run side by side: in what company the task may run on, or make the
	 * system call at whose entry it is. May be NULL: in any. */
	enum backend_company (*company)(const struct backend *b, const struct task *task);

	/* The stopped task is about to be detached: puts back all of its state that the backend has
	 * changed. */
	void (*leave)(struct backend *b, struct task *task);

	/* The stopped task (maybe mid_run) has to wait while others of its unit run. Signals that
	 * the backend holds, and that others may ask the kernel for, go back to the kernel. The
	 * task may be in a group stop, whose siginfo must stay: PTRACE_LISTEN looks at it. May be
	 * NULL: the backend holds nothing. */
	void (*rest)(struct backend *b, struct task *task);

	/* The task's call has made another task, and the copy of the address space is known. The
	 * call may last as long as the other task likes (CLONE_VFORK). May be NULL. */
	void (*forked)(struct task *task);

	/* The task is at PTRACE_EVENT_EXEC: enters the system call that led from the old program to
	 * the new one into the history. task->regs are those of the new program,
	 * task->process->space is still the old space. */
	void (*execed)(struct backend *b, struct task *task);

	/* The task is at PTRACE_EVENT_EXIT, killed perhaps in the middle of anything; regs are the
	 * tracee's. Enters what it did until then into its history, and makes task->regs the
	 * application's. */
	void (*exiting)(struct backend *b, struct task *task, const struct bt_regs *regs);

	/* The running task has stopped for a signal that stopped() is told of later: brings history
	 * and task->regs to that stop. True when the task runs on instead, and the stop is no more.
	 * May be NULL: at any stop they are there. */
	bool (*arrive)(struct backend *b, struct task *task);

	/* The stopped task's history is about to be read: enters what the backend has not entered
	 * yet. May be NULL. */
	void (*settle)(struct backend *b, struct task *task);

	/* No task runs under the backend any more: frees `shared`. May be NULL. */
	void (*close)(struct backend *b);

	/* Makes sense of a WAIT_SYSCALL, WAIT_SIGNAL or WAIT_INTERRUPT stop. info is filled for
	 * BACKEND_SIGNAL. */
	enum backend_stop (*stopped)(struct backend *b, struct task *task,
				     const struct wait_event *ev, siginfo_t *info);
};

struct backend {
	const struct backend_ops *ops;
	const struct observer *observer; /* is told of branches, code and notes */
	const struct bt_clock *clock;    /* of the recording */
	const char *cache; /* directory of what backends keep from one recording to the next; NULL:
			      they keep nothing */
	struct processor processor; /* the features that may be used */
	void *shared;               /* the backend's own, for all tasks */
	void (*tell_slow)(void *arg,
			  const char *why); /* a process runs so slowly that the user must know it
					       now: a line. NULL: nobody hears it */
	void *tell_arg;
	struct pmu *pmu; /* state of the pmu backend (pmu/pmu.h) */
	uint64_t due;    /* no later than any running task's task.due; 0: none has one */
	const struct test_knobs *tests;
	bool parallel; /* the tasks of a unit run side by side. Of backends that can */
	bool logged;   /* everything that does not follow from memory and registers is told: each
			  system call gives BACKEND_SYSCALL_ENTER and BACKEND_SYSCALL_EXIT, or the
			  observer is told of it (observer_ops.logged); each instruction with a
			  result of its own gives BACKEND_INSTRUCTION, or the same. Of backends
			  that count ticks */
	bool several;  /* there has been more than one task: a log has ended */
	bool answered; /* a log is replayed: the session answers each call, and no call of the
			  vsyscall page is made */
	const struct output_file *outputs; /* with a log: the files whose writes give the two
					      stops (output_files.h); NULL: all calls do */
	struct answered_calls answers;
	bool ticks; /* from the next time on that a task runs: ticks and transfers are counted,
		       branches are not recorded. Of backends that can */
};

/* Tells the backend's observer a line about the task. */
static inline void backend_note(const struct backend *b, const struct task *task, const char *text)
{
	b->observer->ops->note(b->observer->arg, task, text);
}

/* The single-stepper: exact, complete, slow; the oracle of every other backend. */
extern const struct backend_ops stepper_ops;

/* The software engine: dynamic translation (collector/backend/engine). */
extern const struct backend_ops engine_ops;

/* Native code, branches recorded by the processor (collector/backend/pmu). */
extern const struct backend_ops pmu_ops;

#endif
