/* SPDX-License-Identifier: MIT */
/* The stepper: PTRACE_SINGLESTEP and a decoder. Every instruction is seen, so ticks and branches
 * are exact by construction; what single-stepping would show to the program is repaired here
 * (doc/QUIRKS.md). */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "collector/backend/step/stepper.h"

#include "collector/backend/backend.h"
#include "collector/task/hidden_signals.h"
#include "collector/tracee/signal_frame.h"
#include "collector/tracee/tracee.h"
#include "lib/processor.h"

enum {
	EFLAGS_CF = 1,
	EFLAGS_PF = 4,
	EFLAGS_ZF = 0x40,
	EFLAGS_SF = 0x80,
	EFLAGS_TF = 0x100,
	EFLAGS_OF = 0x800,
	EFLAGS_RF = 0x10000,
	SLICE = 2000,  /* instructions a task runs before another of its unit gets its turn */
	REP_FAST = 24, /* iterations from which a breakpoint behind a REP instruction beats stepping
			  through it */
	CHAIN_MAX = 256,    /* instructions in a row, none of which is followed by a trap, that are
			       looked through */
	SIGNAL_LOOKS = 200, /* for a signal that is there */
	TRAP_NOTIFY = SIGTRAP, /* si_code of the stop after a handler's frame was made
				  (ptrace_notify in the kernel) */
};

#define MASK_OF(signo) (1ull << ((signo)-1))

/* What the resumed task was sent to do. */
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
	struct bt_insn second; /* where no trap comes behind insn (look_second): executed by the
				  same step. len 0: none */
	uint64_t second_addr;
	uint8_t second_bytes[BT_INSN_MAX];
	bool readable; /* insn could be decoded */
	uint64_t back; /* it is a call of the vsyscall page: where that returns to. 0: it is none */
	bool code_32;  /* it is 32-bit code */
	bool skips;    /* the last entry of the history is the gap that stands for such code */
	bool program_tf; /* TF is the program's own: its trap is too */
	struct hidden_signals hidden;
	unsigned budget;
	uint64_t syscall_rip; /* of the system call instruction in progress */
};

/* Sends the task on its errand. */
static int send_off(struct task *task, enum errand errand, int request, int signo)
{
	struct step_task *st = task->step;

	st->errand = errand;
	st->request = request;
	return tracee_resume(task->tid, request, signo);
}

static int step_task_init(struct backend *b, struct task *task)
{
	(void)b;
	task->step = calloc(1, sizeof(struct step_task));
	return task->step ? 0 : -BT_E_NO_MEMORY;
}

static void step_task_release(struct backend *b, struct task *task)
{
	(void)b;
	free(task->step);
	task->step = NULL;
}

int stepper_hide_trap(struct task *task) { return hidden_signals_hide(task, &task->step->hidden); }

bool stepper_keep_trap(struct task *task, siginfo_t *info, bool sent)
{
	return hidden_signals_keep(task, &task->step->hidden, info, sent);
}

int stepper_go_on(struct task *task) { return hidden_signals_go_on(task, &task->step->hidden); }

void stepper_post_trap(struct task *task, const siginfo_t *info)
{
	hidden_signals_post(task, &task->step->hidden, info);
}

bool stepper_hides_fault(const struct task *task)
{
	return task->step->hidden.mask & MASK_OF(SIGSEGV);
}

bool stepper_blocks_faults(const struct task *task) { return task->step->hidden.faults_blocked; }

bool stepper_hides_signals(const struct task *task)
{
	return task->step->hidden.mask || task->process->trap_ignored;
}

/* QUIRK(step-sigtrap-ignored): the kernel also resets an ignored SIGTRAP to its default at every
 * trap. Ignored it is again whenever the program can ask. */
static int restore_trap_disposition(struct task *task)
{
	/* struct kernel_sigaction: handler, flags, restorer, mask */
	static const uint64_t ignore[4] = {(uint64_t)(uintptr_t)SIG_IGN};

	if (!task->process->trap_ignored ||
	    tracee_is_filtered(task->tid)) /* a filter of the program's may end it for that */
		return 0;
	return tracee_sigaction_at_entry(task->tid, &task->regs, SIGTRAP, ignore);
}

