/* SPDX-License-Identifier: MIT */
/* The instruction that a task executes next. It is decoded before it runs: some can be stepped
 * over, some are passed with a breakpoint behind them or as a system call, some not at all. */
#include "collector/backend/step/stepper_private.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "collector/space/world.h"
#include "collector/task/syscall_filter.h"
#include "collector/tracee/tracee.h"
#include "lib/array_size.h"
#include "lib/processor.h"
#include "lib/system_store.h"

enum {
	REP_FAST = 24,   /* iterations from which a breakpoint behind a REP instruction beats
			    stepping through it */
	CHAIN_MAX = 256, /* most instructions looked through in a row, none of them followed by a
			    trap */
};

/* No trap comes behind
 * - QUIRK(step-mov-ss): a load of ss (Intel SDM volume 3, 6.8.3), and on some processors none in a
 * whole chain of such loads;
 * - QUIRK(step-emulated): instructions that fault, and that the kernel executes instead, going on
 * behind them (fixup_umip_exception, fixup_iopl_exception, emulate_vsyscall): a breakpoint there
 * does not stop it, either, as a fault sets RF (17.3.1.1). */
enum { NO_TRAP_BEHIND = BT_TRAIT_LOADS_SS | BT_TRAIT_EMULATED };

/* The step over such an instruction executes a second one, too: the first from addr on that is not
 * of the same kind. Looks at that. */
