/* SPDX-License-Identifier: MIT */
/* Tasks, processes and units, and the table that holds them: what all know of them who run code.
 * The supervisor, the session and the backends each keep more of a task behind a pointer that is
 * theirs alone. */
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
	TASK_NEW, /* known from its own first stop or from its parent's event, but not yet from both
		   */
	TASK_READY,         /* stopped; waits for its unit's turn */
	TASK_RUNNING,       /* user code runs under the backend; it is its unit's current task */
	TASK_IN_SYSCALL,    /* in the kernel between entry and exit */
	TASK_GROUP_STOPPED, /* stopped by a stop signal, until SIGCONT */
	TASK_NATIVE,        /* runs unrecorded until --from is reached */
	TASK_EXITING,       /* past its exit event */
};

/* A call that is made again for what is left (cut_transfer.h). */
struct cut_transfer {
	uint64_t moved;         /* before; 0: none is */
	uint64_t buffer, count; /* arguments of the whole */
	bool rewound;           /* the instruction is still to be executed */
};

/* A signal frame on a stack of the task, as long as its handler has not been left. */
struct handler_frame {
	uint64_t sp;
	uint64_t alt_start, alt_end; /* of the alternate stack it lies on; 0 for none */
	uint64_t interrupted_sp;     /* where it does: of what the signal interrupted */
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

/* One that the recorder has sent again, in its own name. */
struct posted_signal {
	bool posted;
	siginfo_t info; /* what it was */
};

struct process {
	pid_t pid;      /* its own: what a trace calls it */
	pid_t host_pid; /* of the threads that carry its tasks */
	struct address_space *space;
	unsigned tasks;
	bool initial;
	bool fatal_kept;          /* its fatal snapshot has been taken */
	const char *leaving;      /* why it is to be detached at the next tick; until then it stays
				     stopped where it is. NULL: it is not */
	unsigned request_mark;    /* of the last request for a snapshot of it */
	bool snapshot_wanted;     /* at the next stop of any of its tasks */
	bool files_shared;        /* another process has the same descriptors (CLONE_FILES without
				     CLONE_VM) */
	struct task *members;     /* its tasks */
	unsigned signals_ignored; /* signals of which the program was not to know, so far */
	unsigned signals_held;    /* tasks whose backend may have signals that were sent to it
				     (hidden_signals.h) */
	struct posted_signal posted[HIDDEN_SIGNALS]; /* to it */
	bool trap_ignored; /* the program ignores SIGTRAP; stepping makes the kernel forget that */
	bool trap_known; /* an execve changes nothing in that: what is handled is not ignored, what
			    is ignored stays so */
	struct limits limits;
	struct last_words *last_words; /* NULL: none */
};

enum {
	TURN_YIELDS = 5,
};

/* Tasks that share an address space: one of them runs user code at a time. */
struct unit {
	struct unit *next, **link; /* in the table */
	uint32_t number;
	unsigned tasks, running; /* its tasks; of them in TASK_RUNNING, */
	unsigned waiting;        /* ... and waiting for their turn */
	struct task *current;    /* has the turn; NULL: nobody, or they run side by side */
	unsigned yields; /* how often the processor was given up for whoever made the last call at a
			    stop, or was woken by that; at most TURN_YIELDS */
	struct unit_turns *turns; /* the supervisor's; freed with the unit by free(3) */
};

struct task {
	struct task *next, **link;               /* in the table: link is what points to it */
	struct task *member_next, **member_link; /* of its process */
	uint32_t number, parent;
	pid_t tid;      /* its own: what a trace calls it, whatever carries it */
	pid_t host_tid; /* the thread that carries it: what ptrace(2), /proc and wait(2) know */
	struct process *process;
	struct unit *unit;
	enum task_state state;
	enum bt_task_how how;
	bool native;    /* runs on its own: nothing is known of it until the session says where it
			   begins */
	bool unwatched; /* it has the turn although it only waits for what others do, for they do,
			   too: there is no hurry */

