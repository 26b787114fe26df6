/* SPDX-License-Identifier: MIT */
/* A fragment on its way from application code to the cache's code: what the translator's source
 * files share, and nobody else. fragment_read.c reads it, fragment_code.c, fragment_branches.c,
 * fragment_loop.c, fragment_x87.c, fragment_own_result.c, fragment_check.c and fragment_ticks.c
 * write its code, translator.c puts it together. A translation lives for one call of the
 * translator. */
#ifndef BT_TRANSLATION_H
#define BT_TRANSLATION_H

#include "collector/backend/engine/cache/emit.h"
#include "collector/backend/engine/cache/layout.h"
#include "collector/backend/engine/translate/translator.h"
#include "collector/history/branch_log.h"

enum {
	FRAGMENT_INSNS = 48,
	MUTABLE_INSNS = 16,
	FRAGMENT_CONDITIONALS = 12, /* at most BITS_DEBT */
	FRAGMENT_DEBT = 8, /* with so many conditionals since the last safe point may a fragment
			      without one be entered, though nobody asks for that yet */
	TICKS_FRAGMENT_DEBT = 64, /* the same where only ticks are counted; and when more are asked
				     for, the next multiple of: */
	TICKS_DEBT_STEP = 16,
	FRAGMENT_BYTES = 1 << 15, /* more than any fragment's code can be */
	COLD_MAX = 2 * FRAGMENT_INSNS,
	STATE_ENTRIES_MAX = 24 * FRAGMENT_INSNS, /* fxsave relative to rip has the most */
	STOP_TESTS = 3,
	ROUNDS_MOST = 16,                 /* of a cycle in a fragment */
	SEEN_MOST = 4,                    /* segments looked at in search of a cycle */
	JUMPS_KNOWN = CTX_SLOT_COUNT - 2, /* jumps behind a conditional that a fragment follows
					     without history: its last branch needs a slot, too */
};

struct step {
	struct x86_insn insn;
	uint64_t pc;
	uint8_t bytes[BT_INSN_MAX + 1];
	bool inlined_jump; /* a direct jump that the fragment follows */
	bool saves_x87;    /* fragment_saves_x87() */
};

/* A jump to something cold: the displacement's place, and what it leads to. */
struct cold {
	size_t site;
	uint64_t target;
	uint8_t kind;
	bool fresh, conditional;
	struct fragment_demand demand;
};

/* A prediction in the rounds of a cycle: the jump for a wrong one; the step. */
struct missed {
	size_t site;
	int step;
};

/* A number that code refers to with a displacement at site. */
struct literal {
	size_t site;
	uint64_t value;
};

