/* SPDX-License-Identifier: MIT */
/* What a program's branches say of the chains that it needs; and those chains, for the next process. */
#include <stdlib.h>
#include <string.h>

#include "collector/engine/chain_template.h"
#include "collector/engine/engine_private.h"

enum {
	LEARN_MAX = 1 << 19, /* chains */
	LEARN_TIMES = 48, /* in a process: what is left is for the next one */
	LEARN_ENTRIES = 1 << 16, /* of the history, at each look but the first and the last: more looks find more than long ones */
	LEARN_TICKS = 1 << 16, /* from one look to the next at first */
	LEARN_DOUBLES = 8, /* after so many looks that doubles, and what is to be unknown: so they reach as far as the program does */
	LEARN_NEW = 256, /* a look costs as much as so many chains that another process has to stop for */
	LEARN_UNKNOWN = 24, /* stops where it should have been known, with what was made ahead of them */
	PAGE = 4096,
};

static bool is_indirect(const struct bt_branch *b)
{
	return b->kind == BT_BRANCH_RET || b->kind == BT_BRANCH_IJMP || b->kind == BT_BRANCH_ICALL;
}

struct learner {
	const struct address_space *space;
	const struct code_cache *cache;
	struct hint_program *hints;
	uint8_t *run; /* by chain: 1 come to, 2 by an indirect branch */
	bool any;
};

static void add(const struct learner *l, uint32_t chain, bool indirect)
{
	const struct mapping *m = address_space_map_at(l->space, l->cache->chains[chain].pc);

	if (l->run[chain] > indirect)
		return;
	l->run[chain] = 1 + indirect;
	if (m && address_space_code_kind(l->space, m->start) == CODE_FIXED)
		hints_add(l->hints, m, l->cache->chains[chain].pc, indirect);
}

/* Where the chain's end leads, CHAIN_NONE: to nothing, or by an indirect branch. There may be no branch to tell of it. */
static uint32_t behind(const struct code_cache *c, uint32_t chain)
{
	uint32_t end = chain + 1 < c->chain_count ? c->chains[chain + 1].exit_first : c->exit_count;

	while (end > c->chains[chain].exit_first)
		if (c->exits[--end].kind == EXIT_LINK)
			return code_cache_find(c, c->exits[end].target);
	return CHAIN_NONE;
}

/* In the order in which execution came to them. */
static void add_run(void *arg, const struct bt_branch *entries, size_t n)
{
	struct learner *l = arg;

	for (size_t i = 0; i < n; i++) {
		const struct bt_branch *b = &entries[i];
		uint32_t chain = bt_branch_is_branch(b) ? code_cache_find(l->cache, b->to) : CHAIN_NONE;

		if (chain == CHAIN_NONE || l->run[chain] > is_indirect(b))
			continue;
		l->any = true;
		add(l, chain, is_indirect(b));
		while ((chain = behind(l->cache, chain)) != CHAIN_NONE && !l->run[chain])
			add(l, chain, false);
	}
}

static void add_ring(struct learner *l, const struct branch_ring *ring)
{
	for (uint64_t i = ring->oldest; i < ring->next; i++)
		add_run(l, &ring->entries[i & (ring->cap - 1)], 1);
}

static bool is_worth_a_look(const struct engine_space *es)
{
	if (hints_are_full(es->hints))
		return false;
	if (hints_are_exact(es->hints))
		return es->unknown >= es->learned_unknown + (LEARN_UNKNOWN << es->learned / LEARN_DOUBLES);
	return es->cache->chain_count >= es->learned_chains + LEARN_NEW;
}

bool cache_learns_now(const struct task *task, const struct engine_space *es)
{
	uint64_t tick = es->learns && task->log ? branch_log_tick(task->log) : BT_TICKS_UNKNOWN;
	uint64_t wait = es->learned ? (uint64_t)LEARN_TICKS << es->learned / LEARN_DOUBLES : task->history / 2;

	return tick != BT_TICKS_UNKNOWN && tick > es->learned_tick + wait && is_worth_a_look(es);
}

static void learn(struct task *task, bool last)
{
	struct engine_space *es = task->process && task->process->space ? task->process->space->extension : NULL;
	struct learner l = {0};
	bool first;

	if (!es || !es->learns || !es->cache->chain_count || es->cache->chain_count > LEARN_MAX)
		return;
	first = !hints_are_exact(es->hints);
	if (!first && !is_worth_a_look(es))
		return;
	l = (struct learner){task->process->space, es->cache, es->hints, calloc(es->cache->chain_count, 1), false};
	if (!l.run || (first && !hints_begin(es->hints))) {
		free(l.run);
		return;
	}
	if (!first && !last && task->log) {
		branch_log_look(task->log, LEARN_ENTRIES, add_run, &l);
	} else {
		task_settle(task);
		add_ring(&l, &task->ring);
	}
	if (l.any)
		hints_set_exact(es->hints);
	if (first)
		hints_end(es->hints);
	es->learned_chains = es->cache->chain_count;
	es->learned_unknown = es->unknown;
	es->learned_tick = task->log ? branch_log_tick(task->log) : 0;
	es->learns = ++es->learned < LEARN_TIMES;
	free(l.run);
}

void cache_learn(struct task *task) { learn(task, false); }

/* What has been read of the space: the process may be gone. */
struct kept {
	const struct address_space *space;
	uint64_t at; /* the page asked for last */
	const uint8_t *page;
};

static const uint8_t *kept_page(struct kept *k, uint64_t addr)
{
	if (!k->page || addr - k->at >= PAGE) {
		k->at = addr & ~(uint64_t)(PAGE - 1);
		k->page = address_space_kept_page(k->space, addr);
	}
	return k->page;
}

static size_t read_kept(void *arg, uint64_t addr, uint8_t *bytes, size_t n)
{
	size_t done = 0;

	while (done < n) {
		const uint8_t *page = kept_page(arg, addr + done);
		size_t at = (addr + done) % PAGE, here = PAGE - at < n - done ? PAGE - at : n - done;

		if (!page)
			break;
		memcpy(bytes + done, page + at, here);
		done += here;
	}
	return done;
}

static void make_templates(const struct backend *b, struct engine_space *es, struct address_space *s)
{
	struct kept kept = {.space = s};
	const struct code_source source = {.read = read_kept, .arg = &kept};
	struct template_maker *maker = NULL;
	struct buf bytes = {0};

	for (size_t i = 0; i < hints_count(es->hints); i++) {
		uint64_t pc = hints_wants_template(es->hints, i) ? cache_hints_address(es, s, i) : 0;

		if (!pc || !kept_page(&kept, pc))
			continue;
		if (!maker && !(maker = template_maker_new(&b->processor)))
			return;
		buf_reset(&bytes);
		template_make(maker, &source, pc, hints_get(es->hints, i).indirect, &bytes);
		hints_put_template(es->hints, i, slice_of(bytes.data, bytes.len));
	}
	buf_release(&bytes);
	template_maker_free(maker);
}

void cache_keep(const struct backend *b, struct task *task)
{
	struct address_space *s = task->process ? task->process->space : NULL;
	struct engine_space *es = s ? s->extension : NULL;

	learn(task, true);
	if (es && es->hints && hints_are_exact(es->hints) && hints_are_worth_keeping(es->hints) && !es->cache->ticks)
		make_templates(b, es, s);
}
