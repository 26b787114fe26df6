/* SPDX-License-Identifier: MIT */
/* Reading a fragment: which instructions it has, where its safe point stands, which segments it
 * covers.
 *
 * read_steps() decodes from the first instruction on. It passes conditionals, and follows jumps
 * that lead forward to code without a fragment. It ends behind any other branch, before an
 * instruction that is not for the cache, where code that can change begins or ends, and at size
 * limits. A fragment that is one cycle of direct jumps becomes several rounds of it
 * (unroll_rounds()).
 *
 * fragment_place_safe_point() asks how many conditionals may have been executed since the last safe
 *  * point (the demands of the exits that lead here). If they could become too many, or an exit
 * leads back, a fragment with conditionals gets a safe point: before an instruction that overwrites
 * all flags, if there is one, as that costs least.
 *
 * fragment_add_segments() enters the application code up to each branch as a segment, whatever the
 * fragment's limits are.
 *
 * A cycle of direct branches without a conditional must leave a record, and a prediction must not
 * close such a cycle: closes_silent_cycle() and fragment_may_predict() look for these. */
#include "collector/backend/engine/translate/translation.h"
#include "lib/canonical.h"
#include "lib/page.h"

enum {
	DECODED_AT_ONCE = 32, /* bytes with which the decoder needs no copy */
	LOOK_AHEAD = 64,      /* instructions, in search of a cycle */
};

bool fragment_extends(const struct step *s, unsigned which)
{
	if (s->insn.map != X86_MAP_OTHER)
		return s->insn.rex & which;
	for (int i = 0; i < s->insn.modrm_at; i++) {
		if (s->bytes[i] == 0xc4 || s->bytes[i] == 0x62)
			return !(s->bytes[i + 1] & which << 5);
		if (s->bytes[i] == 0xc5)
			return false;
	}
	return s->insn.rex & which;
}

/* Just this instruction: sysenter, int 0x80 and odd prefixes are for the stepper. */
static bool is_system_call(const struct step *s)
{
	return s->insn.class == BT_INSN_SYSCALL && s->insn.len == 2 && s->bytes[0] == 0x0f &&
	       s->bytes[1] == 0x05;
}

static bool on_fixed_page(struct translation *t, uint64_t pc)
{
	if (t->page && t->page_at == page_down(pc))
		return true;
	t->page = t->source->fixed_page(t->source->arg, pc);
	t->page_at = page_down(pc);
	return t->page;
}

static bool is_mutable_code(struct translation *t, uint64_t pc)
{
	return !on_fixed_page(t, pc) && t->source->is_mutable(t->source->arg, pc);
}

static bool decode_step(struct translation *t, uint64_t pc, struct step *s)
{
	size_t at = pc % BT_PAGE, n;

	if (at <= BT_PAGE - DECODED_AT_ONCE && on_fixed_page(t, pc)) {
		memcpy(s->bytes, t->page + at, sizeof s->bytes);
		return !x86_decode(t->page + at, DECODED_AT_ONCE, &s->insn);
	}
	memset(s->bytes, 0, sizeof s->bytes);
	n = t->source->read(t->source->arg, pc, s->bytes, BT_INSN_MAX);
	return !x86_decode(s->bytes, n, &s->insn);
}

/* Zeroed memory decodes as add %al,(%rax), again and again. JITs have megabytes of it behind their
 * newest code, without a branch. If it is executed, it is stepped. */
static bool is_empty_memory(const struct step *s)
{
	static const uint8_t zeros[BT_INSN_MAX];

	return !memcmp(s->bytes, zeros, sizeof zeros);
}

/* Whether it is a direct branch to a non-canonical address: the branch itself faults, before it has
 * done anything. */
static bool leads_astray(const struct step *s)
{
	bool direct =
		is_conditional(s) || s->insn.class == BT_INSN_JMP || s->insn.class == BT_INSN_CALL;

	return direct && !is_canonical(step_target(s));
}

