/* SPDX-License-Identifier: MIT */
/* What a program's branches say of the chains that it needs. */
#include <stdlib.h>

#include "collector/engine/engine_private.h"

enum {
	LEARN_MAX = 1 << 16, /* chains */
};

/* Which chains are known to have been run, and whether they were come to by an indirect branch. */
enum run { RUN_NOT, RUN_DIRECT, RUN_INDIRECT };

static bool is_indirect(const struct bt_branch *b)
{
	return b->kind == BT_BRANCH_RET || b->kind == BT_BRANCH_IJMP || b->kind == BT_BRANCH_ICALL;
}

static bool mark(const struct code_cache *c, const struct branch_ring *ring, uint8_t *runs)
{
	bool any = false;

	for (uint64_t i = ring->oldest; i < ring->next; i++) {
		const struct bt_branch *b = &ring->entries[i & (ring->cap - 1)];
		uint32_t chain = bt_branch_is_branch(b) ? code_cache_find(c, b->to) : CHAIN_NONE;
		uint8_t run = is_indirect(b) ? RUN_INDIRECT : RUN_DIRECT;

		if (chain != CHAIN_NONE && runs[chain] < run)
			runs[chain] = run;
		any |= chain != CHAIN_NONE;
	}
	return any;
}

void cache_learn(struct task *task)
{
	struct engine_space *es = task->process && task->process->space ? task->process->space->extension : NULL;
	const struct mapping *m;
	uint8_t *runs;

	/* Of a long run the next one may need next to nothing. */
	if (!es || !es->learns || !es->cache->chain_count || es->cache->chain_count > LEARN_MAX)
		return;
	runs = calloc(es->cache->chain_count, 1);
	if (!runs)
		return;
	task_settle(task);
	if (mark(es->cache, &task->ring, runs))
		hints_set_exact(es->hints);
	for (uint32_t i = 0; i < es->cache->chain_count; i++) {
		m = runs[i] ? address_space_map_at(task->process->space, es->cache->chains[i].pc) : NULL;
		if (m && address_space_code_kind(task->process->space, m->start) == CODE_FIXED)
			hints_add(es->hints, m, es->cache->chains[i].pc, runs[i] == RUN_INDIRECT);
	}
	free(runs);
}