struct translation {
	struct step steps[FRAGMENT_INSNS];
	struct cold cold[COLD_MAX];
	struct state_entry state_map[STATE_ENTRIES_MAX];
	/* From here on zeroed for each fragment. */
	struct code_cache *cache;
	const struct code_source *source;
	uint64_t pc;
	const uint8_t *page; /* of code that cannot change, the last one asked for; NULL: none */
	uint64_t page_at;
	int count;
	int round; /* the fragment is a cycle of so many steps, some rounds of it; 0: it is not */
	bool ends_outside; /* the instruction behind the last step is not for the cache */
	uint64_t next;     /* address to go on at behind the last step, if that is no branch */
	uint64_t at_pc;    /* of entries behind an instruction */
	bool mutable;      /* the code compares itself */
	bool marked;       /* it marks that it has run */
	bool loops; /* its last branch closes a cycle that would leave no record: it writes one */
	const struct prediction *supposed; /* tried: it counts as one of the cache's. NULL: none */
	struct segment seen[SEEN_MOST]; /* code searched in vain: the fragment rests on it, too */
	int seen_count;
	uint32_t last_segment;
	int check_at;     /* the step before which the safe point stands, -1: none */
	bool check_flags; /* flags are free there */
	bool check_probe; /* ... once its operand in memory has been seen not to fault */
	struct emitter out;
	struct fragment fragment;
	int cold_count;
	uint32_t counted_traps[FRAGMENT_INSNS]; /* of the stops before branches that are counted
						   down to, and at blocks (fragment.counting) */
	uint64_t counted_pcs[FRAGMENT_INSNS];
	int counted;
	uint32_t loop_trap;
	uint64_t loop_target;
	uint32_t rounds_trap;            /* of the stop between some of them and others; 0: none */
	size_t rounds_sites[STOP_TESTS]; /* if only ticks are counted: of the jumps to it */
	struct missed misses[FRAGMENT_INSNS]; /* of predictions in the rounds */
	int miss_count;
	struct literal literals[FRAGMENT_INSNS]; /* return addresses of calls in them */
	int literal_count;
	uint64_t lent_near[LENT_COUNT]; /* LENT_BASE; LENT_PREDICTION with its sign changed */
	bool lends;                     /* fragment.lent are lent now */
	size_t check_site, check_back;  /* of the safe point's cold part; site 0: none */
	size_t check_behind;            /* behind the instruction that it stands before */
	int state_count;
	bool r11_in;                 /* r11 is the application's now */
	size_t full_site, full_trap; /* of the jump of the indirect branch on the way to where it
					stops, and the int3 there; 0: none */
	size_t miss_site;   /* of the jump to where its last branch leads elsewhere than its
			       prediction; 0: none */
	bool shifted;       /* the coming conditional has been counted */
	int conditionals;   /* so far */
	uint64_t branch_pc; /* of the branch on the way, or the last instruction */
	bool behind_branch; /* one has been emitted */
	struct {
		int last; /* the step that leads back; 0: no register is lent for a loop
			     (fragment_loop.c) */
		unsigned reg;
		uint64_t base; /* the register's value */
		bool lent;     /* now */
		size_t again;  /* offset of the branch back's target */
	} loop;
	/* If no history is kept: */
	bool known;    /* a conditional has been executed in the fragment; since then */
	int transfers; /* ... so many transfers */
	size_t entry_sites[STOP_TESTS]; /* of the jumps of the indirect entry to where it stops; 0:
					   none */
};

static inline uint64_t step_end(const struct step *s) { return s->pc + s->insn.len; }

/* The target of a direct branch, or the address of a rip-relative operand. */
static inline uint64_t step_target(const struct step *s)
{
	return step_end(s) + (uint64_t)s->insn.displacement;
}

static inline bool is_conditional(const struct step *s)
{
	return s->insn.class == BT_INSN_JCC || s->insn.class == BT_INSN_JRCXZ ||
	       s->insn.class == BT_INSN_LOOP;
}

static inline bool is_indirect(const struct step *s)
{
	return s->insn.class == BT_INSN_RET || s->insn.class == BT_INSN_IJMP ||
	       s->insn.class == BT_INSN_ICALL;
}

/* ---- fragment_read.c ---- */

/* Whether a prefix extends the base or the index of a memory operand: without effect in a
 * rip-relative one, but not once that is something else. */
enum { EXTENDS_BASE = 1, EXTENDS_INDEX = 2 };
bool fragment_extends(const struct step *s, unsigned which);

/* Reads the fragment's instructions, at t->pc: none when the first is not for the cache. */
void fragment_read(struct translation *t);

/* Decides where the safe point stands, and whether the last branch writes a record. indirect: the
 * fragment gets an indirect entry. */
void fragment_place_safe_point(struct translation *t, bool indirect);

/* The opcode with which an instruction that reads memory only reads it, like a comparison, changing
 * nothing but flags; 0: none. */
int fragment_probe_opcode(const struct step *s);

/* See translator_may_predict(). */
bool fragment_may_predict(struct translation *t, uint64_t from, uint64_t to,
			  struct prediction *prediction);

/* Where the branch is predicted to lead, 0. */
uint64_t fragment_prediction(const struct translation *t, const struct step *s);

/* Where execution goes on behind s: 0, that is not known. */
uint64_t fragment_way_on(const struct translation *t, const struct step *s);

/* Enters its segments and spans. False without memory. */
bool fragment_add_segments(struct translation *t);

/* ---- fragment_code.c ---- */

/* Enters the state at the place reached: before the instruction s, or (NULL) before that at
 * t->at_pc. */
