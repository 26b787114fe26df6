/* SPDX-License-Identifier: MIT */
#include "collector/backend/engine/translate/translation.h"

#include <stdlib.h>

enum {
	ENTRY_BYTES = 256, /* more than an indirect entry has */
};

static bool step_falls_through(const struct step *s)
{
	return s->insn.class == BT_INSN_PLAIN || is_conditional(s);
}

static bool entry_looks(const struct translation *t) { return t->entry_sites[0]; }

/* To be the last of the fragment's exits. */
static void emit_entry_exit(struct translation *t)
{
	struct cache_exit x = {.kind = EXIT_STOP, .target = t->pc};

	x.trap = fragment_emit_entry_stop(t) + t->fragment.start;
	if (!t->out.overflow)
		t->out.overflow = !code_cache_add_exit(t->cache, &x);
}

static void emit_exits(struct translation *t)
{
	struct cache_exit loop = {.trap = t->fragment.start + t->loop_trap,
				  .target = t->loop_target,
				  .kind = EXIT_STOP,
				  .goes_on = !t->cache->kind.ticks};
	uint32_t trap;

	fragment_emit_literals(t);
	for (int i = 0; i < t->counted && !t->out.overflow; i++) {
		struct cache_exit x = {.kind = EXIT_STOP,
				       .trap = t->fragment.start + t->counted_traps[i],
				       .target = t->counted_pcs[i]};

		t->out.overflow = !code_cache_add_exit(t->cache, &x);
	}
	if (t->loop_trap && !t->out.overflow)
		t->out.overflow = !code_cache_add_exit(t->cache, &loop);
	if (t->rounds_trap && !t->out.overflow) {
		struct cache_exit x = {.kind = EXIT_STOP,
				       .trap = t->fragment.start + t->rounds_trap,
				       .target = t->pc};

		t->out.overflow = !code_cache_add_exit(t->cache, &x);
	}
	fragment_emit_misses(t);
	if (t->miss_site) {
		struct cache_exit x = {.kind = EXIT_STOP,
				       .target = t->steps[t->count - 1].pc,
				       .goes_on = !t->cache->kind.ticks};

		x.trap = fragment_emit_miss(t) + t->fragment.start;
		if (!t->out.overflow && !t->cache->kind.ticks)
			t->out.overflow = !code_cache_add_exit(t->cache, &x);
	}
	if (t->full_trap) {
		struct cache_exit x = {.trap = t->fragment.start + (uint32_t)t->full_trap,
				       .target = t->steps[t->count - 1].pc,
				       .kind = EXIT_STOP,
				       .rcx = true};

		if (!t->out.overflow)
			t->out.overflow = !code_cache_add_exit(t->cache, &x);
	}
	for (int i = 0; i < t->cold_count; i++) {
		const struct cold *c = &t->cold[i];
		struct cache_exit x = {.trap = t->fragment.start + (uint32_t)t->out.len,
				       .site = t->fragment.start + (uint32_t)c->site,
				       .target = c->target,
				       .kind = c->kind,
				       .fresh = c->fresh,
				       .conditional = c->conditional,
				       .demand = c->demand};

		emit_patch(&t->out, c->site, t->out.base + t->out.len);
		emit_trap(&t->out);
		if (!t->out.overflow)
			t->out.overflow = !code_cache_add_exit(t->cache, &x);
	}
	if (t->check_site) {
		const struct step *s = &t->steps[t->check_at];
		struct cache_exit x = {.kind = EXIT_STOP,
				       .target = t->check_flags ? step_end(s) : s->pc,
				       .goes_on = !t->cache->kind.ticks};

		fragment_emit_safe_point_cold(t, &trap);
		x.trap = t->fragment.start + trap;
		if (!t->out.overflow)
			t->out.overflow = !code_cache_add_exit(t->cache, &x);
	}
	if (entry_looks(t))
		emit_entry_exit(t);
}

static void emit_fragment(struct translation *t, bool indirect)
{
	struct emitter *e = &t->out;
	size_t behind_jump = 0;
	bool has_fresh = !t->cache->kind.ticks || fragment_needs_slot(t);
	/* A safe point: the branch that has led here has just written a record, or the entry looks
	 * instead, which has rcx free. */
	bool skips = t->check_at == 0 && !t->marked && !t->loop.last &&
		     !(t->cache->kind.ticks && t->check_flags);

	if (indirect) {
		bool before_fresh = t->cache->rorx && !t->cache->kind.ticks && !skips;

		t->fragment.indirect =
			t->fragment.start +
			(uint32_t)fragment_emit_indirect_entry(
				t, before_fresh,
				t->cache->kind.ticks && (!t->fragment.checked || skips));
		if (skips || (has_fresh && !before_fresh)) {
			EMIT(e, 0xeb, 0); /* jmp to the body */
			behind_jump = e->len;
		}
	}
	if (has_fresh) {
		t->fragment.fresh = t->fragment.start + (uint32_t)e->len;
		fragment_map_state(t, &t->steps[0], STATE_BETWEEN, 0);
		if (t->cache->kind.ticks)
			emit_store(e, X86_R11, CTX_SLOTS);
		else
			emit_bit_taken(e, t->cache->rorx);
	}
	t->fragment.body = t->fragment.start + (uint32_t)e->len;
	if (t->marked)
		fragment_emit_mark(t);
	fragment_begin_loop(t);
	if (t->round)
		fragment_begin_rounds(t);
	for (int i = 0; i < t->count; i++)
		fragment_emit_step(t, i);
	if (behind_jump)
		emit_short(e, behind_jump,
			   skips ? t->check_back : t->fragment.body - t->fragment.start);
	if (t->ends_outside)
		fragment_emit_end(t, t->next, EXIT_OUTSIDE);
	else if (step_falls_through(&t->steps[t->count - 1]))
		fragment_emit_end(t, step_end(&t->steps[t->count - 1]), EXIT_LINK);
	if (!t->at_pc)
		t->at_pc = t->pc;
	fragment_map_state(t, NULL, STATE_BETWEEN, 0);
	emit_exits(t);
}