/* Tasks are stopped there. */
static bool is_stop(const struct translation *t, uint64_t pc)
{
	return t->source->stops_in && t->source->stops_in(t->source->arg, pc, pc + 1);
}

/* As BT_TRAIT_OWN_RESULT and BT_TRAIT_SAVES_PARTS. */
static bool has_own_result(const struct step *s)
{
	uint8_t modrm = s->insn.modrm_at ? s->bytes[s->insn.modrm_at] : 0;
	unsigned reg = modrm >> 3 & 7;
	bool registers = modrm >= 0xc0;

	if (s->insn.map != X86_MAP_0F)
		return false;
	switch (s->insn.opcode) {
	case 0x03: /* lsl */
	case 0x31: /* rdtsc */
	case 0x33: /* rdpmc */
	case 0xa2: /* cpuid */
		return true;
	case 0x01:
		return modrm == 0xd0 || modrm == 0xf9 || modrm == 0xfd; /* xgetbv, rdtscp, rdpru */
	case 0xae: /* tpause, umwait; xsave, xsaveopt */
		if (!registers)
			return !s->insn.prefix_66 && !s->insn.prefix_f2_f3 &&
			       (reg == 4 || reg == 6);
		return reg == 6 && (s->insn.prefix_66 || s->insn.prefix_f2_f3 == 0xf2);
	case 0xc7: /* rdrand, rdseed, rdpid; xsavec */
		return registers ? reg >= 6
				 : reg == 4 && !s->insn.prefix_66 && !s->insn.prefix_f2_f3;
	default:
		return false;
	}
}

static bool fetch_step(struct translation *t, uint64_t pc, struct step *s)
{
	s->pc = pc;
	if (!decode_step(t, pc, s) || is_empty_memory(s) ||
	    (t->cache->kind.logged && has_own_result(s) && !fragment_gives_result(s)) ||
	    (s->insn.traits & X86_RIP_RELATIVE && fragment_extends(s, EXTENDS_BASE)) ||
	    leads_astray(s))
		return false;
	s->saves_x87 = fragment_saves_x87(s);
	if (s->saves_x87 && !fragment_reaches_x87(s))
		return false;
	return !(s->insn.traits & X86_OUTSIDE) || is_system_call(s);
}

static bool is_x87(const struct step *s)
{
	return s->insn.map == X86_MAP_1 && (s->insn.opcode & 0xf8) == 0xd8;
}

static bool in_fragment(const struct translation *t, uint64_t pc)
{
	for (int i = 0; i < t->count; i++)
		if (t->steps[i].pc == pc)
			return true;
	return false;
}

static bool near_start(const struct translation *t, uint64_t pc)
{
	int64_t d = (int64_t)(pc - t->pc);

	return d > INT32_MIN / 2 && d < INT32_MAX / 2;
}

/* A jump is followed inline unless it leads to what is there already, or back (a loop: its head is
 * a fragment of its own). */
static bool follow_jump(const struct translation *t, const struct step *s)
{
	uint64_t target = step_target(s);

	return target > s->pc && !t->mutable && !in_fragment(t, target) && near_start(t, target) &&
	       code_cache_find(t->cache, target) == FRAGMENT_NONE && !is_stop(t, target);
}

/* Whether it writes memory that no operand names: (V)MASKMOVDQU and MASKMOVQ at rdi, CLZERO at rax.
 */
static bool writes_unnamed(const struct step *s)
{
	bool vex = s->insn.map == X86_MAP_OTHER; /* some instructions without a memory operand count
						    as writers: no harm */

	return (s->insn.opcode == 0xf7 && (vex || s->insn.map == X86_MAP_0F)) ||
	       (s->insn.map == X86_MAP_0F && s->insn.opcode == 0x01 &&
		s->bytes[s->insn.modrm_at] == 0xfc);
}

/* Whether the instruction may write memory other than by a push. In mutable code this may change
 * the code behind it. */