/* What comes before an instruction's opcode. */
struct prefixes {
	uint8_t len;
	uint8_t repeat; /* the last of F2 and F3, 0: neither */
	bool asize, osize;
};

static struct prefixes prefixes_of(const uint8_t *bytes, size_t n)
{
	static const uint8_t legacy[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
					 0x66, 0x67, 0xf0, 0xf2, 0xf3};
	struct prefixes p = {0};

	for (; p.len < n &&
	       (memchr(legacy, bytes[p.len], sizeof legacy) || (bytes[p.len] & 0xf0) == 0x40);
	     p.len++) {
		if (bytes[p.len] == 0x67)
			p.asize = true;
		else if (bytes[p.len] == 0x66)
			p.osize = true;
		else if (bytes[p.len] >= 0xf2)
			p.repeat = bytes[p.len];
	}
	return p;
}

/* Whether F2 and F3 before LOOPE and LOOPNE say for which ZF they go on. QUIRK(loop-repeat): nobody
 * says that it is so: this processor is asked. */
static bool repeat_rules_loop(void)
{
	bool rules = true;

	__asm__("cmpl %%eax, %%eax\n\tmovl $2, %%ecx\n\t.byte 0xf3\n\tloopne 1f\n\tmovb $0, %0\n1:"
		: "+q"(rules)::"rcx", "cc");
	return rules;
}

static bool loop_holds(uint8_t op, uint8_t repeat, bool zf)
{
	if (op == 0xe2)
		return true;
	if (repeat && repeat_rules_loop())
		return zf == (repeat == 0xf3);
	return zf == (op == 0xe1);
}

/* Whether a conditional was taken that left these registers; needed where its target is the
 * instruction behind it. */
static bool condition_held(const uint8_t *bytes, const struct bt_insn *insn,
			   const struct bt_regs *r)
{
	struct prefixes p = prefixes_of(bytes, insn->len);
	/* QUIRK(asize-count): a 67h prefix makes JrCXZ and LOOP use ecx. */
	uint64_t count = p.asize ? (uint32_t)r->rcx : r->rcx, f = r->eflags;
	uint8_t op = bytes[p.len] == 0x0f ? bytes[p.len + 1] : bytes[p.len];
	bool holds[8] = {
		f & EFLAGS_OF,
		f & EFLAGS_CF,
		f & EFLAGS_ZF,
		f & (EFLAGS_CF | EFLAGS_ZF),
		f & EFLAGS_SF,
		f & EFLAGS_PF,
		!(f & EFLAGS_SF) != !(f & EFLAGS_OF),
		(f & EFLAGS_ZF) || !(f & EFLAGS_SF) != !(f & EFLAGS_OF),
	};

	if (insn->class == BT_INSN_JRCXZ)
		return count == 0;
	if (insn->class == BT_INSN_LOOP)
		return count != 0 && loop_holds(op, p.repeat, f & EFLAGS_ZF);
	return holds[(op & 15) >> 1] != (op & 1);
}

static void add_branch(struct task *task, const struct bt_branch *b, bool tick)
{
	struct step_task *st = task->step;

	st->skips = false;
	task_branch(task, b, tick);
}

/* Decoders know no other code than that of 64 bits: what is done in 32-bit code is counted. */
static void skip_branch(struct task *task, int kind, bool goes_on)
{
	struct step_task *st = task->step;
	bool tick = kind == BT_BRANCH_JCC,
	     transfer = kind < 0 ? !goes_on : bt_branch_info[kind].transfer;

	if (!st->skips || tick || transfer)
		task_skip(task, BT_GAP_CODE_32, tick, transfer);
	st->skips = true;
}

/* Adds what the execution of insn at addr means to the history. task->regs are the registers behind
 * it. */
