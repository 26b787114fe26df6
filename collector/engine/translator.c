/* SPDX-License-Identifier: MIT */
#include "collector/engine/translation.h"

#include <stdlib.h>

enum {
	ENTRY_BYTES = 256, /* more than an indirect entry has */
};

static bool goes_on(const struct step *s)
{
	return s->insn.class == BT_INSN_PLAIN || is_conditional(s);
}

static bool entry_looks(const struct translation *t) { return t->entry_sites[0]; }

/* To be the last of the chain's exits. */
static void emit_entry_exit(struct translation *t)
{
	struct cache_exit x = {.kind = EXIT_STOP, .target = t->pc};

	x.trap = chain_emit_entry_stop(t) + t->chain.start;
	if (!t->out.overflow)
		t->out.overflow = !code_cache_add_exit(t->cache, &x);
}

static void emit_exits(struct translation *t)
{
	struct cache_exit loop = {.trap = t->chain.start + t->loop_trap, .target = t->loop_target, .kind = EXIT_STOP, .goes_on = !t->cache->kind.ticks};
	uint32_t trap;

	if (t->loop_trap && !t->out.overflow)
		t->out.overflow = !code_cache_add_exit(t->cache, &loop);
	if (t->rounds_trap && !t->out.overflow) {
		struct cache_exit x = {.kind = EXIT_STOP, .trap = t->chain.start + t->rounds_trap, .target = t->pc};

		t->out.overflow = !code_cache_add_exit(t->cache, &x);
	}
	if (t->miss_site) {
		struct cache_exit x = {.kind = EXIT_STOP, .target = t->steps[t->count - 1].pc, .goes_on = !t->cache->kind.ticks};

		x.trap = chain_emit_miss(t) + t->chain.start;
		if (!t->out.overflow && !t->cache->kind.ticks)
			t->out.overflow = !code_cache_add_exit(t->cache, &x);
	}
	if (t->full_trap) {
		struct cache_exit x = {.trap = t->chain.start + (uint32_t)t->full_trap, .target = t->steps[t->count - 1].pc, .kind = EXIT_STOP, .rcx = true};

		if (!t->out.overflow)
			t->out.overflow = !code_cache_add_exit(t->cache, &x);
	}
	for (int i = 0; i < t->cold_count; i++) {
		const struct cold *c = &t->cold[i];
		struct cache_exit x = {.trap = t->chain.start + (uint32_t)t->out.len, .site = t->chain.start + (uint32_t)c->site,
				       .target = c->target, .kind = c->kind, .fresh = c->fresh, .conditional = c->conditional, .demand = c->demand};

		emit_patch(&t->out, c->site, t->out.base + t->out.len);
		emit_trap(&t->out);
		if (!t->out.overflow)
			t->out.overflow = !code_cache_add_exit(t->cache, &x);
	}
	if (t->check_site) {
		const struct step *s = &t->steps[t->check_at];
		struct cache_exit x = {.kind = EXIT_STOP, .target = t->check_flags ? behind(s) : s->pc, .goes_on = !t->cache->kind.ticks};

		chain_emit_checkpoint_cold(t, &trap);
		x.trap = t->chain.start + trap;
		if (!t->out.overflow)
			t->out.overflow = !code_cache_add_exit(t->cache, &x);
	}
	if (entry_looks(t))
		emit_entry_exit(t);
}

static void emit_chain(struct translation *t, bool indirect)
{
	struct emitter *e = &t->out;
	size_t behind_jump = 0;
	bool has_fresh = !t->cache->kind.ticks || chain_needs_slot(t);
	/* A checkpoint: the branch that has led here has just written a record, or the entry looks instead, which has rcx free. */
	bool skips = t->check_at == 0 && !t->marked && !t->loop.last && !(t->cache->kind.ticks && t->check_flags);

	if (indirect) {
		bool before_fresh = t->cache->rorx && !t->cache->kind.ticks && !skips;

		t->chain.indirect = t->chain.start + (uint32_t)chain_emit_indirect_entry(t, before_fresh, t->cache->kind.ticks && (!t->chain.checked || skips));
		if (skips || (has_fresh && !before_fresh)) {
			EMIT(e, 0xeb, 0); /* jmp to the body */
			behind_jump = e->len;
		}
	}
	if (has_fresh) {
		t->chain.fresh = t->chain.start + (uint32_t)e->len;
		chain_place(t, &t->steps[0], PLACE_BETWEEN, 0);
		if (t->cache->kind.ticks)
			emit_store(e, X86_R11, CTX_SLOTS);
		else
			emit_bit_taken(e, t->cache->rorx);
	}
	t->chain.body = t->chain.start + (uint32_t)e->len;
	if (t->marked)
		chain_emit_mark(t);
	chain_begin_loop(t);
	if (t->round)
		chain_begin_rounds(t);
	for (int i = 0; i < t->count; i++)
		chain_emit_step(t, i);
	if (behind_jump)
		emit_short(e, behind_jump, skips ? t->check_back : t->chain.body - t->chain.start);
	if (t->ends_outside)
		chain_emit_end(t, t->next, EXIT_OUTSIDE);
	else if (goes_on(&t->steps[t->count - 1]))
		chain_emit_end(t, behind(&t->steps[t->count - 1]), EXIT_LINK);
	if (!t->at_pc)
		t->at_pc = t->pc;
	chain_place(t, NULL, PLACE_BETWEEN, 0);
	emit_exits(t);
}

