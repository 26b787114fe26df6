/* SPDX-License-Identifier: MIT */
/* Programs ask CPUID some fifty times when they start. Where a log is kept each of them is an
 * event, and one stop for it is enough where the result is known. */
#include <string.h>

#include "collector/backend/step/stepper_private.h"
#include "collector/tracee/tracee.h"
#include "lib/processor.h"

static const uint8_t cpuid[] = {0x0f, 0xa2};

/* CPUID reads eax and ecx, and writes 32-bit registers, whose upper halves become 0 (Intel SDM
 * volume 2, CPUID). */
static const struct processor_leaf *known_leaf(const struct processor *p,
					       const struct bt_regs *regs)
{
	for (uint32_t i = 0; i < p->leaf_count; i++) {
		const struct processor_leaf *l = &p->leaves[i];

		if (l->leaf == (uint32_t)regs->rax &&
		    l->subleaf == ((uint32_t)regs->rcx & l->subleaf_mask))
			return l;
	}
	return NULL;
}

bool stepper_knows_result(struct backend *b, struct task *task)
{
	struct bt_regs *regs = &task->regs;
	const struct processor_leaf *leaf = known_leaf(&b->processor, regs);
	uint8_t bytes[BT_INSN_MAX];
	struct bt_insn insn;

	if (!leaf || regs->eflags & EFLAGS_TF || !tracee_is_in_64_bit(regs) ||
	    address_space_fetch(task->process->space, task->host_tid, regs->rip, false, bytes,
				&insn) ||
	    insn.len != sizeof cpuid || memcmp(bytes, cpuid, sizeof cpuid) != 0)
		return false;
	if (task->told.rip == regs->rip)
		task->told.rip = 0;
	regs->rax = leaf->eax;
	regs->rbx = leaf->ebx;
	regs->rcx = leaf->ecx;
	regs->rdx = leaf->edx;
	regs->rip += sizeof cpuid;
	regs->eflags &= ~(uint64_t)EFLAGS_RF;
	task->stepped++;
	task->left_vsyscall = task->has_saved_parts = false;
	return true;
}