static void retire_insn(struct task *task, uint64_t addr, const struct bt_insn *insn,
			const uint8_t *bytes)
{
	uint64_t next = task->regs.rip;
	int kind = bt_insn_branch_kind(insn->class);
	struct bt_branch b = {.from = addr, .to = next, .flags = BT_BRANCH_TAKEN};

	if (((const struct step_task *)task->step)->code_32) {
		skip_branch(task, kind, next == addr + insn->len || next == addr);
		return;
	}
	if (kind < 0) {
		/* Straight on, or one iteration of REP. Elsewhere: a transaction that the program
		 * itself steps. */
		if (next == addr + insn->len || next == addr)
			return;
		kind = BT_BRANCH_JMP;
	}
	b.kind = (uint8_t)kind;
	if (kind == BT_BRANCH_JCC) {
		/* QUIRK(osize-branch): its length is not what the decoder says, on AMD. */
		bool plain = insn->displacement && !prefixes_of(bytes, insn->len).osize;
		bool taken =
			plain ? next != addr + insn->len : condition_held(bytes, insn, &task->regs);

		b.flags = taken ? BT_BRANCH_TAKEN : 0;
	}
	task_epoch(task);
	add_branch(task, &b, true);
}

/* No trap comes behind
 * - QUIRK(step-mov-ss): a load of ss (Intel SDM volume 3, 6.8.3), and on some processors none in a
 * whole chain of such loads;
 * - QUIRK(step-emulated): what faults and is done by the kernel, which goes on behind it
 * (fixup_umip_exception, fixup_iopl_exception, emulate_vsyscall): nor does a breakpoint there stop
 * it, as a fault sets RF (17.3.1.1). */
enum { NO_TRAP_BEHIND = BT_TRAIT_LOADS_SS | BT_TRAIT_EMULATED };

/* Looks at what the step over such an instruction executes, too; it is at addr, if it is not of the
 * same kind itself. */
static void look_second(struct task *task, uint64_t addr)
{
	struct step_task *st = task->step;

	st->second_addr = addr;
	for (int i = 0; i < CHAIN_MAX; i++) {
		if (address_space_fetch(task->process->space, task->tid, st->second_addr,
					st->code_32, st->second_bytes, &st->second)) {
			st->second.len = 0;
			break;
		}
		if (!(st->second.traits & NO_TRAP_BEHIND))
			break;
		st->second_addr += st->second.len;
	}
}

/* Where a call of the vsyscall page returns to, which cannot be read: the kernel emulates its calls
 * all the way back. 0: it is none. */
static uint64_t vsyscall_return(const struct task *task)
{
	uint64_t back = 0;

	if (tracee_is_in_vsyscall(&task->regs))
		tracee_read(task->tid, task->regs.rsp, &back, sizeof back);
	return back;
}

/* Looks at the instruction the task is about to execute. task->regs is up to date. */
static void look_ahead(struct task *task)
{
	struct step_task *st = task->step;
	struct address_space *space = task->process->space;

	st->addr = task->regs.rip;
	st->errand = ERRAND_STEP;
	st->second.len = 0;
	st->code_32 = !tracee_is_in_64_bit(&task->regs);
	st->program_tf = task->regs.eflags & EFLAGS_TF;
	st->readable =
		!address_space_fetch(space, task->tid, st->addr, st->code_32, st->bytes, &st->insn);
	st->back = st->readable ? 0 : vsyscall_return(task);
	if (st->back)
		look_second(task, st->back);
	else if (st->readable && st->insn.traits & NO_TRAP_BEHIND)
		look_second(task, st->addr + st->insn.len);
}

/* Where iret leads: it pops what its operand size says (Intel SDM volume 2, IRET); 0 when that
 * cannot be told. */
static uint64_t iret_target(const struct task *task)
{
	const struct step_task *st = task->step;
	uint8_t before = st->insn.len > 1 ? st->bytes[st->insn.len - 2] : 0;
	bool wide = !st->code_32 && (before & 0xf8) == 0x48; /* REX.W */
	size_t n = wide ? 8 : 4;
	uint64_t target = 0;

	for (int i = 0; !wide && i < st->insn.len; i++)
		if (st->bytes[i] == 0x66)
			n = 2;
	return tracee_read(task->tid, task->regs.rsp, &target, n) == n ? target : 0;
}