static bool may_write(const struct step *s)
{
	static const uint8_t loads[] = {0x8b, 0x8a, 0x8d, 0x63, 0x03, 0x0b, 0x13, 0x1b, 0x23,
					0x2b, 0x33, 0x3b, 0x39, 0x38, 0x3a, 0x84, 0x85};

	if (s->insn.traits & X86_REPEATED || !s->insn.modrm_at)
		return s->insn.map == X86_MAP_1 &&
		       ((s->insn.opcode >= 0xa2 && s->insn.opcode <= 0xa5) ||
			s->insn.opcode == 0xaa || s->insn.opcode == 0xab);
	if (s->bytes[s->insn.modrm_at] >= 0xc0)
		return writes_unnamed(s);
	for (size_t i = 0; i < sizeof loads; i++)
		if (s->insn.map == X86_MAP_1 && s->insn.opcode == loads[i])
			return false;
	return true;
}

/* Whether it reads and writes no memory, but for a push. */
static bool keeps_to_registers(const struct step *s)
{
	uint8_t op = s->insn.opcode;

	if (s->insn.modrm_at)
		return (s->bytes[s->insn.modrm_at] >= 0xc0 && !writes_unnamed(s)) ||
		       (s->insn.map == X86_MAP_1 && op == 0x8d);
	if (s->insn.map != X86_MAP_1)
		return false;
	return (op < 0x40 && (op & 6) == 4) || (op >= 0x50 && op <= 0x57) || op == 0x68 ||
	       op == 0x6a || (op >= 0x90 && op <= 0x99) || op == 0xa8 || op == 0xa9 ||
	       (op >= 0xb0 && op <= 0xbf);
}

/* Whether the code behind the instruction may have changed (mutable code). The instruction may have
 * written it; or it may have read that another thread has, and the program may rely on that. */
static bool may_change_code(const struct translation *t, const struct step *s)
{
	return t->source->others_write(t->source->arg, s->pc) ? !keeps_to_registers(s)
							      : may_write(s);
}

/* Jumps in a row that a fragment follows. */
static int most_jumps(const struct translation *t)
{
	return t->cache->kind.ticks ? JUMPS_KNOWN : FRAGMENT_INSNS;
}

static void read_steps(struct translation *t)
{
	uint64_t pc = t->pc;
	int conditionals = 0, jumps = 0;

	t->mutable = is_mutable_code(t, pc);
	while (t->count < (t->mutable ? MUTABLE_INSNS : FRAGMENT_INSNS)) {
		struct step *s = &t->steps[t->count];

		t->next = pc;
		/* The exit behind a fragment that falls through to a stop is linked when that is
		 * none any more. */
		if (is_stop(t, pc))
			return;
		*s = (struct step){0};
		if (t->count && is_mutable_code(t, pc) != t->mutable)
			return;
		if (!fetch_step(t, pc, s)) {
			t->ends_outside = true;
			return;
		}
		if (!t->mutable && page_number(pc) != page_number(step_end(s) - 1) &&
		    t->source->is_mutable(t->source->arg,
					  step_end(s) -
						  1)) { /* it ends on a page that may change */
			if (t->count)
				return;
			t->mutable = true;
		}
		t->count++;
		pc = step_end(s);
		t->next = pc;
		if (is_conditional(s)) {
			if (++conditionals == FRAGMENT_CONDITIONALS || in_fragment(t, pc))
				return;
			jumps = 0;
		} else if (s->insn.class == BT_INSN_JMP) {
			s->inlined_jump = follow_jump(t, s) && ++jumps <= most_jumps(t);
			if (!s->inlined_jump)
				return;
			pc = t->next = step_target(s);
		} else if (s->insn.class != BT_INSN_PLAIN ||
			   (t->mutable && may_change_code(t, s))) {
			return;
		}
	}
}

static int count_conditionals(const struct translation *t)
{
	int n = 0;

	for (int i = 0; i < t->count; i++)
		n += is_conditional(&t->steps[i]);
	return n;
}

static const struct prediction *prediction_of(const struct translation *t, const struct step *s)
{
	if (!is_indirect(s))
		return NULL;
	return t->supposed && t->supposed->from == s->pc
		       ? t->supposed
		       : predictions_get(&t->cache->predictions, s->pc);
}

