/* SPDX-License-Identifier: MIT */
/* Tasks, processes and units, and the table that holds them: the part that backends, supervisor and
 * session share. Each of these keeps more of a task behind a pointer that is its alone.
 *
 * A task belongs to one process and one unit; a new one has neither yet. The last task of a process
 * or unit frees it. task->state changes through task_set_state() alone. One thread. */
#ifndef BT_TASK_H
#define BT_TASK_H

#include <signal.h>

#include "collector/history/branch_log.h"
#include "collector/history/branch_ring.h"
#include "collector/space/address_space.h"
#include "collector/task/limits.h"
#include "collector/task/stop_point.h"
#include "collector/task/syscall_timeout.h"
#include "collector/tracee/tracee.h"
#include "lib/event.h"
#include "lib/hash_table.h"
#include "lib/point.h"
#include "lib/regs.h"

enum task_state {
	TASK_NEW,           /* its own first stop or its parent's event has come, not yet both */
	TASK_READY,         /* stopped; waits for its unit's turn */
	TASK_RUNNING,       /* user code runs under the backend; it is its unit's current task */
	TASK_IN_SYSCALL,    /* in the kernel between entry and exit */
	TASK_GROUP_STOPPED, /* stopped by a stop signal, until SIGCONT */
	TASK_NATIVE,        /* runs unrecorded until --from is reached */
	TASK_EXITING,       /* past its exit event */
};

/* A call that is made again for what is left (cut_transfer.h). */
struct cut_transfer {
	uint64_t moved;         /* bytes moved before; 0: no call is being repeated */
	uint64_t buffer, count; /* arguments of the whole call */
	bool rewound;           /* the instruction is still to be executed */
};

/* A signal frame on a stack of the task, as long as its handler has not been left. */
struct handler_frame {
	uint64_t sp;
	uint64_t alt_start, alt_end; /* of the alternate stack it lies on; 0 for none */
	uint64_t interrupted_sp;     /* on an alternate stack: the interrupted code's rsp */
};

enum {
	HANDLER_DEPTH_MAX = 64,
};

struct syscall_filter;

/* hidden_signals.h */
enum hidden_signal {
	HIDDEN_TRAP,
	HIDDEN_SEGV,
	HIDDEN_SIGNALS,
};

/* A signal that the recorder has sent again, in its own name. */
struct posted_signal {
	bool posted;
	siginfo_t info; /* of the first sending */
};

struct process {
	pid_t pid;      /* its own, as in a trace */
	pid_t host_pid; /* of the threads that carry its tasks */
	struct address_space *space;
	unsigned tasks;
	bool initial;
	const char *leaving;      /* why it is to be detached at the next tick; until then it stays
				     stopped. NULL: it is not to be */
	bool stop_wanted;         /* the session waits for one of its tasks to stop */
	bool files_shared;        /* another process has the same descriptors (CLONE_FILES without
				     CLONE_VM) */
	struct task *members;     /* its tasks */
	unsigned signals_ignored; /* signals so far that the program was not shown */
	unsigned signals_held;    /* tasks whose backend may hold signals for the process
				     (hidden_signals.h) */
	struct posted_signal posted[HIDDEN_SIGNALS]; /* to the process */
	bool trap_ignored; /* the program ignores SIGTRAP; stepping makes the kernel forget that */
	bool trap_known;   /* trap_ignored is known. An execve keeps it: an ignored signal stays
			      ignored, a handled one is not ignored afterwards */
	bool filter_is_ours; /* the session gave it its system call filter: calls of ours pass */
	struct limits limits;
	struct last_words *last_words; /* NULL: none */
	bool words_begun;              /* its program has begun a write to its descriptor 2 */

	struct process_record *record; /* the session's; gone before the process is freed */
};

enum {
	TURN_YIELDS = 5,
};

/* Tasks that share an address space: one of them runs user code at a time. */
struct unit {
	struct unit *next, **link; /* in the table */
	uint32_t number;
	unsigned tasks, running; /* its tasks; those of them that run user code */
	unsigned waiting;        /* those of them that wait for the turn */
	struct task *current;    /* has the turn; NULL: nobody, or they run side by side */
	unsigned yields; /* times that the processor was given up for the task that made the last
			    call at a stop, or for one that the call woke; at most TURN_YIELDS */
	struct unit_turns *turns; /* the supervisor's; freed with the unit by free(3) */
};

struct task {
	struct task *next, **link;               /* in the table; link: the pointer to it */
	struct task *member_next, **member_link; /* of its process */
	uint32_t number, parent;
	pid_t tid;      /* its own, as in a trace, whatever thread carries it */
	pid_t host_tid; /* the thread that carries it, for ptrace(2), /proc and wait(2) */
	struct process *process;
	struct unit *unit;
	enum task_state state;
	enum bt_task_how how;
	bool native;    /* runs unrecorded: nothing is known of it until the session says where it
			   begins */
	bool unwatched; /* it only waits for others, and has the turn because all others do so, too:
			   there is no hurry */

	/* Its point, and its registers there. */
	struct bt_regs regs; /* of the last stop, as the application sees them */
	uint64_t due;        /* time of the recording at which the backend is told if the task runs
				(backend_ops.due); 0: never */
	bool mid_run; /* it was stopped in the midst of a step: regs are those before the step */
	const struct stop_point *stop_point; /* at which it is to be stopped; NULL: none */
	struct {
		uint64_t rip, rsp;
	} told; /* at the function stop of which the session was told; rip 0: it has executed the
		   instruction there since */
	struct handler_frame frames[HANDLER_DEPTH_MAX]; /* of handlers that it has not left */
	unsigned depth;
	int pending_signal; /* to deliver when it is resumed */
	enum bt_signal_action pending_action;