/* Where a breakpoint stops the task behind its next instruction, for those that are not stepped; 0
 * for a step. */
static uint64_t stop_behind(const struct task *task)
{
	const struct step_task *st = task->step;

	/* QUIRK(step-popf): stepped over popf or iret, the kernel takes TF for the program's from
	 * then on (enable_single_step, Linux 6.18); a TF that a second one loads it would take for
	 * ours. */
	if (st->second.len)
		return st->second.traits & BT_TRAIT_POPF ? st->second_addr + st->second.len : 0;
	if (st->insn.class == BT_INSN_IRET)
		return iret_target(task);
	if (st->insn.traits & BT_TRAIT_POPF)
		return st->addr + st->insn.len;
	/* A trap per iteration is dear: a memset of a megabyte is one instruction. */
	if (st->insn.traits & BT_TRAIT_REP && task->regs.rcx >= REP_FAST && !st->program_tf)
		return st->addr + st->insn.len;
	return 0;
}

/* Whether what comes next is a system call, stopped at with PTRACE_SYSCALL.
 * QUIRK(step-syscall-r11): stepped over, syscall would leave TF in r11. */
static bool syscall_is_next(const struct task *task)
{
	const struct step_task *st = task->step;

	return task->syscall_restarts ||
	       (st->second.len ? st->second.class : st->insn.class) == BT_INSN_SYSCALL;
}

/* Gives up the transaction that the next instruction would begin, as the processor may at any time,
 * for no reason that it would name (Intel SDM volume 1, "RTM Abort Status Definition"). Nobody
 * could see what is done in it; QUIRK(step-xbegin). */
static int abort_transaction(struct task *task)
{
	const struct step_task *st = task->step;
	struct bt_branch jump = {.kind = BT_BRANCH_JMP, .flags = BT_BRANCH_TAKEN, .from = st->addr};

	jump.to = st->addr + st->insn.len + (uint64_t)st->insn.displacement;
	if (st->code_32)
		skip_branch(task, BT_BRANCH_JMP, !st->insn.displacement);
	else if (st->insn.displacement) { /* else it goes straight on */
		task_epoch(task);
		add_branch(task, &jump, false);
	}
	task->stepped++;
	task->regs.rip = jump.to;
	task->regs.rax = 0;
	if (tracee_set_regs(task->tid, &task->regs))
		return -BT_E_GONE;
	look_ahead(task);
	return 0;
}

/* Looks at what the task is about to execute, where that is no transaction. */
static int look_at_next(struct task *task)
{
	const struct step_task *st = task->step;

	look_ahead(task);
	for (int i = 0; i < CHAIN_MAX && st->readable && st->insn.traits & BT_TRAIT_BEGINS &&
			!st->program_tf && processor_has_transactions();
	     i++)
		if (abort_transaction(task))
			return -BT_E_GONE;
	return 0;
}

/* Whether what comes next saves the address of the last x87 instruction, which all backends keep
 * from the program. */
static bool shows_x87_address(const struct step_task *st)
{
	return (st->insn.traits | (st->second.len ? st->second.traits : 0)) & BT_TRAIT_SAVES_X87;
}

/* Lets the task execute its next instruction. */
static int step_insn(struct task *task)
{
	uint64_t behind;

	if (look_at_next(task) ||
	    (shows_x87_address(task->step) && tracee_clear_x87_address(task->tid)))
		return -BT_E_GONE;
	behind = stop_behind(task);
	if (syscall_is_next(task))
		return send_off(task, ERRAND_SYSCALL, PTRACE_SYSCALL, 0);
	if (behind && !tracee_set_breakpoint(task->tid, behind))
		return send_off(task, ERRAND_OVER, PTRACE_CONT, 0);
	return send_off(task, ERRAND_STEP, PTRACE_SINGLESTEP, 0);
}