uint64_t fragment_prediction(const struct translation *t, const struct step *s)
{
	const struct prediction *prediction = prediction_of(t, s);

	return prediction ? prediction->to : 0;
}

/* Whether the branch leads on without a record where its prediction is right. */
static bool leads_on_silently(const struct translation *t, const struct step *s)
{
	const struct prediction *prediction = prediction_of(t, s);

	return prediction && prediction->to && !prediction->closes;
}

uint64_t fragment_way_on(const struct translation *t, const struct step *s)
{
	if (s->insn.class == BT_INSN_PLAIN)
		return step_end(s);
	return s->insn.class == BT_INSN_JMP || s->insn.class == BT_INSN_CALL
		       ? step_target(s)
		       : fragment_prediction(t, s);
}

/* The instruction at pc may be part of a cycle without a conditional. In a routine the count in r11
 * is not known. */
static bool fetch_of_cycle(struct translation *t, uint64_t pc, struct step *s)
{
	*s = (struct step){0};
	if (!near_start(t, pc) || is_stop(t, pc) || is_mutable_code(t, pc) ||
	    !fetch_step(t, pc, s) || is_mutable_code(t, step_end(s) - 1))
		return false;
	s->inlined_jump = s->insn.class == BT_INSN_JMP;
	return fragment_way_on(t, s) && !fragment_needs_routine(t, s);
}

/* How many instructions execution passes from the fragment's beginning until a branch leads back to
 * it, where nothing lies between but direct branches and those that have a prediction. 0: there are
 * others, or too many; or it begins with an indirect branch. At a wrong prediction the fragment
 * that begins with that branch executes it; so a cycle that began with it would lead back to its
 * own beginning for ever. */
static int steps_of_cycle(struct translation *t)
{
	uint64_t pc = t->pc;
	struct step s;

	for (int n = 1; n <= FRAGMENT_INSNS && fetch_of_cycle(t, pc, &s); n++) {
		if (n == 1 && is_indirect(&s))
			return 0;
		pc = fragment_way_on(t, &s);
		if (pc == t->pc)
			return s.insn.class == BT_INSN_PLAIN ? 0 : n;
	}
	return 0;
}

/* How many rounds of such a cycle, of n steps, a fragment may have. */
static int most_rounds(int n)
{
	return FRAGMENT_INSNS / n < ROUNDS_MOST ? FRAGMENT_INSNS / n : ROUNDS_MOST;
}

/* If the fragment is such a cycle, its steps become some rounds of it. */
static void unroll_rounds(struct translation *t)
{
	const struct step *last = &t->steps[t->count - 1];
	uint64_t pc = t->pc;
	int n, rounds;

	if (t->mutable || t->ends_outside || last->inlined_jump || count_conditionals(t))
		return;
	if (last->insn.class != BT_INSN_JMP &&
	    !t->cache->predictions.count) /* a cycle through other branches needs predictions */
		return;
	n = t->cache->counting ? 0 : steps_of_cycle(t);
	rounds = n ? most_rounds(n) : 0;
	if (!rounds)
		return;
	for (int i = 0; i < n; i++) {
		(void)fetch_of_cycle(t, pc, &t->steps[i]);
		pc = fragment_way_on(t, &t->steps[i]);
	}
	for (int i = n; i < n * rounds; i++)
		t->steps[i] = t->steps[i - n];
	t->round = n;
	t->count = n * rounds;
	t->steps[t->count - 1].inlined_jump = false;
}

void fragment_read(struct translation *t)
{
	read_steps(t);
	if (t->count)
		unroll_rounds(t);
	for (int i = 0; i < t->count; i++)
		t->fragment.x87 |= is_x87(&t->steps[i]);
	if (t->count == FRAGMENT_INSNS ||
	    (t->count && !t->ends_outside && t->steps[t->count - 1].inlined_jump))
		t->steps[t->count - 1].inlined_jump = false;
}