static bool add_places(struct translation *t)
{
	uint8_t list[PLACES_MAX * PLACE_BYTES_MAX];

	t->chain.places_at = t->cache->places_len;
	t->chain.places_len = (uint32_t)places_encode(t->places, (size_t)t->place_count, list);
	return code_cache_add_places(t->cache, list, t->chain.places_len);
}

/* Where execution is likely to come back to, or go to, but by no direct branch. */
static void note_leads(struct translation *t)
{
	const struct step *last = &t->steps[t->count - 1];

	if (t->ends_outside)
		return;
	if (last->insn.class == BT_INSN_CALL || last->insn.class == BT_INSN_ICALL)
		t->chain.returns_to = behind(last);
	if ((last->insn.class == BT_INSN_IJMP || last->insn.class == BT_INSN_ICALL) && last->insn.traits & X86_RIP_RELATIVE &&
	    !(last->insn.traits & X86_SEGMENT))
		t->chain.slot = target_of(last);
}

static uint32_t build(struct translation *t, bool indirect)
{
	struct code_cache *c = t->cache;
	uint8_t *bytes;

	if (!code_cache_room(c, CHAIN_BYTES, chain_align(&t->chain), &bytes, &t->chain.start))
		return CHAIN_NONE;
	t->out = (struct emitter){.bytes = bytes, .room = CHAIN_BYTES, .base = region_address(CODE_AT + t->chain.start), .near = !c->kind.apart};
	t->chain.pc = t->pc;
	t->chain.last_len = t->steps[t->count - 1].insn.len;
	t->chain.span_first = c->span_count;
	t->chain.exit_first = c->exit_count;
	note_leads(t);
	if (!chain_add_segments(t))
		return CHAIN_NONE;
	t->chain.span_count = c->span_count - t->chain.span_first;
	emit_chain(t, indirect);
	if (t->out.overflow || !add_places(t))
		return CHAIN_NONE;
	t->chain.end = t->chain.start + (uint32_t)t->out.len;
	return code_cache_add(c, &t->chain);
}

static struct translation *new_translation(struct code_cache *c, uint64_t pc)
{
	struct translation *t = malloc(sizeof *t);

	if (!t)
		return NULL;
	memset((char *)t + offsetof(struct translation, cache), 0, sizeof *t - offsetof(struct translation, cache));
	t->cache = c;
	t->pc = pc;
	return t;
}

uint32_t translator_translate(struct code_cache *c, const struct code_source *source, uint64_t pc, bool indirect)
{
	struct translation *t = c->full ? NULL : new_translation(c, pc);
	uint32_t number = CHAIN_NONE;

	if (!t)
		return CHAIN_NONE;
	t->source = source;
	chain_read(t);
	if (t->count) {
		chain_place_checkpoint(t, indirect);
		chain_plan_loop(t);
		t->marked = source->is_marked && c->chain_count < MARKS && source->is_marked(source->arg, pc);
		number = build(t, indirect);
		if (number == CHAIN_NONE) /* half a chain has left exits and places: begin anew */
			code_cache_clear(c);
	}
	free(t);
	return number;
}

bool translator_may_guess(struct code_cache *c, const struct code_source *source, uint64_t from, uint64_t to, struct guess *guess)
{
	struct translation *t = new_translation(c, from);
	bool may;

	if (!t)
		return false;
	t->source = source;
	may = chain_may_guess(t, from, to, guess);
	free(t);
	return may;
}

bool translator_add_entry(struct code_cache *c, uint32_t chain)
{
	struct translation *t = new_translation(c, c->chains[chain].pc);
	bool done = false;
	uint32_t start;
	size_t entry;

	if (!t || !code_cache_room(c, ENTRY_BYTES, CODE_ALIGN, &t->out.bytes, &start))
		goto out;
	t->out.room = ENTRY_BYTES;
	t->out.base = region_address(CODE_AT + start);
	t->out.near = !c->kind.apart;
	t->chain.start = start;
	entry = chain_emit_indirect_entry(t, false, c->kind.ticks && !c->chains[chain].checked);
	emit_patch(&t->out, emit_jump(&t->out), region_address(CODE_AT + c->chains[chain].body));
	if (entry_looks(t))
		emit_entry_exit(t);
	if (t->out.overflow)
		goto out;
	c->chains[chain].indirect = start + (uint32_t)entry;
	code_cache_add_glue(c, t->out.len);
	code_cache_publish(c, chain);
	done = true;
out:
	free(t);
	return done;
}