static void look_second(struct task *task, uint64_t addr)
{
	struct step_task *st = task->step;

	st->second_addr = addr;
	for (int i = 0; i < CHAIN_MAX; i++) {
		if (address_space_fetch(task->process->space, task->host_tid, st->second_addr,
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
		tracee_read(task->host_tid, task->regs.rsp, &back, sizeof back);
	return back;
}

void next_insn_look_ahead(struct task *task)
{
	struct step_task *st = task->step;
	struct address_space *space = task->process->space;

	st->addr = task->regs.rip;
	st->errand = ERRAND_STEP;
	st->second.len = 0;
	st->code_32 = !tracee_is_in_64_bit(&task->regs);
	st->program_tf = task->regs.eflags & EFLAGS_TF;
	st->readable = !address_space_fetch(space, task->host_tid, st->addr, st->code_32, st->bytes,
					    &st->insn);
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
	return tracee_read(task->host_tid, task->regs.rsp, &target, n) == n ? target : 0;
}

/* Whether the task's stop point may be an iteration of the instruction. */
static bool stops_inside(const struct task *task)
{
	const struct stop_point *point = task->stop_point;

	return point && point->iteration && point->at.rip == task->regs.rip &&
	       point->at.rcx < task->regs.rcx && task_tick(task) == point->at.tick &&
	       stop_point_side(task) == STOP_POINT_AHEAD;
}

/* Whether rcx tells how often the instruction is repeated, at most: not ecx, and no ins or outs. */
static bool rcx_counts_rounds(const struct step_task *st)
{
	static const uint8_t opcodes[] = {0xa4, 0xa5, 0xaa, 0xab, 0xac, 0xad, /* movs, stos, lods */
					  0xa6, 0xa7, 0xae, 0xaf};            /* cmps, scas */

	for (int i = 0; i + 1 < st->insn.len; i++)
		if (st->bytes[i] == 0x67)
			return false;
	return memchr(opcodes, st->bytes[st->insn.len - 1], sizeof opcodes);
}

/* Whether cmps or scas has ended for what it found, with the flags that it left (Intel SDM volume
 * 2, REP). */
static bool has_found(const struct step_task *st, const struct bt_regs *regs)
{
	enum { REPNE = 0xf2, ZF = 0x40 };
	uint8_t opcode = st->bytes[st->insn.len - 1], last = 0;

	if (opcode != 0xa6 && opcode != 0xa7 && opcode != 0xae && opcode != 0xaf)
		return false;
	for (int i = 0; i + 1 < st->insn.len; i++)
		if ((st->bytes[i] | 1) == 0xf3)
			last = st->bytes[i];
	return regs->rcx || !(regs->eflags & ZF) != (last == REPNE);
}

int next_insn_shorten(struct task *task)
{
	struct step_task *st = task->step;
	struct bt_regs regs = task->regs;

	if (!st->readable || st->code_32 || st->program_tf || st->second.len ||
	    !(st->insn.traits & BT_TRAIT_REP) || !stops_inside(task) || !rcx_counts_rounds(st) ||
	    regs.rcx - task->stop_point->at.rcx < REP_FAST)
		return 0;
	regs.rcx -= task->stop_point->at.rcx;
	st->left_out = task->stop_point->at.rcx;
	return tracee_set_regs(task->host_tid, &regs);
}

bool next_insn_lengthen(struct step_task *st, struct bt_regs *regs)
{
	uint64_t left_out = st->left_out;

	st->left_out = 0;
	if (!left_out)
		return false;
	if (regs->rip == st->addr + st->insn.len && !has_found(st, regs))
		regs->rip = st->addr;
	regs->rcx += left_out;
	return true;
}

uint64_t next_insn_end(const struct task *task)
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
	if (st->insn.traits & BT_TRAIT_REP && task->regs.rcx >= REP_FAST && !st->program_tf &&
	    (st->left_out || !stops_inside(task)))
		return st->addr + st->insn.len;
	return 0;
}

bool next_insn_is_syscall(const struct task *task)
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
		step_history_skip(task, BT_BRANCH_JMP, !st->insn.displacement);
	else if (st->insn.displacement) { /* else it goes straight on */
		task_epoch(task);
		step_history_branch(task, &jump, false);
	}
	task->stepped++;
	task->regs.rip = jump.to;
	task->regs.rax = 0;
	if (tracee_set_regs(task->host_tid, &task->regs))
		return -BT_E_GONE;
	next_insn_look_ahead(task);
	return 0;
}

int next_insn_look(struct task *task)
{
	const struct step_task *st = task->step;

	next_insn_look_ahead(task);
	for (int i = 0; i < CHAIN_MAX && st->readable && st->insn.traits & BT_TRAIT_BEGINS &&
			!st->program_tf && processor_has_transactions();
	     i++)
		if (abort_transaction(task))
			return -BT_E_GONE;
	return 0;
}

/* Code that is written to is the backend's concern, and a fault the processor's: such a store is
 * left to it. */
static bool stores_to_data(const struct task *task, const struct bt_system_store *s)
{
	const struct mapping_list *all = &task->process->space->mappings;
	size_t i = mappings_behind(all, s->addr);

	return i < all->count && all->maps[i].start <= s->addr &&
	       s->n <= all->maps[i].end - s->addr && all->maps[i].prot & BT_PROT_WRITE &&
	       !(all->maps[i].prot & BT_PROT_EXEC);
}

int next_insn_store(struct task *task)
{
	const struct step_task *st = task->step;
	struct bt_system_store s;

	if (!st->logged || !st->readable || !(st->insn.traits & BT_TRAIT_EMULATED) || st->code_32 ||
	    st->program_tf || !bt_system_store_decode(st->bytes, st->insn.len, &task->regs, &s))
		return 0;
	if (s.n &&
	    (!stores_to_data(task, &s) || !tracee_write(task->host_tid, s.addr, s.bytes, s.n)))
		return 0;
	task->stepped++;
	task->regs = s.regs;
	return tracee_set_regs(task->host_tid, &task->regs) ? -BT_E_GONE : 1;
}

/* The system call that the kernel makes for a call of the vsyscall page; -1: it is none of its
 * entries, or the page is not there. */
static long vsyscall_number(const struct task *task)
{
	static const struct {
		uint64_t at;
		long nr;
	} entries[] = {{0xffffffffff600000, SYS_gettimeofday},
		       {0xffffffffff600400, SYS_time},
		       {0xffffffffff600800, SYS_getcpu}};
	const struct mapping_list *all = &task->process->space->mappings;
	size_t i = mappings_behind(all, task->regs.rip);
	bool there = i < all->count && all->maps[i].start <= task->regs.rip;

	for (size_t k = 0; k < ARRAY_SIZE(entries); k++)
		if (entries[k].at == task->regs.rip && (there || task->step->answered))
			return entries[k].nr;
	return -1;
}

/* Where the task can make a system call: not in the vsyscall page, which cannot be written; where
 * that returns to, if there is code. 0: nowhere. */
static uint64_t code_to_call_from(const struct task *task)
{
	const struct mapping_list *all = &task->process->space->mappings;

	if (task->step->second.len)
		return task->step->back;
	for (size_t i = 0; i < all->count; i++)
		if (all->maps[i].prot & BT_PROT_EXEC &&
		    all->maps[i].start - WORLD_RESERVED_START >= WORLD_RESERVED_SIZE)
			return all->maps[i].start;
	return 0;
}

/* Makes the call of the vsyscall page in the kernel's place; *regs becomes the state behind it.
 * False: the kernel has to make it. */
static bool make_vsyscall(struct task *task, long nr, struct bt_regs *regs)
{
	const struct step_task *st = task->step;
	const uint64_t args[6] = {regs->rdi, regs->rsi};
	struct bt_regs call = *regs;
	long result;

	regs->eflags &= ~(uint64_t)EFLAGS_RF; /* of a fault; there is to be a breakpoint */
	regs->rip = st->back;
	regs->rsp += sizeof st->back;
	if (st->answered) {
		regs->rax = (uint64_t)
			nr; /* it stays where a filter raised a signal for it
			       (syscall_rollback(), Linux 6.18); any result is in the log */
		return true;
	}
	call.rip = code_to_call_from(task);
	if (!call.rip || tracee_set_regs(task->host_tid, &call))
		return false;
	result = tracee_syscall(task->host_tid, nr, args);
	regs->rax = (uint64_t)result;
	return result != -ESRCH && result != -EFAULT;
}

/* Lets the kernel do a call of the vsyscall page: a filter of the program's own may see where it is
 * made, and give it another result, a signal, or kill the task. The step over it executes an
 * instruction more (QUIRK(step-emulated)): nop, which is lent to the place where it returns to. The
 * signals that come of it are not blocked where the program does not block them: the kernel would
 * reset their handlers. It waits for the call, which another recorded task may have to answer
 * (seccomp_unotify(2)): not where there are several. Returns as next_insn_vsyscall(). */
static int leave_vsyscall_to_kernel(struct task *task, uint64_t mask)
{
	static const uint8_t nop = 0x90;
	const uint64_t raised = 1ull << (SIGSEGV - 1) | 1ull << (SIGSYS - 1);
	struct step_task *st = task->step;
	struct bt_regs regs;
	uint8_t was;

	if (!st->second.len || tracee_read(task->host_tid, st->back, &was, 1) != 1 ||
	    !tracee_write(task->host_tid, st->back, &nop, 1))
		return 0;
	st->second.len = 0;
	st->errand = ERRAND_STEP;
	st->request = PTRACE_SINGLESTEP;
	if (tracee_set_mask(task->host_tid, (mask & raised) | ~(raised | 1ull << (SIGTRAP - 1))) ||
	    !tracee_step_to_stop(task->host_tid) ||
	    !tracee_write(task->host_tid, st->back, &was, 1) ||
	    tracee_get_regs(task->host_tid, &regs))
		return -BT_E_GONE;
	if (regs.rip == st->back + 1) {
		regs.rip = st->back;
		if (tracee_set_regs(task->host_tid, &regs))
			return -BT_E_GONE;
	}
	return tracee_set_mask(task->host_tid, mask) ? -BT_E_GONE : 1;
}

int next_insn_vsyscall(struct task *task)
{
	struct step_task *st = task->step;
	struct bt_regs regs = task->regs;
	long nr = st->logged && st->back && !st->program_tf ? vsyscall_number(task) : -1;
	uint64_t mask;
	int rc = 0;

	/* No signal comes in the midst of it. A blocked SIGTRAP would be reset by the breakpoint.
	 */
	if (nr < 0 || tracee_get_mask(task->host_tid, &mask))
		return 0;
	if (!st->answered && syscall_filter_may_refuse(task))
		return st->backend->several ? 0 : leave_vsyscall_to_kernel(task, mask);
	if (tracee_set_mask(task->host_tid, ~(1ull << (SIGTRAP - 1))))
		return -BT_E_GONE;
	if (!make_vsyscall(task, nr, &regs))
		regs = task->regs;
	else if (!tracee_set_breakpoint(task->host_tid, regs.rip))
		rc = 1;
	if (tracee_set_regs(task->host_tid, &regs))
		return -BT_E_GONE;
	if (rc) {
		st->second.len = 0;
		st->errand = ERRAND_OVER;
		st->request = PTRACE_CONT;
		(void)!tracee_run_to_stop(task->host_tid, PTRACE_CONT);
	}
	return tracee_set_mask(task->host_tid, mask) ? -BT_E_GONE : rc;
}

bool next_insn_saves_x87(const struct step_task *st)
{
	return (st->insn.traits | (st->second.len ? st->second.traits : 0)) & BT_TRAIT_SAVES_X87;
}