/* The segment that begins at start and ends with the instruction s. */
static struct segment segment_from(const struct translation *t, uint64_t start,
				   const struct step *s)
{
	struct segment seg = {.pc = start,
			      .from = s->pc,
			      .end = step_end(s),
			      .to = step_end(s),
			      .kind = SEGMENT_FALL};

	if (s->insn.class == BT_INSN_PLAIN)
		return seg;
	seg.kind = (uint8_t)bt_insn_branch_kind(s->insn.class);
	seg.tick = seg.kind == BT_BRANCH_JCC;
	if (seg.kind == BT_BRANCH_JCC || seg.kind == BT_BRANCH_JMP || seg.kind == BT_BRANCH_CALL)
		seg.to = step_target(s);
	else if (seg.kind != BT_BRANCH_SYSCALL)
		seg.to = fragment_prediction(t, s);
	return seg;
}

/* Whether execution can come from pc to the branch at `to` along direct branches alone. Code that
 * can change, cannot be read or goes on too far counts as a way. If false, t->seen is the code that
 * proves it. */
static bool may_come_to(struct translation *t, uint64_t pc, uint64_t to)
{
	uint64_t start = pc;

	for (int i = 0; i < LOOK_AHEAD && t->seen_count < SEEN_MOST; i++) {
		struct step s = {0};

		if (pc == to || is_mutable_code(t, pc) || !fetch_step(t, pc, &s))
			return true;
		pc = step_end(&s);
		if (s.insn.class == BT_INSN_PLAIN)
			continue;
		t->seen[t->seen_count++] = segment_from(t, start, &s);
		if (s.insn.class == BT_INSN_JMP || s.insn.class == BT_INSN_CALL)
			pc = step_target(&s);
		else if (s.insn.class != BT_INSN_SYSCALL)
			return false;
		start = pc;
	}
	return true;
}

/* A cycle of direct branches without a conditional leaves no other record; each has a branch that
 * leads back. Of those with a prediction one says so. */
static bool closes_silent_cycle(struct translation *t)
{
	const struct step *last = &t->steps[t->count - 1];

	if (!t->round && !t->ends_outside && is_indirect(last))
		return fragment_prediction(t, last) && !leads_on_silently(t, last);
	if (t->round || t->ends_outside ||
	    (last->insn.class != BT_INSN_JMP && last->insn.class != BT_INSN_CALL) ||
	    step_target(last) > last->pc)
		return false;
	if (!may_come_to(t, step_target(last), last->pc))
		return false;
	t->seen_count = 0; /* a record too many does no harm */
	return true;
}

/* CMPS and SCAS: they read memory without a ModRM byte. */
static bool compares_strings(const struct step *s)
{
	return s->insn.map == X86_MAP_1 && (s->insn.opcode & 0xf6) == 0xa6;
}

static bool has_memory_operand(const struct step *s)
{
	return s->insn.modrm_at && s->bytes[s->insn.modrm_at] < 0xc0;
}

/* An instruction that rewrites every flag and reads none: before it a safe point may use them - if
 * it cannot fault, or the program would see what the safe point left. */
static bool frees_flags(const struct step *s)
{
	bool divides = s->insn.opcode == 0xf6 || s->insn.opcode == 0xf7;

	return s->insn.class == BT_INSN_PLAIN && s->insn.map == X86_MAP_1 &&
	       s->insn.flags_written == X86_ARITHMETIC && !s->insn.flags_read &&
	       !compares_strings(s) &&
	       !is_x87(s) /* FCOMI raises an x87 exception that is pending */ &&
	       !(s->insn.regs & X86_BIT(X86_R11)) && (!divides || fragment_probe_opcode(s));
}

int fragment_probe_opcode(const struct step *s)
{
	uint8_t op = s->insn.opcode,
		reg = s->insn.modrm_at ? s->bytes[s->insn.modrm_at] >> 3 & 7 : 0;

	if (s->insn.map != X86_MAP_1)
		return 0;
	if (op < 0x40 && ((op & 7) == 2 ||
			  (op & 7) == 3)) /* an operation on a register and memory: compare them */
		return op | 0x38;
	if (op == 0x38 || op == 0x39 || op == 0x84 || op == 0x85) /* cmp, test */
		return op;
	if ((op == 0x80 || op == 0x81 || op == 0x83) && reg == 7) /* cmp */
		return op;
	if ((op == 0xf6 || op == 0xf7) && reg < 2) /* test */
		return op;
	return 0;
}