void fragment_map_state(struct translation *t, const struct step *s, unsigned state, unsigned reg);

/* The same of the state before the instruction at `to`, where a branch has led. */
void fragment_map_state_to(struct translation *t, uint64_t to, unsigned state);

/* The jump whose displacement is at site leads to an exit of this kind, behind the fragment. */
void fragment_add_cold(struct translation *t, size_t site, uint64_t target, uint8_t kind);

/* Makes the stolen register the history bits again. */
void fragment_bring_bits(struct translation *t, const struct step *s);

/* Makes r11 the application's, if it is not yet. state: beside that of r11, as in
 * fragment_map_state(). */
void fragment_bring_r11(struct translation *t, const struct step *s, unsigned state);

/* Counts the conditional that comes; there is nothing left to do then where it is not taken. */
void fragment_count_tick(struct translation *t);

/* Goes to a routine before the instruction. The application's rcx is in the context, and CTX_BACK
 * leads to what is emitted next, where all is the application's again. */
void fragment_emit_to_routine(struct translation *t, const struct step *s, uint32_t routine);

/* Whether the code of an instruction that is no branch goes through a routine, or asks what it
 * left. */
bool fragment_needs_routine(const struct translation *t, const struct step *s);

/* Whether it has an operand beside its code for which a register is lent. */
bool fragment_needs_base(const struct step *s);

void fragment_emit_step(struct translation *t, int i);

/* An instruction that is no branch. */
void fragment_emit_plain(struct translation *t, const struct step *s);

/* Behind the last step: on to pc. */
void fragment_emit_end(struct translation *t, uint64_t pc, uint8_t kind);

/* ---- fragment_branches.c ---- */

void fragment_emit_conditional(struct translation *t, const struct step *s);
void fragment_emit_call(struct translation *t, const struct step *s);
void fragment_emit_indirect(struct translation *t, const struct step *s);
/* A jump that the fragment does not follow. */
void fragment_emit_last_jump(struct translation *t, const struct step *s);

/* Behind the fragment: its last branch leads elsewhere than its prediction. Returns the place of
 * the int3 at which it stops; where no history is kept there is none. */
uint32_t fragment_emit_miss(struct translation *t);

/* The branch s in the midst of a fragment: on to its target, or its prediction. */
void fragment_emit_on(struct translation *t, const struct step *s);

/* Behind the fragment. */
void fragment_emit_literals(struct translation *t);

/* The indirect entry: is r11, where the branch leads, the fragment's address? Then the registers
 * are the application's behind it, and r11 says that there are no bits; or will, when it has been
 * rotated as for a conditional that is taken (before_fresh). looks: it is looked whether the task
 * is to stop; fragment_emit_entry_stop() is to come behind the fragment. Gives its offset in what
 * is emitted. */
size_t fragment_emit_indirect_entry(struct translation *t, bool before_fresh, bool looks);

/* ---- fragment_loop.c ---- */

/* Decides whether the fragment is a loop for which a register is lent. The safe point has its
 * place. */
void fragment_plan_loop(struct translation *t);

/* Before the first step: lends it, if so. */
void fragment_begin_loop(struct translation *t);

/* Whether s is the branch back of such a loop; that branch; and the code behind it, where it is not
 * taken. */
bool fragment_closes_loop(const struct translation *t, const struct step *s);
void fragment_emit_branch_back(struct translation *t, const struct step *s);
void fragment_end_loop(struct translation *t);

/* An instruction with its operand beside its code made one of the register, which is so many bytes
 * away from there. */
void fragment_emit_lent(struct translation *t, const struct step *s, unsigned reg, uint64_t base);

/* The safe point's cold part begins: the register is the application's there; and it is about to go
 * back. */
void fragment_leave_loop(struct translation *t);
void fragment_return_to_loop(struct translation *t);

/* ---- fragment_x87.c ---- */

/* Whether it saves the address of the x87 instruction that was executed last; and, if so, whether
 * code can reach the saved address to clear it. */
bool fragment_saves_x87(const struct step *s);
bool fragment_reaches_x87(const struct step *s);

/* Behind such an instruction, whose places begin with the first: makes that address 0. */
void fragment_emit_x87_save(struct translation *t, const struct step *s, int first_entry);

