/* SPDX-License-Identifier: MIT */
/* Shared by the stepper's source files alone: its part of a task, the instruction that the task
 * executes next (next_insn.c), and executed instructions in the task's history (step_history.c).
 * task->regs are up to date in all of these calls. */
#ifndef BT_STEPPER_PRIVATE_H
#define BT_STEPPER_PRIVATE_H

#include "collector/backend/step/stepper.h"
#include "collector/task/hidden_signals.h"
#include "collector/task/timer_pace.h"

/* Why the task was resumed. */
enum errand {
	ERRAND_STEP,    /* one instruction, and the second */
	ERRAND_OVER,    /* a whole instruction without a step, to the breakpoint where it leads */
	ERRAND_SYSCALL, /* to the next system call stop */
	ERRAND_DELIVER, /* a signal */
	ERRAND_SIGNAL,  /* to a signal that waits for it */
};

struct step_task {
	enum errand errand;
	int request;   /* of ptrace, with which it was sent */
	uint64_t addr; /* of insn; the registers before it are task->regs */
	struct bt_insn insn;
	uint8_t bytes[BT_INSN_MAX];
	struct bt_insn second; /* the instruction executed by the same step, as no trap comes behind
				  insn (look_second()). len 0: none */
	uint64_t second_addr;
	uint8_t second_bytes[BT_INSN_MAX];
	bool logged;       /* a log is kept, or replayed: backend.h */
	bool answered;     /* a log is replayed */
	bool readable;     /* insn could be decoded */
	uint64_t back;     /* of a call of the vsyscall page: its return address; else 0 */
	uint64_t left_out; /* iterations of a repeated insn that rcx does not count while the task
			      is on its errand: its stop point comes before them */
	bool code_32;      /* it is 32-bit code */
	bool skips;        /* the last entry of the history is the gap that stands for such code */
	bool program_tf;   /* TF is the program's own: its trap is too */
	struct hidden_signals hidden;
	struct backend *backend;
	struct timer_pace pace;
	uint64_t pace_from;              /* the instruction at which it began */
	bool pace_called, pace_goes_on;  /* a system call has begun meanwhile; it has ended, and the
					    pace goes on behind it */
	uint64_t pace_used, pace_wanted; /* processor time that the program had used when the pace
					    began, and that it is to use before it ends */
	unsigned budget;
	uint64_t syscall_rip; /* of the system call instruction in progress */
};

/* Looks at the instruction that the task is about to execute, and at the second where no trap comes
 * behind it. */
void next_insn_look_ahead(struct task *task);

/* The same, but aborts a transaction that would begin there, and looks at the instruction that
 * comes then. Returns 0 or -BT_E_GONE. */
int next_insn_look(struct task *task);

/* Does what the next instruction would store of the system's own (lib/system_store.h) in its place,
 * where a log is kept or replayed. Returns 1: that was it, and it has to be looked at the next one;
 * 0: it is to be executed; -BT_E_GONE. */
int next_insn_store(struct task *task);

/* Does a call of the vsyscall page in the kernel's place, where a log is kept or replayed. The
 * kernel goes on behind it without a trap, so the instruction there would be executed, too, before
 * the result is in the log; and the kernel of a replay may have no such page (vsyscall=none).
 * Replayed, only the return is made. Returns 1: done, and the task is on the errand ERRAND_OVER,
 * whose stop is at the return address, and still to be waited for; 0: it is left to the kernel;
 * -BT_E_GONE. */
int next_insn_vsyscall(struct task *task);

/* If the task's stop point is many iterations ahead in the repeated instruction that comes next,
 * has that end there (left_out). Returns 0 or -BT_E_GONE. */
int next_insn_shorten(struct task *task);

/* The task has stopped with these registers: they are as if nothing had been left out. True: they
 * are other ones now. */
bool next_insn_lengthen(struct step_task *st, struct bt_regs *regs);

/* Where a breakpoint stops the task behind its next instruction, for those that are not stepped; 0
 * for a step. */
uint64_t next_insn_end(const struct task *task);

/* Whether the next instruction is a system call, stopped at with PTRACE_SYSCALL.
 * QUIRK(step-syscall-r11): stepped over, syscall would leave TF in r11. */
bool next_insn_is_syscall(const struct task *task);

/* Whether the next instruction saves the address of the last x87 instruction, which all backends
 * keep from the program. */
bool next_insn_saves_x87(const struct step_task *st);

/* The pace of the task's timers (step_pace.c), where it is about to run user code: begins where it
 * is to. Returns 0 or -BT_E_GONE. */
int step_pace_begin(struct task *task);

/* The task is about to make a system call: a signal that waits may have to come before it. Returns
 * 0 or -BT_E_GONE. */
int step_pace_before_call(struct task *task);

/* It is at the call's entry, before its mask is the program's again. */
void step_pace_called(struct step_task *st);

/* Adds b, a branch of 64-bit code or a gap, to the history (task_branch()). */
void step_history_branch(struct task *task, const struct bt_branch *b, bool tick);

/* The decoders know only 64-bit code: steps in 32-bit code are counted. */
void step_history_skip(struct task *task, int kind, bool goes_on);

/* One step has been made: task->regs are the registers behind it. trapped: its trap has come. */
void step_history_step(struct task *task, bool trapped);

/* The kernel has emulated a call of the vsyscall page, if that came next. */
void step_history_vsyscall(struct task *task);

/* A handler has been entered: task->regs are the registers there. */
void step_history_handler(struct task *task);

/* A system call has been made: task->regs are the registers behind it. */
void step_history_syscall(struct task *task);

#endif
