/* SPDX-License-Identifier: MIT */
/* The table of branch sources, and what they share. */
#include "collector/backend/pmu/branch_source.h"

#include <string.h>

#include "collector/backend/pmu/lbr_private.h"
#include "collector/backend/pmu/source_bts.h"
#include "collector/backend/pmu/source_pt.h"
#include "lib/page.h"

const struct branch_source_ops *const branch_sources[] = {
	&pt_source,
	&lbr_source,
	&bts_source,
	NULL,
};

const struct branch_source_ops *branch_source_find(const char *name)
{
	for (size_t i = 0; branch_sources[i]; i++)
		if (!strcmp(branch_sources[i]->name, name))
			return branch_sources[i];
	return NULL;
}

void pmu_sched(const struct pmu *p, const struct task *task, uint64_t time, uint32_t cpu,
	       enum bt_sched what)
{
	const struct processor_change change = {.time = bt_clock_at(p->clock, time),
						.cpu = cpu,
						.what = what,
						.position = task->ring.next};

	p->observer->ops->processor(p->observer->arg, task, &change);
}

/* PERF_BR_* of flags (include/uapi/linux/perf_event.h) as a kind of ours, for code that cannot be
 * read. */
static uint8_t kind_of_flags(uint64_t flags)
{
	enum {
		TYPE_SHIFT = 20,
	};
	static const uint8_t kinds[16] = {
		[PERF_BR_COND] = BT_BRANCH_JCC + 1,       [PERF_BR_UNCOND] = BT_BRANCH_JMP + 1,
		[PERF_BR_IND] = BT_BRANCH_IJMP + 1,       [PERF_BR_CALL] = BT_BRANCH_CALL + 1,
		[PERF_BR_IND_CALL] = BT_BRANCH_ICALL + 1, [PERF_BR_RET] = BT_BRANCH_RET + 1,
	};
	uint8_t kind = kinds[flags >> TYPE_SHIFT & 15];

	return kind ? kind - 1 : BT_BRANCH_BRANCH;
}

/* Makes the pages from the last branch's target to this branch known: branches that were not taken
 * are found in that code. */
static void keep_code_between(const struct task *task, uint64_t start, uint64_t end)
{
	enum {
		PAGES = 16, /* more is no straight-line code */
	};
	uint8_t bytes[BT_INSN_MAX];
	struct bt_insn insn;

	if (end < start || end - start > PAGES * BT_PAGE)
		return;
	for (uint64_t page = page_down(start) + BT_PAGE; page < end; page += BT_PAGE)
		(void)!address_space_fetch(task->process->space, task->host_tid, page, false, bytes,
					   &insn);
}

void pmu_branch(struct task *task, uint64_t from, uint64_t to, uint64_t flags)
{
	enum {
		MISPREDICTED = 1,
		PREDICTED = 2,
		CYCLES_SHIFT = 4,
	};
	struct bt_branch b = {.from = from,
			      .to = to,
			      .kind = kind_of_flags(flags),
			      .flags = BT_BRANCH_TAKEN,
			      .cycles = (uint16_t)(flags >> CYCLES_SHIFT)};
	const struct bt_branch *last = branch_ring_newest(&task->ring);
	struct address_space *space = task->process->space;
	uint8_t bytes[BT_INSN_MAX];
	struct bt_insn insn;

	if (last && bt_branch_is_branch(last))
		keep_code_between(task, last->to, from);
	if (!address_space_fetch(space, task->host_tid, from, false, bytes, &insn)) {
		int kind = bt_insn_branch_kind(insn.class);

		/* An instruction that is no branch was interrupted there (a return from the
		 * kernel). A system call's entry leads on, and not into the kernel. */
		b.kind = kind < 0 || kind == BT_BRANCH_SYSCALL ? BT_BRANCH_BRANCH : (uint8_t)kind;
	}
	(void)!address_space_fetch(space, task->host_tid, to, false, bytes, &insn);
	if (flags & (PREDICTED | MISPREDICTED))
		b.flags |= BT_BRANCH_PREDICTION_KNOWN |
			   (flags & PREDICTED ? 0 : BT_BRANCH_MISPREDICTED);
	task_epoch(task);
	task_branch(task, &b, false);
}

void pmu_gap(struct task *task, enum bt_gap_reason reason)
{
	const struct bt_branch *last = branch_ring_newest(&task->ring);

	if (last && last->kind == BT_BRANCH_GAP && last->to == (uint64_t)reason)
		return;
	branch_ring_gap(&task->ring, reason);
}