	/* Its branches. */
	struct branch_ring ring;
	struct branch_log *log; /* branches newer than the ring's, not decoded yet (branch_log.h);
				   NULL with a backend that fills the ring at once */
	uint64_t history;       /* entries of branch history it may keep */
	uint64_t stepped; /* instructions that were single-stepped, system calls not counted */
	/* At BACKEND_INSTRUCTION: */
	bool left_vsyscall;   /* the instruction was a call of the vsyscall page */
	bool has_saved_parts; /* it was xsave, xsavec or xsaveopt, */
	uint64_t saved_parts; /* ... and stored at this address */
	bool signal_sent; /* at BACKEND_SIGNAL: no instruction has raised it, whatever its siginfo
			     looks like. False: it is not known, and siginfo tells */
	uint64_t signal_from; /* at BACKEND_SIGNAL: if it was raised in the place of a system call,
				 address of the call's instruction; else 0 */

	/* Its system call. */
	bool in_syscall;
	bool syscall_restarts; /* its last one will be entered again by the kernel */
	bool in_unseen_call; /* TASK_RUNNING: it has been resumed into a call that no stop tells of,
				and in which it may wait for others; no user code runs, but for an
				instruction behind the call */
	bool syscall_cut; /* its last one was made without a stop; the present stop has interrupted
			     it: it gave EINTR or a short transfer */
	bool interrupted; /* we interrupted it for a snapshot */
	struct tracee_syscall syscall; /* the one it is in, or made last */
	struct cut_transfer transfer;
	struct syscall_timeout timeout;
	struct syscall_filter *filter; /* the newest filter that it was seen to install, or has from
					  its parent (syscall_filter.h); NULL: none */
	bool filters_unseen;           /* it may have others, from the time when it was native */
	struct limits_syscall limits_syscall;

	struct supervised *supervised; /* the supervisor's; freed with the task by free(3) */
	struct task_record *record;    /* the session's; gone before the task is removed */
	/* Of the backends; one may be built on another: */
	void *backend;          /* the engine's, the pmu's */
	void *runner;           /* of the backend that runs code for the pmu */
	struct step_task *step; /* the stepper's */
};

struct task_table {
	struct task *first;
	struct unit *units;
	unsigned count;
	struct hash_table by_tid; /* host_tid */
	uint32_t next_task, next_unit, next_space;
};

/* By the thread that carries it. */
struct task *task_find(const struct task_table *t, pid_t host_tid);

/* The task's thread has another id from here on: both tid and host_tid change. */
void task_rename(struct task_table *t, struct task *task, pid_t tid);

/* Makes a task for that thread, in state TASK_NEW, without process. NULL without memory. */
struct task *task_add(struct task_table *t, pid_t tid);

/* Takes a task out and frees it; the last of a process and of a unit frees those. */
void task_remove(struct task_table *t, struct task *task);

struct process *process_new(pid_t pid, struct address_space *space);
struct unit *unit_new(struct task_table *t);

/* The only ways to change task->state and task->in_unseen_call: its unit counts the running tasks.
 */
void task_set_state(struct task *task, enum task_state state);
void task_set_unseen_call(struct task *task, bool unseen);

/* Whether the task runs user code: others of its unit may have to wait for it. */
static inline bool task_runs_code(const struct task *task)
{
	return task->state == TASK_RUNNING && !task->in_unseen_call;
}

void task_join_unit(struct task *task, struct unit *unit);
void task_leave_unit(struct task *task);
void task_join_process(struct task *task, struct process *process);
void task_leave_process(struct task *task);

/* Enters a branch into the task's history; or that later branches belong to another epoch. */
void task_branch(struct task *task, const struct bt_branch *b, bool tick);
void task_epoch(struct task *task);

/* Counts conditionals that were executed and are not recorded, and transfers since the last of
 * them. With no conditionals, the transfers add to those before. */
void task_count(struct task *task, uint64_t ticks, uint64_t transfers);

/* The same with a gap for this reason, also where both counts are 0. */
void task_skip(struct task *task, enum bt_gap_reason reason, uint64_t ticks, uint64_t transfers);

/* About how many entries task_settle() will add to the ring. */
uint64_t task_unsettled(const struct task *task);

/* Of what is not settled about so many of the newest entries are kept, at least; the older ones are
 * lost, undecoded. For a task that is about to end. */
void task_drop_history(struct task *task, uint64_t entries);

/* Brings everything recorded into task->ring. To be called before the ring is read. */
void task_settle(struct task *task);

/* The task's tick, as far as recorded. Cheap. */
uint64_t task_tick(const struct task *task);

/* Settles, and tells the observer the entries that it has not been told. None of them is left in
 * memory. */
void task_tell_history(struct task *task, const struct observer *o);

/* The point at which the task is. */
struct bt_point task_point(const struct task *task);

/* The function stop at whose entry the task stands; NULL: at none, or the session was told of it.
 * Cheap elsewhere. */
const struct function_stop *task_function_stop(const struct task *task);

/* Drops handler frames that were left without a sigreturn (siglongjmp): the stack pointer has moved
 * past them. */
void task_prune_frames(struct task *task);

#endif