/* Without conditionals: its only way on writes a record, or it has none. */
static bool leads_nowhere(const struct translation *t)
{
	const struct step *last = &t->steps[t->count - 1];

	return t->ends_outside || t->round || (is_indirect(last) && !fragment_prediction(t, last));
}

/* The number of conditionals since the last safe point with which a fragment without one may be
 * entered: that of the exits that wait for it, or some more, so that other exits need no fragment
 * of their own. It has n itself. */
static int debt_for(const struct translation *t, int wanted, int n)
{
	struct fragment_kind kind = t->cache->kind;
	int least = kind.ticks ? TICKS_FRAGMENT_DEBT : FRAGMENT_DEBT,
	    debt = wanted < least ? least : wanted;

	if (kind.ticks)
		debt = (debt + TICKS_DEBT_STEP - 1) / TICKS_DEBT_STEP * TICKS_DEBT_STEP;
	return debt + n <= code_cache_most_debt(t->cache) ? debt : wanted;
}

/* Whether it can do without a safe point; then with how many conditionals since the last one it may
 * be entered. (A jump that it follows leads forward.) */
static bool needs_safe_point(struct translation *t)
{
	struct fragment_demand d =
		t->source->demand ? *t->source->demand : code_cache_demand(t->cache, t->pc);
	int n = count_conditionals(t), most = code_cache_most_debt(t->cache);

	if (n && (d.back || t->mutable || d.debt + n > most))
		return true;
	t->fragment.passes = d.back;
	t->fragment.debt = (uint8_t)debt_for(t, d.debt, n);
	if (!n && (t->mutable ||
		   leads_nowhere(t))) /* code that may change is never superseded while it stays */
		t->fragment.debt = (uint8_t)most;
	return false;
}

/* Before an instruction that frees the flags, if there is one before the first conditional. */
static bool place_where_flags_are_free(struct translation *t)
{
	for (int i = 0; !t->mutable && i < t->count && !is_conditional(&t->steps[i]); i++)
		if (frees_flags(&t->steps[i]) &&
		    (!has_memory_operand(&t->steps[i]) || fragment_probe_opcode(&t->steps[i]))) {
			t->check_at = i;
			t->check_flags = true;
			t->check_probe = has_memory_operand(&t->steps[i]);
			return true;
		}
	return false;
}

void fragment_place_safe_point(struct translation *t, bool indirect)
{
	bool needed = needs_safe_point(t);

	t->loops = closes_silent_cycle(t);
	t->check_at = -1;
	if (t->round) /* it looks between its rounds */
		return;
	/* Where only ticks are counted, a task that comes by an indirect branch is to look: here,
	 * where that costs least, or in the entry. */
	t->fragment.head = needed;
	t->fragment.checked =
		((needed || (indirect && t->cache->kind.ticks)) && place_where_flags_are_free(t)) ||
		needed;
	if (!t->fragment.checked)
		return;
	if (t->check_at < 0)
		t->check_at = 0;
	t->fragment.debt = 0;
	t->fragment.passes = false;
}
/* From the last instruction of a fragment that its size limit ended to the branch behind it:
 * segments are the same whatever fragments they were found in. Without one, *s is the last
 * instruction before what is not for the cache, or of what a span can be. */
static void read_on(struct translation *t, uint64_t start, struct step *s)
{
	struct step next = *s;

	while (fetch_step(t, step_end(s), &next) && step_end(&next) - start <= SPAN_LEN_MAX) {
		*s = next;
		if (s->insn.class != BT_INSN_PLAIN)
			return;
	}
}