	/* Where it is. */
	struct bt_regs regs; /* of the last stop, as the application sees them */
	bool mid_run; /* it was stopped in what the backend had begun: registers are those before
			 that */
	const struct stop_point *stop_point; /* where it is to be stopped; NULL: nowhere */
	struct handler_frame frames[HANDLER_DEPTH_MAX]; /* of handlers that it has not left */
	unsigned depth;
	int pending_signal; /* to deliver when it is resumed */
	enum bt_signal_action pending_action;

	/* What it did. */
	struct branch_ring ring;
	struct branch_log *log; /* of a backend that decodes later what it recorded (branch_log.h),
				   else NULL: what is newer than the ring */
	uint64_t history;       /* entries of branch history it may keep */
	uint64_t stepped; /* instructions that were single-stepped, system calls not counted */

	/* Its system call. */
	bool in_syscall;
	bool syscall_restarts; /* its last one will be entered again by the kernel */
	bool syscall_cut; /* its last one was made without a stop and gave EINTR, or less than all,
			     for what stopped it now */
	bool interrupted; /* we interrupted it for a snapshot */
	struct tracee_syscall syscall; /* the one it is in, or made last */
	struct cut_transfer transfer;
	struct syscall_timeout timeout;
	struct syscall_filter *filter; /* the newest of those it was seen to install, or has from
					  its parent (syscall_filter.h); NULL: none */
	bool filters_unseen;           /* or there are others, from when it was native */
	struct limits_syscall limits_syscall;

	struct supervised *supervised; /* the supervisor's; freed with the task by free(3) */
	struct task_record *record;    /* the session's; gone before the task is removed */
	/* Of the backends, which may be built on one another: */
	void *backend;          /* the engine's, the pmu's */
	void *runner;           /* of what runs code for the pmu */
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

/* A thread with another id carries the task from here on, and is it. */
void task_rename(struct task_table *t, struct task *task, pid_t tid);

/* A new task in state TASK_NEW without process, which is that thread. NULL without memory. */
struct task *task_add(struct task_table *t, pid_t tid);

/* Takes a task out and frees it; the last of a process and of a unit frees those. */
void task_remove(struct task_table *t, struct task *task);

struct process *process_new(pid_t pid, struct address_space *space);
struct unit *unit_new(struct task_table *t);

/* The only way to change task->state: its unit counts those that run. */
void task_set_state(struct task *task, enum task_state state);
void task_join_unit(struct task *task, struct unit *unit);
void task_leave_unit(struct task *task);
void task_join_process(struct task *task, struct process *process);
void task_leave_process(struct task *task);

/* Enters a branch, or that later ones belong to another image, into the task's history. */
void task_branch(struct task *task, const struct bt_branch *b, bool tick);
void task_epoch(struct task *task);

/* So many conditionals and, since the last of them (or, without one, since before), transfers were
 * executed that are not recorded. */
void task_count(struct task *task, uint64_t ticks, uint64_t transfers);

/* So many were executed that are not recorded for this reason: a gap, also where there were none.
 */
void task_skip(struct task *task, enum bt_gap_reason reason, uint64_t ticks, uint64_t transfers);

/* About how many entries task_settle() is to bring there. */
uint64_t task_unsettled(const struct task *task);

/* Brings everything recorded into task->ring: to be called before that is read. */
void task_settle(struct task *task);

/* Its tick as far as that is recorded. Cheap. */
uint64_t task_tick(const struct task *task);

/* Settles, and tells the observer of all of the history that it has not been told of. None of it is
 * left in memory. */
void task_tell_history(struct task *task, const struct observer *o);

/* Where the task is. */
struct bt_point task_point(const struct task *task);

/* Drops handler frames that were left without a sigreturn (siglongjmp): those the stack pointer has
 * moved past. */
void task_prune_frames(struct task *task);

#endif