static int deliver_signal(struct task *task, int signo, enum bt_signal_action action)
{
	struct step_task *st = task->step;
	int request = PTRACE_SINGLESTEP;
	bool deadly = action == BT_ACTION_TERMINATE || action == BT_ACTION_CORE;

	if (look_at_next(task))
		return -BT_E_GONE;
	if (deadly)
		hidden_signals_let_kill(&st->hidden, signo);
	if (hidden_signals_restore(task, &st->hidden) ||
	    tracee_clear_x87_address(task->tid)) /* the frame has it, or the core file */
		return -BT_E_GONE;
	if (deadly)
		request = PTRACE_CONT; /* without a step, so that nothing of ours is in the core
					  file */
	else if (action == BT_ACTION_STOP && syscall_is_next(task))
		request = PTRACE_SYSCALL; /* an orphaned process group does not stop (POSIX): it
					     goes on at once */
	return send_off(task, ERRAND_DELIVER, request, signo);
}

void stepper_prepare(struct task *task)
{
	struct step_task *st = task->step;

	look_ahead(task);
	st->budget = 1;
	st->request = PTRACE_SINGLESTEP;
}

int stepper_fault_again(struct task *task)
{
	struct step_task *st = task->step;

	st->budget = 1;
	return hidden_signals_restore(task, &st->hidden) ? -BT_E_GONE : step_insn(task);
}

/* A signal is to come before the next instruction. Another thread may get it in the meantime: then
 * the task would run on, and nobody see where to. */
static int take_signal(struct task *task)
{
	const struct timespec pause = {.tv_nsec = 20000};
	siginfo_t info;

	if (send_off(task, ERRAND_SIGNAL, PTRACE_SYSCALL, 0))
		return -BT_E_GONE;
	for (int i = 0; i < SIGNAL_LOOKS; i++) {
		info.si_pid = 0;
		if (waitid(P_PID, (id_t)task->tid, &info,
			   WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) ||
		    info.si_pid)
			return 0;
		nanosleep(&pause, NULL);
	}
	(void)!tracee_resume(task->tid, PTRACE_INTERRUPT, 0);
	return 0;
}

int stepper_take_signal(struct backend *b, struct task *task)
{
	(void)b;
	task->step->budget = 1;
	return take_signal(task);
}

/* It was interrupted instead. */
static enum backend_stop no_signal(struct task *task)
{
	const struct bt_branch gap = {.kind = BT_BRANCH_GAP, .to = BT_GAP_UNDECODED};
	const struct bt_regs before = task->regs;

	if (tracee_get_regs(task->tid, &task->regs))
		return BACKEND_GONE;
	if (memcmp(&task->regs, &before, sizeof before))
		add_branch(task, &gap, false);
	return BACKEND_SLICE;
}

static int resume_step(struct task *task)
{
	int hidden;

	if (task->in_syscall || task->syscall_restarts) {
		hidden_signals_give_back(task, &task->step->hidden);
		return send_off(task, ERRAND_SYSCALL, PTRACE_SYSCALL, 0);
	}
	hidden = stepper_hide_trap(task);
	if (hidden == HIDE_SIGNAL_FIRST)
		return take_signal(task);
	return hidden < 0 ? hidden : step_insn(task);
}

static int step_resume(struct backend *b, struct task *task, int signo,
		       enum bt_signal_action action)
{
	struct step_task *st = task->step;

	(void)b;
	st->budget = SLICE;
	if (signo)
		return deliver_signal(task, signo, action);
	return resume_step(task);
}

/* The kernel has emulated a call of the vsyscall page. */
static void note_vsyscall(struct task *task)
{
	const struct step_task *st = task->step;
	const struct bt_branch ret = {
		.kind = BT_BRANCH_RET, .flags = BT_BRANCH_TAKEN, .from = st->addr, .to = st->back};

	if (!st->back)
		return;
	task_epoch(task);
	add_branch(task, &ret, false);
}

/* Whether a step which led to next executed the second instruction, too. Where that may lead to
 * itself, or back into the chain, it did if a trap came and the kernel does the first one:
 * Linux 5.4 and later where the processor has UMIP, 5.5 cli and sti. */
static bool second_ran(const struct step_task *st, uint64_t next, bool trapped)
{
	uint64_t first = st->back ? st->back : st->addr + 1;

	if (!st->second.len)
		return false;
	if (next < first || next > st->second_addr)
		return true;
	if (!trapped)
		return false;
	return st->back || (st->insn.traits & BT_TRAIT_EMULATED &&
			    ((st->bytes[0] | 1) == 0xfb || processor_has_umip())); /* cli, sti */
}

