/* SPDX-License-Identifier: MIT */
/* Into the cache. */
#include <sys/ptrace.h>

#include "collector/engine/engine_private.h"
#include "collector/engine/translator.h"
#include "collector/tracee.h"

enum {
	EFLAGS_TF = 0x100,
	EFLAGS_AC = 0x40000, /* what the cache adds is not aligned */
	AHEAD = 24,	     /* chains translated beyond the one that is needed: fewer stops */
};

struct source {
	struct address_space *space;
	struct trace_writer *writer;
	pid_t tid;
};

static size_t read_code(void *arg, uint64_t addr, uint8_t *bytes, size_t n)
{
	const struct source *s = arg;

	return address_space_code(s->space, s->writer, s->tid, addr, bytes, n);
}

static bool is_mutable(void *arg, uint64_t addr)
{
	const struct source *s = arg;

	return address_space_code_kind(s->space, addr) == CODE_MUTABLE;
}

/* The chain at pc, made if need be, with some that lie ahead of it. */
static uint32_t chain_for(struct backend *b, struct task *task, struct code_cache *c, uint64_t pc, bool indirect)
{
	struct source src = {task->process->space, b->writer, task->tid};
	struct code_source source = {read_code, is_mutable, &src};
	uint32_t chain = code_cache_find(c, pc), exit = c->exit_count;

	if (chain != CHAIN_NONE && (!indirect || c->chains[chain].indirect))
		return chain;
	if (chain != CHAIN_NONE)
		code_cache_drop_chain(c, chain); /* it needs another entry */
	chain = translator_translate(c, &source, pc, indirect);
	for (int i = 0; chain != CHAIN_NONE && i < AHEAD && exit < c->exit_count; exit++) {
		uint64_t target = c->exits[exit].target;
		uint32_t count = c->chain_count;

		if (c->exits[exit].kind != EXIT_LINK || code_cache_find(c, target) != CHAIN_NONE)
			continue;
		translator_translate(c, &source, target, false);
		if (c->chain_count < count) /* cleared */
			return chain_for(b, task, c, pc, indirect);
		i++;
	}
	return chain;
}

int cache_enter(struct backend *b, struct task *task, bool indirect)
{
	struct engine_task *et = task->backend;
	struct engine_space *es = NULL;
	struct context ctx = {.r11 = task->regs.r11, .bits = 1, .next = -RECORDS_BYTES, .limit = BITS_LIMIT};
	struct bt_regs regs;
	uint32_t chain = CHAIN_NONE;

	if (!(task->regs.eflags & (EFLAGS_TF | EFLAGS_AC)))
		es = engine_space_of(b, task);
	if (es)
		chain = chain_for(b, task, es->cache, task->regs.rip, indirect);
	if (chain == CHAIN_NONE || engine_hide_trap(task))
		return tracee_set_regs(task->tid, &task->regs) ? -BT_E_GONE : engine_step(b, task, 0, BT_ACTION_IGNORE);
	if (code_cache_sync(es->cache, task->tid) || !window_write(&es->window, task->tid, 0, &ctx, sizeof ctx))
		return -BT_E_GONE;
	regs = task->regs;
	regs.r11 = 1;
	et->gs_base = regs.gs_base;
	et->orig_rax = regs.orig_rax;
	regs.gs_base = region_address(0);
	regs.rip = region_address(CODE_AT + es->cache->chains[chain].body);
	regs.orig_rax = UINT64_MAX;
	et->begin = task->regs.rip;
	branch_log_begin(task->log, es->cache->segments, task->regs.rip, task->process->space->number, task->process->space->epoch);
	et->in_cache = true;
	et->stop_wanted = false;
	if (tracee_set_regs(task->tid, &regs))
		return -BT_E_GONE;
	return tracee_resume(task->tid, PTRACE_CONT, 0);
}
