/* SPDX-License-Identifier: MIT */
/* The log by which a recording can be run again (doc/FORMAT.md, "The log"): memory and registers
 * where the program begins, then each event with what it did to them. The recording session tells
 * it of its events, in their order; it writes to the unit's log. It belongs to a recording. One
 * thread.
 *
 * It holds one task, with all programs that it executes. When it makes another task the log ends
 * with the reason; the recording goes on. */
#ifndef BT_REPLAY_LOG_H
#define BT_REPLAY_LOG_H

#include "collector/record/changed_mappings.h"
#include "collector/record/guarded_pages.h"
#include "collector/record/log_content.h"
#include "collector/record/log_outputs.h"
#include "collector/record/log_shapes.h"
#include "collector/record/mapped_file_calls.h"
#include "collector/record/memory_copy.h"
#include "collector/record/stack_limit.h"
#include "collector/task/task.h"
#include "format/log_calls.h"
#include "format/trace_writer.h"
#include "syscalls/syscall_ranges.h"

struct arrived_signal;

struct replay_log {
	struct trace_writer *writer; /* NULL: none is kept */
	uint64_t most;               /* bytes of its file, at which it ends with the next record */
	bool begun;
	const char *end; /* why it has ended before the program; NULL: it has not, as far as that is
			    known (replay_log_reason()) */
	uint32_t unit, task;
	bool reads_run;      /* readable pages may be executed, too (personality(2)) */
	bool some_grow;      /* mappings beside the stack may grow downward (MAP_GROWSDOWN) */
	uint64_t heap_end;   /* the last result of brk; where the heap begins; 0: not known */
	struct bt_regs regs; /* at the entry of the task's call */
	struct bt_point at;  /* there */
	bool in_call;
	bool enters_handler; /* a signal has come that has one, and nothing since */
	bool frame_failed; /* SIGSEGV has come in the place of such a handler, and nothing since */
	bool executes;     /* another program: by this call */
	struct bt_record_log_call execution;
	struct guarded_pages guards; /* of the program */
	struct stack_limit stack;    /* of the program */
	struct map_part
		detaching; /* the addresses in which a shmdt removes; length 0: it does not */
	struct syscall_ranges ranges; /* ranges that the call may write; in room */
	struct syscall_range *room;   /* of SYSCALL_RANGES_ENOUGH; owned */
	struct mapped_file_call file; /* the call's change of mapped files */
	bool may_break_off;           /* the call, in the midst of memory that it cannot write */
	enum memory_copy_of compares; /* memory to compare, if no row tells the outputs */
	struct memory_copy before;    /* its bytes at the entry */
	struct log_content content;   /* of mappings */
	struct buf calls;             /* calls made without a stop, still to be written: */
	uint64_t calls_tick;          /* the tick of the first, */
	struct log_calls_codec codec; /* the state behind the last call */
	struct log_outputs outputs;
};

/* Keeps a log from now on, in w: of `most` bytes, and what one block more has. cache: the directory
 * of copies of mapped files (file_store.h); NULL: none. l stays where it is. */
void replay_log_init(struct replay_log *l, struct trace_writer *w, uint64_t most,
		     const char *cache);
void replay_log_release(struct replay_log *l);

/* Why the log has ended before the program; NULL: it has not, or there is none. */
const char *replay_log_reason(struct replay_log *l);

/* In all of the functions below the task is stopped, with its registers in task->regs. They do
 * nothing where no log is kept. */

/* The task stands before the first instruction of a program. The vdso is taken from it. */
void replay_log_program(struct replay_log *l, struct task *task);

/* The task has executed an instruction with a result of its own. */
void replay_log_instruction(struct replay_log *l, const struct task *task);

void replay_log_syscall_enter(struct replay_log *l, struct task *task);

/* task->syscall was left at that point, with this result; seq: of its event. */
void replay_log_syscall_exit(struct replay_log *l, struct task *task, const struct bt_point *at,
			     uint64_t result, uint64_t seq);

/* The task made this call without a stop. */
void replay_log_made(struct replay_log *l, const struct task *task,
		     const struct bt_logged_call *call);

/* Those calls are held back until an event follows, or there are many. Writes them now. */
void replay_log_flush(struct replay_log *l);

void replay_log_signal(struct replay_log *l, const struct task *task,
		       const struct arrived_signal *signal, uint64_t seq);
void replay_log_handler(struct replay_log *l, const struct task *task, uint64_t seq);

/* The task ends, at that point. */
void replay_log_exit(struct replay_log *l, struct task *task, enum bt_exit_kind kind, int status,
		     const struct bt_point *at, uint64_t seq);

/* The log cannot go on. The reason stays as long as the log. */
void replay_log_end(struct replay_log *l, const char *reason);

#endif