/* One step has been made: task->regs are the registers behind it. trapped: its trap has come. */
static void note_step(struct task *task, bool trapped)
{
	struct step_task *st = task->step;
	const struct bt_insn *last = NULL;
	uint64_t next = task->regs.rip;

	task->stepped++;
	note_vsyscall(task);
	if (!st->readable && (!st->back || (!st->second.len && next != st->back))) {
		const struct bt_branch gap = {.kind = BT_BRANCH_GAP, .to = BT_GAP_UNDECODED};

		add_branch(task, &gap, false);
	} else if (second_ran(st, next, trapped)) {
		retire_insn(task, st->second_addr, &st->second, st->second_bytes);
		last = &st->second;
	} else if (st->readable && !st->second.len) { /* else none of the chain is a branch */
		retire_insn(task, st->addr, &st->insn, st->bytes);
		last = &st->insn;
	}
	/* QUIRK(step-pushf): the pushed flags hold our TF. */
	if (last && last->traits & BT_TRAIT_PUSHF && !st->program_tf) {
		uint8_t high;

		if (tracee_read(task->tid, task->regs.rsp + 1, &high, 1) == 1 &&
		    high & EFLAGS_TF >> 8) {
			high &= (uint8_t) ~(EFLAGS_TF >> 8);
			tracee_write(task->tid, task->regs.rsp + 1, &high, 1);
		}
	}
}

static enum backend_stop insn_stepped(struct task *task, const siginfo_t *info)
{
	struct step_task *st = task->step;

	note_step(task, true);
	if (st->program_tf && info->si_code != TRAP_HWBKPT)
		return BACKEND_SIGNAL;
	if (--st->budget == 0 || stop_point_side(task) != STOP_POINT_AHEAD)
		return BACKEND_SLICE;
	return step_insn(task) ? BACKEND_GONE : BACKEND_RUNS;
}

/* A handler has been entered: task->regs are the registers there. */
static void note_handler(struct task *task)
{
	struct bt_branch b = {.kind = BT_BRANCH_ASYNC,
			      .flags = BT_BRANCH_TAKEN,
			      .from = signal_frame_rip(task->tid, &task->regs),
			      .to = task->regs.rip};

	if (!task->step->program_tf) /* it is that of the step which delivered the signal */
		signal_frame_clear_trap(task->tid, &task->regs);
	task_epoch(task);
	add_branch(task, &b, false);
	task->syscall_restarts = false;
}

static enum backend_stop handler_entered(struct task *task)
{
	if (tracee_get_regs(task->tid, &task->regs))
		return BACKEND_GONE;
	note_handler(task);
	return BACKEND_HANDLER;
}

/* A system call has been made: task->regs are the registers behind it. */
static void note_syscall(struct task *task)
{
	struct bt_branch b = {.kind = BT_BRANCH_SYSCALL,
			      .flags = BT_BRANCH_TAKEN,
			      .from = task->step->syscall_rip,
			      .to = task->regs.rip};

	if (!b.from) /* behind execve, which writes its own entry */
		return;
	task_epoch(task);
	add_branch(task, &b, false);
}

/* Where the instruction is that has made the system call: the one that was to be executed, prefixes
 * and all; or, where the kernel makes a call again, the two bytes of syscall, sysenter or int 0x80
 * alone. */
static uint64_t system_call_address(const struct task *task)
{
	const struct step_task *st = task->step;
	const struct bt_insn *insn = st->second.len ? &st->second : &st->insn;
	uint64_t addr = st->second.len ? st->second_addr : st->addr;
	bool is_it = !task->syscall_restarts && insn->class == BT_INSN_SYSCALL &&
		     addr + insn->len == task->regs.rip;

	return is_it ? addr : task->regs.rip - 2;
}

static enum backend_stop syscall_stop(struct task *task)
{
	struct step_task *st = task->step;

