/* SPDX-License-Identifier: MIT */
/* System calls that change mappings, made in the cache: which memory they have to leave alone
 * there, and what they have changed. Code that execution may come to, or has, is none of it: that a
 * mapping is new, gone or changed need not be known before the task's next stop. */
#include <sys/mman.h>

#include "collector/backend/engine/cache/syscall_policy.h"
#include "collector/backend/engine/engine_private.h"
#include "collector/space/map_syscalls.h"
#include "lib/page.h"

/* If there are more ranges than rows, the last row stands for all the others, and the memory
 * between them. */
static void add_code_range(struct code_ranges *r, uint64_t start, uint64_t end)
{
	if (r->count < CODE_RANGES)
		r->list[r->count++] = (struct code_range){start, end};
	else
		r->list[CODE_RANGES - 1].end = end;
}

/* All that is executable, and the region, by address. */
static void collect_ranges(struct code_ranges *r, const struct address_space *s)
{
	const uint64_t start = WORLD_RESERVED_START, end = start + WORLD_RESERVED_SIZE;
	bool passed = false;

	r->count = 0;
	for (size_t i = 0; i < s->mappings.count; i++) {
		const struct mapping *m = &s->mappings.maps[i];

		if (!(m->prot & PROT_EXEC) || m->start - start < WORLD_RESERVED_SIZE)
			continue;
		if (!passed && m->start >= end)
			add_code_range(r, start, end);
		passed |= m->start >= end;
		add_code_range(r, m->start, m->end);
	}
	if (!passed)
		add_code_range(r, start, end);
}

bool cache_mappings_allow(struct task *task, struct engine_space *es, struct context *ctx)
{
	const struct address_space *s = task->process->space;
	struct code_ranges *r = &es->code_ranges;
	const struct engine_task *et = task->backend;

	/* Such a call may wait for another task that is to have the turn for that (userfaultfd(2),
	 * a lock on the mappings); tasks that run side by side would not know of it; nor, before
	 * --from, does anybody know of others. */
	if (task->unit->tasks > 1 || es->adopted || s->reads_run)
		return false;
	if (r->region != es->regions || r->area != et->runs_in || r->code_epoch != s->code_epoch) {
		collect_ranges(r, s);
		if (!window_write(&es->window, task->host_tid,
				  engine_window_at(task, CODE_RANGES_AT), r->list,
				  r->count * sizeof r->list[0]))
			return false;
		r->region = es->regions;
		r->area = et->runs_in;
		r->code_epoch = s->code_epoch;
	}
	if (!s->later.all && !s->later.count)
		es->shares_file = false;
	if (es->shares_file || s->lends_code)
		ctx->syscalls &= ~(uint64_t)POLICY_PROTECTS;
	ctx->heap = s->heap_end;
	ctx->code_bytes = r->count * sizeof r->list[0];
	return true;
}

void cache_mappings_changed(struct task *task, const struct syscall_note *note,
			    const struct args_note *args)
{
	struct address_space *s = task->process->space;
	struct tracee_syscall call = {
		.nr = note->nr,
		.args = {args->args[0], args->args[1], (uint64_t)args->pages * BT_PAGE}};
	struct map_change change;

	if (!map_syscall_changes(s, &call, note->result, &change))
		return;
	if (change.all) /* it failed, and may have done a part of it, in the place that it was given
			 */
		change = (struct map_change){
			.count = call.args[0] + call.args[1] > call.args[0],
			.ranges = {{call.args[0], call.args[0] + call.args[1]}}};
	address_space_change_later(s, &change);
}