/* The code of s is part of what leads on from a prediction. */
static bool note_span(struct prediction *g, const struct step *s)
{
	for (size_t i = g->span_count; i--;)
		if (g->spans[i].end == s->pc) {
			g->spans[i].end = step_end(s);
			return true;
		}
	if (g->span_count == PREDICTION_SPANS)
		return false;
	g->spans[g->span_count].start = s->pc;
	g->spans[g->span_count++].end = step_end(s);
	return true;
}

static bool fetch_fixed(struct translation *t, uint64_t pc, struct step *s)
{
	*s = (struct step){0};
	return on_fixed_page(t, pc) && on_fixed_page(t, pc + BT_INSN_MAX) && on_fixed_page(t, pc) &&
	       fetch_step(t, pc, s);
}

/* Whether the prediction closes a cycle that can be a fragment by itself. Such a cycle begins at an
 * instruction that is no indirect branch, to which one leads. In other cycles a right prediction
 * with a record costs more than a branch without a prediction. */
static bool may_close(struct translation *t, struct prediction *prediction)
{
	struct step s = {0};

	prediction->closes = true;
	t->supposed = prediction;
	t->pc = prediction->to;
	while (t->pc != prediction->from && fetch_of_cycle(t, t->pc, &s) && is_indirect(&s))
		t->pc = fragment_way_on(t, &s);
	return steps_of_cycle(t);
}

bool fragment_may_predict(struct translation *t, uint64_t from, uint64_t to,
			  struct prediction *prediction)
{
	struct step s;

	*prediction = (struct prediction){.from = from, .to = to};
	if (!to || !fetch_fixed(t, from, &s) ||
	    (s.insn.class != BT_INSN_RET && s.insn.class != BT_INSN_IJMP &&
	     s.insn.class != BT_INSN_ICALL))
		return false;
	prediction->len = s.insn.len;
	for (int i = 0; i < LOOK_AHEAD; i++) {
		if (to == from)
			return may_close(t, prediction);
		if (!fetch_fixed(t, to, &s) || !note_span(prediction, &s))
			return false;
		if (is_conditional(&s))
			return true;
		if (s.insn.class == BT_INSN_PLAIN || s.insn.class == BT_INSN_SYSCALL)
			to = step_end(&s);
		else if (s.insn.class == BT_INSN_JMP || s.insn.class == BT_INSN_CALL)
			to = step_target(&s);
		else if (leads_on_silently(t, &s))
			to = fragment_prediction(t, &s);
		else
			return true;
	}
	return false;
}

/* Enters it, and its code as the fragment's. Returns its number, or SEGMENT_NONE without memory. */
static uint32_t add_segment(struct translation *t, const struct segment *seg)
{
	/* Where no history is kept nobody asks for segments. */
	uint32_t n = t->cache->kind.ticks ? 0 : segment_add(t->cache->segments, seg);

	return n <= INT32_MAX && code_cache_add_span(t->cache, seg->pc, seg->end) ? n
										  : SEGMENT_NONE;
}

bool fragment_add_segments(struct translation *t)
{
	uint64_t start = t->pc;
	uint32_t number = SEGMENT_NONE;
	int count = t->round ? t->round : t->count;

	for (int i = 0; i < count; i++) {
		bool last = i + 1 == count;
		struct step s = t->steps[i];
		struct segment seg;

		if (s.insn.class == BT_INSN_PLAIN && !last)
			continue;
		if (s.insn.class == BT_INSN_PLAIN && !t->ends_outside && !t->cache->kind.ticks)
			read_on(t, start, &s);
		seg = segment_from(t, start, &s);
		t->last_segment = add_segment(t, &seg);
		if (t->last_segment == SEGMENT_NONE)
			return false;
		if (number == SEGMENT_NONE)
			number = t->last_segment;
		if (!last)
			start = t->steps[i + 1].pc;
	}
	t->fragment.segment = number;
	for (int i = 0; i < t->seen_count; i++)
		if (add_segment(t, &t->seen[i]) == SEGMENT_NONE)
			return false;
	return number != SEGMENT_NONE;
}
