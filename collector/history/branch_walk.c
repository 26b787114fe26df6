/* SPDX-License-Identifier: MIT */
#include "collector/history/branch_walk.h"

enum {
	FREE_STEPS = 256,
};

static void emit_branch(struct walk_out *out, const struct segment *s, uint64_t from, uint64_t to,
			bool taken)
{
	if (out->n == WALK_BUFFER && out->take) {
		out->take(out->arg, out->entries, out->n);
		out->n = 0;
	}
	if (out->n < WALK_BUFFER)
		out->entries[out->n++] = (struct bt_branch){.from = from,
							    .to = to,
							    .kind = s->kind,
							    .flags = taken ? BT_BRANCH_TAKEN : 0};
	out->total++;
	if (s->kind == BT_BRANCH_JCC) {
		out->tick = true;
		out->transfers = 0;
	} else {
		out->transfers++;
	}
}

/* Whether execution, at the begin of s with no conditional left to pass, has come where the leg
 * ends. */
static bool reached_leg_end(const struct walk_leg *leg, uint64_t pc, const struct segment *s,
			    bool moved)
{
	bool within = s && leg->pc > s->pc && leg->pc <= s->from;

	if (leg->goal == WALK_DIRECT) /* a piece of code that its size limit ended goes on in the
					 middle of a segment */
		return pc == leg->pc ? moved || !leg->onward : within;
	return leg->goal == WALK_WITHIN && (pc == leg->pc || within);
}

static bool take_indirect(struct branch_walk *w, const struct walk_leg *leg,
			  const struct segment *s, struct walk_out *out)
{
	if (leg->goal != WALK_INDIRECT && leg->goal != WALK_WITHIN)
		return false;
	emit_branch(out, s, s->from, leg->pc, true);
	w->pc = leg->pc;
	return true;
}

bool branch_walk(struct branch_walk *w, const struct walk_leg *leg, struct walk_out *out)
{
	unsigned left = 63 - (unsigned)__builtin_clzll(leg->bits);
	uint64_t idle = 0; /* segments since a conditional: more than there are is a cycle, and
			      cycles leave records */
	uint64_t steps = 0,
		 most = w->steps ? UINT64_MAX : FREE_STEPS; /* a walk that has not been led astray
							       may use all steps */
	bool moved = false, loop = false, missed = w->missed;

	out->n = 0;
	out->total = out->transfers = 0;
	out->tick = false;
	w->missed = false;
	for (;;) {
		const struct segment *s =
			w->segment ? w->segment : segment_at(w->table, w->pc, w->generation);

		w->segment = NULL;
		if (!left && (loop || reached_leg_end(leg, w->pc, s, moved))) {
			w->pc = leg->pc;
			return true;
		}
		if (!s || idle++ > segment_count(w->table) || steps++ > most)
			break;
		moved = true;
		loop = !left && leg->goal == WALK_LOOP && s->from == leg->branch &&
		       s->to == leg->pc;
		if (s->kind == SEGMENT_FALL) {
			w->pc = s->to;
		} else if (s->kind == BT_BRANCH_JCC) {
			bool taken;

			if (!left || !s->tick)
				break;
			taken = !(leg->bits >> --left & 1);
			w->pc = taken ? s->to : s->end;
			emit_branch(out, s, s->from, w->pc, taken);
			idle = 0;
		} else if (s->kind == BT_BRANCH_JMP || s->kind == BT_BRANCH_CALL ||
			   s->kind == BT_BRANCH_SYSCALL) {
			w->pc = s->to;
			emit_branch(out, s, s->from, w->pc, true);
		} else if (!left && leg->goal == WALK_MISS && s->from == leg->branch) {
			w->pc = leg->pc;
			return true;
		} else if (s->to && !missed) {
			w->pc = s->to;
			emit_branch(out, s, s->from, w->pc, true);
		} else if (!left && take_indirect(w, leg, s, out)) {
			return true;
		} else {
			break;
		}
		missed = false;
	}
	if (steps > FREE_STEPS)
		w->steps -= steps - FREE_STEPS < w->steps ? steps - FREE_STEPS : w->steps;
	return false;
}
