/* SPDX-License-Identifier: MIT */
/* Tasks, processes and units of the recorded tree, and the table that holds them. */
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
	pid_t pid;
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
	unsigned tasks;
	struct task *current; /* holds the turn */
	struct task *ready_first,
		*ready_last;     /* those that have some of their slice left come first */
	unsigned ready;          /* how many there are */
	struct task *early_last; /* the last of them; NULL */
	unsigned yields; /* how often the processor was given up for whoever made the last call at a
			    stop, or was woken by that; at most TURN_YIELDS */
	unsigned running;   /* tasks in TASK_RUNNING, */
	bool asked;         /* all of which have been asked to stop */
	struct task *dumps; /* is being ended by a signal that leaves a core file, where tasks run
			       side by side; NULL */
	uint32_t last;      /* task that ran last */
	struct bt_point left_at; /* where that one stood when its turn ended */
};

struct task {
	struct task *next, **link; /* in the table: link is what points to it */
	struct task *ready_next, *ready_before;
	struct task *member_next, **member_link; /* of its process */
	uint32_t number, parent;
	pid_t tid, parent_tid; /* the parent's when it made this one */
	struct process *process;
	struct unit *unit;
	enum task_state state;
	enum bt_task_how how;
	bool recorded; /* its TASK record is written */
	bool exit_recorded;
	bool queued;
	uint64_t turn_began, turn_used; /* ns; used: of its slice, before the turn that it has */
	bool spins;     /* its turn ended because it only waited for what others do */
	bool unwatched; /* it has the turn although it does, for they do, too: there is no hurry */
	bool first_stop_seen;
	unsigned orphan_ticks; /* for how long it has waited for its parent's event */
	bool native;           /* runs unrecorded until --from is reached */
	bool start_pending;    /* its START record is still to be written */
	struct bt_regs regs;   /* of the last stop, as the application sees them */
	struct branch_ring ring;
	struct branch_log *log; /* of a backend that decodes later what it recorded (branch_log.h),
				   else NULL: what is newer than the ring */
	uint64_t history;       /* entries of branch history it may keep */
	uint64_t history_counted; /* bytes of it, of the sum of all tasks */
	const struct stop_point *stop_point,
		*stop_points_end; /* where it is to be stopped, in order (stop_point.h) */
	unsigned ran;             /* the recorder's tick at which it was last resumed */
	uint64_t stepped; /* instructions that were single-stepped, system calls not counted */
	struct task_record *record; /* what the record session keeps of it (record_observer.h) */
	/* Of the backends, which may be built on one another: */
	void *backend;          /* the engine's, the pmu's */
	void *runner;           /* of what runs code for the pmu */
	struct step_task *step; /* the stepper's */

	bool in_syscall;
	bool syscall_restarts; /* its last system call will be entered again by the kernel */
	bool syscall_cut; /* its last system call was made without a stop and gave EINTR, or less
			     than all, for what stopped it now */
	struct cut_transfer transfer;
	struct syscall_timeout timeout;
	bool untraced_child;   /* it is in a clone() from whose flags CLONE_UNTRACED was taken */
	bool snapshot_syscall; /* it is in the prctl that btrec.h makes */
	bool mid_run; /* it was stopped in what the backend had begun: registers are those before
			 that */
	bool halted;  /* for the snapshot that is being taken */
	bool stopped_in_syscall; /* its process was stopped while it was in its system call, which
				    Linux may end for that (signal(7)) */
	unsigned ignored_before; /* of its process, when its system call began */
	bool interrupted;        /* we interrupted its system call for a snapshot */
	struct tracee_syscall syscall; /* the one it is in, or made last */
	struct syscall_filter *filter; /* the newest of those it was seen to install, or has from
					  its parent (syscall_filter.h); NULL: none */
	bool filters_unseen;           /* or there are others, from before --from was reached */
	struct limits_syscall limits_syscall;
	bool affinity_syscall; /* that asks for an affinity, or sets one */
	uint64_t waited;       /* for a processor, in nanoseconds, when that was last looked at */
	int pending_signal;    /* to deliver when it is resumed */
	enum bt_signal_action pending_action;

	struct handler_frame frames[HANDLER_DEPTH_MAX];
	unsigned depth;
	int64_t bucket; /* rate limit of snapshots of handled events: what may be spent on them */
	uint64_t bucket_time; /* 0: not begun */
	uint64_t suppressed[BT_SNAPSHOT_KINDS];
};

struct task_table {
	struct task *first;
	struct unit *units;
	unsigned count;
	struct hash_table by_tid;
	uint32_t next_task, next_unit, next_space;
};

struct task *task_find(const struct task_table *t, pid_t tid);

/* The task goes on under another id. */
void task_rename(struct task_table *t, struct task *task, pid_t tid);

/* A new task in state TASK_NEW without process. NULL without memory. */
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
