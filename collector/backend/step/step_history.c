/* SPDX-License-Identifier: MIT */
/* Enters steps into the task's history. The instruction was decoded before (next_insn.c); where rip
 * stands now says whether a conditional was taken and where an indirect branch led. Where both ways
 * of a conditional lead to the same place, its condition is computed from the registers. */
#include "collector/backend/step/stepper_private.h"

#include <string.h>

#include "collector/tracee/signal_frame.h"
#include "collector/tracee/tracee.h"
#include "lib/processor.h"

/* The prefixes of an instruction. */
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

/* Whether F2 and F3 before LOOPE and LOOPNE say for which ZF they go on. QUIRK(loop-repeat): no
 * manual says so, so this processor is asked. */
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

void step_history_branch(struct task *task, const struct bt_branch *b, bool tick)
{
	struct step_task *st = task->step;

	st->skips = false;
	task_branch(task, b, tick);
}

void step_history_skip(struct task *task, int kind, bool goes_on)
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
		step_history_skip(task, kind, next == addr + insn->len || next == addr);
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
	step_history_branch(task, &b, true);
}

void step_history_vsyscall(struct task *task)
{
	const struct step_task *st = task->step;
	const struct bt_branch ret = {
		.kind = BT_BRANCH_RET, .flags = BT_BRANCH_TAKEN, .from = st->addr, .to = st->back};

	if (!st->back)
		return;
	task_epoch(task);
	step_history_branch(task, &ret, false);
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

void step_history_step(struct task *task, bool trapped)
{
	struct step_task *st = task->step;
	const struct bt_insn *last = NULL;
	uint64_t next = task->regs.rip;

	task->stepped++;
	step_history_vsyscall(task);
	if (!st->readable && (!st->back || (!st->second.len && next != st->back))) {
		const struct bt_branch gap = {.kind = BT_BRANCH_GAP, .to = BT_GAP_UNDECODED};

		step_history_branch(task, &gap, false);
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

		if (tracee_read(task->host_tid, task->regs.rsp + 1, &high, 1) == 1 &&
		    high & EFLAGS_TF >> 8) {
			high &= (uint8_t) ~(EFLAGS_TF >> 8);
			tracee_write(task->host_tid, task->regs.rsp + 1, &high, 1);
		}
	}
}

void step_history_handler(struct task *task)
{
	struct bt_branch b = {.kind = BT_BRANCH_ASYNC,
			      .flags = BT_BRANCH_TAKEN,
			      .from = signal_frame_rip(task->host_tid, &task->regs),
			      .to = task->regs.rip};

	if (!task->step->program_tf) /* it is that of the step which delivered the signal */
		signal_frame_clear_trap(task->host_tid, &task->regs);
	task_epoch(task);
	step_history_branch(task, &b, false);
	task->syscall_restarts = false;
}

void step_history_syscall(struct task *task)
{
	struct bt_branch b = {.kind = BT_BRANCH_SYSCALL,
			      .flags = BT_BRANCH_TAKEN,
			      .from = task->step->syscall_rip,
			      .to = task->regs.rip};

	if (!b.from) /* behind execve: that has an entry of its own */
		return;
	task_epoch(task);
	step_history_branch(task, &b, false);
}