static bool add_state_map(struct translation *t)
{
	uint8_t list[STATE_ENTRIES_MAX * STATE_BYTES_MAX];

	t->fragment.state_map_at = t->cache->state_map_len;
	t->fragment.state_map_len =
		(uint32_t)state_map_encode(t->state_map, (size_t)t->state_count, list);
	return code_cache_add_state_map(t->cache, list, t->fragment.state_map_len);
}

/* Where execution is likely to come back to, or go to, but by no direct branch. */
static void note_lookahead(struct translation *t)
{
	const struct step *last = &t->steps[t->count - 1];

	if (t->ends_outside)
		return;
	if (last->insn.class == BT_INSN_CALL || last->insn.class == BT_INSN_ICALL)
		t->fragment.returns_to = step_end(last);
	if ((last->insn.class == BT_INSN_IJMP || last->insn.class == BT_INSN_ICALL) &&
	    last->insn.traits & X86_RIP_RELATIVE && !(last->insn.traits & X86_SEGMENT))
		t->fragment.slot = step_target(last);
}

static uint32_t build_fragment(struct translation *t, bool indirect)
{
	struct code_cache *c = t->cache;
	uint8_t *bytes;

	if (!code_cache_room(c, FRAGMENT_BYTES, fragment_align(&t->fragment), &bytes,
			     &t->fragment.start))
		return FRAGMENT_NONE;
	t->out = (struct emitter){.bytes = bytes,
				  .room = FRAGMENT_BYTES,
				  .base = region_address(CODE_AT + t->fragment.start),
				  .near = !c->kind.apart};
	t->fragment.pc = t->pc;
	t->fragment.last_len = t->steps[t->count - 1].insn.len;
	t->fragment.span_first = c->span_count;
	t->fragment.exit_first = c->exit_count;
	note_lookahead(t);
	if (!fragment_add_segments(t))
		return FRAGMENT_NONE;
	t->fragment.span_count = c->span_count - t->fragment.span_first;
	emit_fragment(t, indirect);
	if (t->out.overflow || !add_state_map(t))
		return FRAGMENT_NONE;
	t->fragment.end = t->fragment.start + (uint32_t)t->out.len;
	return code_cache_add(c, &t->fragment);
}

static struct translation *new_translation(struct code_cache *c, uint64_t pc)
{
	struct translation *t = malloc(sizeof *t);

	if (!t)
		return NULL;
	memset((char *)t + offsetof(struct translation, cache), 0,
	       sizeof *t - offsetof(struct translation, cache));
	t->cache = c;
	t->pc = pc;
	return t;
}

uint32_t translator_translate(struct code_cache *c, const struct code_source *source, uint64_t pc,
			      bool indirect)
{
	struct translation *t = c->full ? NULL : new_translation(c, pc);
	uint32_t number = FRAGMENT_NONE;

	if (!t)
		return FRAGMENT_NONE;
	t->source = source;
	fragment_read(t);
	if (t->count) {
		fragment_place_safe_point(t, indirect);
		fragment_plan_loop(t);
		fragment_plan_rounds(t);
		t->marked = !c->counting && source->is_marked && c->fragment_count < MARKS &&
			    source->is_marked(source->arg, pc);
		number = build_fragment(t, indirect);
		if (number ==
		    FRAGMENT_NONE) /* half a fragment has left exits and state maps: begin anew */
			code_cache_clear(c);
	}
	free(t);
	return number;
}

bool translator_may_predict(struct code_cache *c, const struct code_source *source, uint64_t from,
			    uint64_t to, struct prediction *prediction)
{
	struct translation *t = new_translation(c, from);
	bool may;

	if (!t)
		return false;
	t->source = source;
	may = fragment_may_predict(t, from, to, prediction);
	free(t);
	return may;
}

bool translator_add_entry(struct code_cache *c, uint32_t fragment)
{
	struct translation *t = new_translation(c, c->fragments[fragment].pc);
	bool done = false;
	uint32_t start;
	size_t entry;

	if (!t || !code_cache_room(c, ENTRY_BYTES, CODE_ALIGN, &t->out.bytes, &start))
		goto out;
	t->out.room = ENTRY_BYTES;
	t->out.base = region_address(CODE_AT + start);
	t->out.near = !c->kind.apart;
	t->fragment.start = start;
	entry = fragment_emit_indirect_entry(t, false,
					     c->kind.ticks && !c->fragments[fragment].checked);
	emit_patch(&t->out, emit_jump(&t->out),
		   region_address(CODE_AT + c->fragments[fragment].body));
	if (entry_looks(t))
		emit_entry_exit(t);
	if (t->out.overflow)
		goto out;
	c->fragments[fragment].indirect = start + (uint32_t)entry;
	code_cache_add_routine(c, t->out.len);
	code_cache_publish(c, fragment);
	done = true;
out:
	free(t);
	return done;
}