	switch (tracee_syscall_stop(task->tid, &task->syscall)) {
	case TRACEE_SYSCALL_ENTRY:
		if (task->regs.rip == st->addr) /* it was the second */
			note_vsyscall(task);
		if (hidden_signals_unhide(task, &st->hidden) ||
		    tracee_get_regs(task->tid, &task->regs) || restore_trap_disposition(task))
			return BACKEND_GONE;
		st->syscall_rip = system_call_address(task);
		return BACKEND_SYSCALL_ENTER;
	case TRACEE_SYSCALL_EXIT:
		if (tracee_get_regs(task->tid, &task->regs))
			return BACKEND_GONE;
		note_syscall(task);
		return BACKEND_SYSCALL_EXIT;
	default:
		return BACKEND_GONE;
	}
}

static int step_proceed(struct backend *b, struct task *task)
{
	const struct step_task *st = task->step;

	if (st->errand ==
	    ERRAND_DELIVER) /* a stop signal, delivered: nothing of the program's has run */
		return step_resume(b, task, 0, BT_ACTION_STOP);
	/* QUIRK(event-stop-first): a group stop or PTRACE_INTERRUPT is reported before the trap of
	 * a step that is done already. */
	return stepper_go_on(task) || tracee_resume(task->tid, st->request, 0) ? -BT_E_GONE : 0;
}

static void step_stop_soon(struct backend *b, struct task *task)
{
	struct step_task *st = task->step;

	(void)b;
	st->budget = 1;
}

static void step_leave(struct backend *b, struct task *task)
{
	(void)b;
	/* Gone: nothing is left to put back. */
	(void)!hidden_signals_restore(task, &task->step->hidden);
}

static void step_rest(struct backend *b, struct task *task)
{
	(void)b;
	(void)!hidden_signals_rest(task, &task->step->hidden);
}

static void step_execed(struct backend *b, struct task *task)
{
	struct step_task *st = task->step;
	struct bt_branch entry = {.kind = BT_BRANCH_SYSCALL,
				  .flags = BT_BRANCH_TAKEN,
				  .from = st->syscall_rip,
				  .to = task->regs.rip};

	(void)b;
	if (st->syscall_rip)
		add_branch(task, &entry, false);
	st->syscall_rip = 0;
}

/* Whether a signal was delivered to a handler when the registers were `before`: its frame says
 * where it goes back to, which may be a system call that is made again, of two bytes. */
static bool is_in_handler(const struct task *task, const struct bt_regs *before)
{
	uint64_t back =
		task->regs.rsp != before->rsp ? signal_frame_rip(task->tid, &task->regs) : 0;

	return back && (back == before->rip || back == before->rip - 2);
}

/* Killed on its errand, it had done it when no stop told of that any more. */
static void step_exiting(struct backend *b, struct task *task, const struct bt_regs *regs)
{
	const struct step_task *st = task->step;
	const struct bt_regs before = task->regs;

	(void)b;
	task->regs = *regs;
	if (st->errand == ERRAND_DELIVER && is_in_handler(task, &before))
		note_handler(task);
	else if (task->in_syscall && syscall_is(&task->syscall, SYS_rt_sigreturn) &&
		 regs->rip != before.rip)
		note_syscall(task);
	else if (st->errand != ERRAND_SYSCALL && st->errand != ERRAND_SIGNAL &&
		 before.rip == st->addr && regs->rip != before.rip)
		note_step(task, false);
}

/* Whether a SIGTRAP stop is the end of our own errand, and no trap of the program's.
 * QUIRK(step-dr6-lost) */
static bool own_trap(const struct step_task *st, const siginfo_t *info)
{
	if (st->errand == ERRAND_OVER)
		return info->si_code == TRAP_HWBKPT || info->si_code == TRAP_BRKPT ||
		       (st->program_tf && info->si_code == TRAP_TRACE);
	if (st->errand == ERRAND_DELIVER) /* the signal came to nothing, and the step went on */
		return tracee_may_have_stepped(info);
	return st->errand == ERRAND_STEP && tracee_may_have_stepped(info) &&
	       !(st->readable && st->insn.traits & BT_TRAIT_BREAKPOINT);
}