/* ---- fragment_own_result.c ---- */

/* Whether it is rdtsc, rdtscp, xgetbv or cpuid; and whether what it gives is to be noted. */
bool fragment_gives_result(const struct step *s);
bool fragment_notes_result(const struct translation *t, const struct step *s);

/* Such an instruction that is noted. */
void fragment_emit_noted(struct translation *t, const struct step *s);

/* ---- fragment_ticks.c: only where no history is kept ---- */

/* Where the indirect entry stops, if it looks: gives the place of the int3. */
uint32_t fragment_emit_entry_stop(struct translation *t);

/* Counts a transfer to `to`, with the bits in r11, where ticks are counted. It has been made then.
 */
void fragment_count_transfer(struct translation *t, uint64_t to);

/* The same, only where ticks are counted, of an indirect branch s that leads to where rcx says:
 * that is in r11 then, and the bits are in the context. */
void fragment_count_indirect(struct translation *t, const struct step *s);

/* Where fragments count (fragment.counting): stops before the branch s when as many as wanted
 * have been made. Flags are kept. */
void fragment_count_down(struct translation *t, const struct step *s);

/* Likewise: stops before s, the first instruction of a block of code, where that is the block at
 * which the task is to stop. Flags are kept. */
void fragment_stop_at_block(struct translation *t, const struct step *s);

/* ecx is r11's bits from 24 to 31: makes those of the conditionals of it, which are not 0 when so
 * many have been counted that it is to stop. */
void fragment_emit_conditionals(struct emitter *e);

/* Notes which indirect branch is about to be made. */
void fragment_note_origin(struct translation *t);

/* Whether its first branch is no conditional: it needs an entry that writes slot 0. */
bool fragment_needs_slot(const struct translation *t);

/* If the task is to stop, jumps to the code behind fragment_patch_stop(), else goes on. rcx is
 * used. */
void fragment_emit_stop_test(struct translation *t, size_t sites[STOP_TESTS]);
void fragment_patch_stop(struct translation *t, const size_t sites[STOP_TESTS]);

/* The last branch, which closes a cycle without a conditional: whether to stop there. */
void fragment_emit_loop_test(struct translation *t, const struct step *s);

/* ---- fragment_rounds.c: in a fragment with t->round ---- */

/* Decides which registers are lent. */
void fragment_plan_rounds(struct translation *t);

/* The register that is lent for this now, -1. */
int fragment_lent(const struct translation *t, enum lent what);

/* rcx is used from here on; it is the application's again. */
void fragment_take_rcx(struct translation *t);
void fragment_give_rcx(struct translation *t);

/* Before the first step. */
void fragment_begin_rounds(struct translation *t);

/* Behind the branch that ends a round. last: of the fragment. */
void fragment_end_round(struct translation *t, bool last);

/* Behind the fragment: where predictions in its rounds are wrong. */
void fragment_emit_misses(struct translation *t);

/* ---- fragment_check.c ---- */

/* The safe point, before the instruction s. */
void fragment_emit_safe_point(struct translation *t, const struct step *s);

/* The instruction s behind it has just been emitted. */
void fragment_end_safe_point(struct translation *t, const struct step *s);

/* Behind the fragment: the way to the routine, the stop (its int3's place in *trap), and the way
 * back. */
void fragment_emit_safe_point_cold(struct translation *t, uint32_t *trap);

/* Writes a record through a routine; the application's rcx is in the context. Goes on behind an
 * int3, whose place is returned, or stops at it: there the tracer may let it go on, too. */
uint32_t fragment_emit_record(struct translation *t, uint32_t segment, enum branch_log_kind kind,
			      uint32_t routine);

/* The last branch, which closes a cycle: its record, when it has been executed but for the jump. */
void fragment_emit_loop_record(struct translation *t, const struct step *s);

/* Marks that it has run. */
void fragment_emit_mark(struct translation *t);

/* Compares the fragment's code with what it is made from; flags stay. Its bytes are one stretch:
 * jumps are not followed. */
void fragment_emit_comparison(struct translation *t);

#endif