/* Whether a trap of unknown cause came before the instruction.
 * QUIRK(step-new-task): the first step of a new task traps on its way out of clone, before any
 * instruction. */
static bool nothing_ran(const struct step_task *st, const struct bt_regs *now)
{
	return st->errand != ERRAND_OVER && now->rip == st->addr &&
	       bt_insn_branch_kind(st->insn.class) < 0;
}

/* QUIRK(step-popf): popf and iret are stepped where nobody can tell where they lead. One that has
 * not been executed, as it faults or a signal came first, leaves our TF in the flags: the kernel
 * clears it only where it takes it for ours. task->regs are the registers now. */
static int take_back_trap_flag(struct task *task)
{
	const struct step_task *st = task->step;

	if (st->request != PTRACE_SINGLESTEP || st->program_tf || task->regs.rip != st->addr ||
	    !(task->regs.eflags & EFLAGS_TF))
		return 0;
	task->regs.eflags &= ~(uint64_t)EFLAGS_TF;
	return tracee_set_regs(task->tid, &task->regs);
}

/* QUIRK(step-breakpoint-rf): the kernel has set RF, with which the program would go on. */
static int take_back_resume_flag(struct task *task)
{
	if (!(task->regs.eflags & EFLAGS_RF))
		return 0;
	task->regs.eflags &= ~(uint64_t)EFLAGS_RF;
	return tracee_set_regs(task->tid, &task->regs);
}

static enum backend_stop step_stopped(struct backend *b, struct task *task,
				      const struct wait_event *ev, siginfo_t *info)
{
	struct step_task *st = task->step;
	struct bt_regs before;
	siginfo_t came;
	bool ours = false;

	(void)b;
	if (ev->type == WAIT_INTERRUPT)
		return st->errand == ERRAND_SIGNAL ? no_signal(task) : BACKEND_MID_RUN;
	if (ev->type == WAIT_SYSCALL)
		return syscall_stop(task);
	if (tracee_get_siginfo(task->tid, info))
		return BACKEND_GONE;
	if (ev->value == SIGTRAP && st->errand == ERRAND_DELIVER && info->si_code == TRAP_NOTIFY)
		return handler_entered(task);
	if (ev->value == SIGTRAP)
		ours = own_trap(st, info);
	if (st->errand == ERRAND_OVER && tracee_set_breakpoint(task->tid, 0))
		return BACKEND_GONE;
	if (ours) {
		if (tracee_get_regs(task->tid, &task->regs) ||
		    (st->errand == ERRAND_OVER && take_back_resume_flag(task)))
			return BACKEND_GONE;
		if (info->si_code == TRAP_BRKPT && nothing_ran(st, &task->regs))
			return step_insn(task) ? BACKEND_GONE : BACKEND_RUNS;
		return insn_stepped(task, info);
	}
	before = task->regs;
	if (tracee_get_regs(task->tid, &task->regs) || take_back_trap_flag(task))
		return BACKEND_GONE;
	if (before.rip == st->addr && task->regs.rip == st->back &&
	    task->regs.rsp == before.rsp + 8) /* it comes before the second */
		note_vsyscall(task);
	came = *info;
	if (stepper_keep_trap(task, info, false))
		return resume_step(task) ? BACKEND_GONE : BACKEND_RUNS;
	if (memcmp(&came, info, sizeof came) && tracee_set_siginfo(task->tid, info))
		return BACKEND_GONE;
	/* int3 and its kin have been executed when their trap comes, but are no branches: nothing
	 * to add. */
	return BACKEND_SIGNAL;
}

const struct backend_ops stepper_ops = {
	.name = "step",
	.source = "bits",
	.tick_classes = BT_TICK_JCC | BT_TICK_JRCXZ | BT_TICK_LOOP,
	.task_init = step_task_init,
	.task_release = step_task_release,
	.resume = step_resume,
	.proceed = step_proceed,
	.stop_soon = step_stop_soon,
	.leave = step_leave,
	.rest = step_rest,
	.execed = step_execed,
	.exiting = step_exiting,
	.stopped = step_stopped,
};
