/* SPDX-License-Identifier: MIT */
/* Entries are checked one after the other. Straight-line code begins at an entry's target; it must
 * reach the next entry's instruction, of that kind, before any other branch. A direct branch must
 * go where its instruction says. At the end the code must lead to where the task stood, and the
 * counts must be those of the moment. The first contradiction ends the check.
 *
 * Most of a history is loops, so the end of straight-line code is cached by its start. The number
 * of decoded instructions is bounded by the history's length. Code that is not in the trace
 * contradicts nothing; its entries count as not checked. */
#include "decoder/model/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CACHE_MIN_BITS = 8,
	CACHE_MAX_BITS = 18,
	/* The most instructions decoded: BUDGET_BASE, and BUDGET_ENTRY for each entry. It bounds a
	 * trace made to be slow. */
	BUDGET_BASE = 1 << 20,
	BUDGET_ENTRY = 8,
};

/* From an address on, where the next branch instruction is; where there is none, where readable
 * code ends (kind -1). */
struct straight_run {
	uint64_t start, at;
	uint32_t space, epoch;
	bool used;
	int8_t kind; /* enum bt_branch_kind */
	uint8_t len;
	int64_t displacement;
};

struct judge {
	const struct history *h;
	const struct model *m;
	struct straight_run *cache; /* direct-mapped: most of a history is loops */
	unsigned bits;
	uint64_t budget;
	struct verdict *v;
};

enum answer {
	YES,
	NO,
	UNKNOWN, /* the code is not in the trace */
};

static bool is_branch(const struct history_entry *e) { return bt_branch_kind_is_branch(e->kind); }

static bool decode_insn(struct judge *j, uint32_t space, uint32_t epoch, uint64_t pc,
			struct bt_insn *insn)
{
	uint8_t bytes[BT_INSN_MAX];
	size_t n;

	if (!j->budget)
		return false;
	j->budget--;
	n = trace_index_code(j->m->index, space, epoch, pc, bytes, sizeof bytes);
	return n && !bt_insn_decode(bytes, n, insn);
}

static struct straight_run find_run(struct judge *j, uint32_t space, uint32_t epoch, uint64_t start)
{
	struct straight_run r = {.start = start,
				 .at = start,
				 .space = space,
				 .epoch = epoch,
				 .used = true,
				 .kind = -1};
	struct bt_insn insn;

	while (decode_insn(j, space, epoch, r.at, &insn)) {
		r.kind = (int8_t)bt_insn_branch_kind(insn.class);
		if (r.kind >= 0) {
			r.len = insn.len;
			r.displacement = insn.displacement;
			break;
		}
		r.at += insn.len;
	}
	return r;
}

static const struct straight_run *run_at(struct judge *j, uint32_t space, uint32_t epoch,
					 uint64_t start)
{
	uint64_t hash =
		(start ^ (uint64_t)epoch << 40 ^ (uint64_t)space << 52) * 0x9e3779b97f4a7c15u;
	struct straight_run *r = &j->cache[hash >> (64 - j->bits)];

	if (!r->used || r->start != start || r->space != space || r->epoch != epoch)
		*r = find_run(j, space, epoch, start);
	return r;
}

/* Whether stop is where an instruction begins on the way from start to the next branch, or behind
 * that when it is a system call: one that has not returned has no entry. */
static enum answer run_passes(struct judge *j, uint32_t space, uint32_t epoch, uint64_t start,
			      uint64_t stop)
{
	const struct straight_run *r = run_at(j, space, epoch, start);
	struct bt_insn insn;
	uint64_t pc = start;

	if (r->kind == BT_BRANCH_SYSCALL && stop == r->at + r->len)
		return YES;
	if (stop < start || stop > r->at)
		return stop >= start && r->kind < 0 ? UNKNOWN : NO;
	while (pc < stop) {
		if (!decode_insn(j, space, epoch, pc, &insn))
			return UNKNOWN;
		pc += insn.len;
	}
	return pc == stop ? YES : NO;
}

/* Whether the code leads from start to the branch e. */
static enum answer run_leads_to(struct judge *j, uint64_t start, const struct history_entry *e)
{
	const struct straight_run *r;

	/* A handler is entered before an instruction, not by one. */
	if (e->kind == BT_BRANCH_ASYNC)
		return run_passes(j, e->space, e->epoch, start, e->from);
	r = run_at(j, e->space, e->epoch, start);
	if (r->kind < 0)
		return start <= e->from && e->from >= r->at ? UNKNOWN : NO;
	return r->at == e->from && r->kind == e->kind ? YES : NO;
}

static bool goes_right(struct judge *j, const struct history_entry *e)
{
	const struct straight_run *r;

	if (e->kind != BT_BRANCH_JCC && e->kind != BT_BRANCH_JMP && e->kind != BT_BRANCH_CALL)
		return true;
	r = run_at(j, e->space, e->epoch, e->from);
	return r->kind < 0 ||
	       e->to == e->from + r->len +
				(e->flags & BT_BRANCH_TAKEN ? (uint64_t)r->displacement : 0);
}

static bool contradict_history(struct judge *j, enum verdict_reason reason, size_t from)
{
	j->v->state = VERDICT_INCONSISTENT;
	j->v->reason = reason;
	j->v->from = from;
	return false;
}

/* False at a contradiction. */
static bool check_entry(struct judge *j, size_t i)
{
	const struct history_entry *e = &j->h->entries[i];
	enum answer answer;
	uint64_t start;

	j->v->count++;
	if (history_start(j->h, i, &start)) {
		answer = run_leads_to(j, start, e);
		if (answer == NO)
			return contradict_history(j, VERDICT_NO_WAY, i);
		j->v->checked += answer == YES;
	} else if (e->kind != BT_BRANCH_ASYNC && run_leads_to(j, e->from, e) == NO) {
		return contradict_history(j, VERDICT_NO_BRANCH, i);
	}
	return goes_right(j, e) || contradict_history(j, VERDICT_WRONG_WAY, i);
}

/* Whether where the task was behind an entry is not behind a point; not before it. */
static bool is_until(const struct history_entry *e, const struct bt_point *p)
{
	return e->tick < p->tick || (e->tick == p->tick && e->transfers <= p->transfers);
}

static bool is_since(const struct history_entry *e, const struct bt_point *p)
{
	return e->tick > p->tick || (e->tick == p->tick && e->transfers >= p->transfers);
}

/* At each system call at a stop the recorder took the records: the program cannot overwrite them
 * any more. Finds the first entry behind the last such stop before entry i. */
static size_t first_in_doubt(const struct judge *j, size_t i)
{
	const struct bt_point *taken = NULL;

	for (size_t k = 0; i && k < j->m->events.count; k++) {
		const struct bt_record *rec = &j->m->events.at[k]->rec;

		if (rec->kind != BT_RECORD_SYSCALL_ENTER || rec->u.syscall_enter.task != j->h->task)
			continue;
		if (is_since(&j->h->entries[i - 1], &rec->u.syscall_enter.point))
			taken = &rec->u.syscall_enter.point;
	}
	while (i && (!taken || !is_until(&j->h->entries[i - 1], taken)))
		i--;
	return i;
}

static bool check_gap(struct judge *j, size_t i)
{
	const struct history_entry *e = &j->h->entries[i];

	j->v->damaged |= e->kind == BT_BRANCH_GAP && e->to == BT_GAP_DAMAGED;
	return e->kind != BT_BRANCH_GAP || e->to != BT_GAP_SCRIBBLED ||
	       contradict_history(j, VERDICT_SCRIBBLED, first_in_doubt(j, i));
}

/* The first entry behind the last gap before end. */
static size_t unbroken_start(const struct history *h, size_t end)
{
	while (end && is_branch(&h->entries[end - 1]))
		end--;
	return end;
}

static bool check_moment(struct judge *j, size_t end, const struct bt_record_thread *thread)
{
	const struct history_entry *last = end ? &j->h->entries[end - 1] : NULL;
	uint32_t space;

	if (!thread || !last || !is_branch(last))
		return true;
	if (last->tick != BT_TICKS_UNKNOWN && thread->point.tick != BT_TICKS_UNKNOWN &&
	    (last->tick != thread->point.tick || last->transfers != thread->point.transfers))
		return contradict_history(j, VERDICT_COUNTS, unbroken_start(j->h, end));
	space = end < j->h->count ? j->h->entries[end].space : j->h->space;
	/* A restarted system call: the snapshot is at its instruction, whose entry may not exist
	 * yet. */
	if (last->kind == BT_BRANCH_SYSCALL && last->from == thread->point.rip)
		return true;
	return run_passes(j, space, thread->epoch, last->to, thread->point.rip) != NO ||
	       contradict_history(j, VERDICT_NOT_THERE, end);
}

static int judge_init(struct judge *j, struct bt_error *err)
{
	j->bits = CACHE_MIN_BITS;
	while (j->bits < CACHE_MAX_BITS && (size_t)1 << j->bits < j->h->count)
		j->bits++;
	j->budget = BUDGET_BASE + BUDGET_ENTRY * (uint64_t)j->h->count;
	j->cache = calloc((size_t)1 << j->bits, sizeof *j->cache);
	return j->cache ? 0
			: bt_fail(err, BT_E_NO_MEMORY, 0,
				  "out of memory to check the branch history");
}

/* Only this source tells every branch; others leave out those not taken, or kinds. */
bool verdict_is_possible(const struct model *m)
{
	return slice_is(m->trace->header.source, "bits");
}

/* Damage in the branches of other tasks says nothing of these. */
static bool is_damaged(const struct model *m, uint32_t task)
{
	char own[32];

	trace_file_name(own, BT_FILE_BRANCHES, task);
	for (size_t i = 0; i < m->damage_count; i++) {
		const struct model_damage *d = &m->damage[i];
		bool of_others = !strncmp(d->file, "branches-", strlen("branches-")) &&
				 strcmp(d->file, own) != 0;

		if (!d->torn && !of_others)
			return true;
	}
	return false;
}

int verdict_find(struct verdict *v, const struct history *h, size_t end, const struct model *m,
		 const struct bt_record_thread *thread, struct bt_error *err)
{
	struct judge j = {.h = h, .m = m, .v = v};
	bool good = true;
	int rc;

	*v = (struct verdict){.damaged = is_damaged(m, h->task)};
	if (!verdict_is_possible(m))
		return 0;
	rc = judge_init(&j, err);
	if (rc)
		return rc;
	for (size_t i = 0; good && i < end; i++)
		good = is_branch(&h->entries[i]) ? check_entry(&j, i) : check_gap(&j, i);
	if (good && check_moment(&j, end, thread) && (v->checked || v->damaged))
		v->state = v->damaged ? VERDICT_PARTLY : VERDICT_CONSISTENT;
	free(j.cache);
	return 0;
}

const char *verdict_words(const struct verdict *v, char words[VERDICT_WORDS_MAX])
{
	*words = '\0';
	if (v->state == VERDICT_CONSISTENT)
		snprintf(words, VERDICT_WORDS_MAX,
			 "Consistent: the recorded code leads from each to the next (%zu of %zu "
			 "checked)",
			 v->checked, v->count);
	else if (v->state == VERDICT_PARTLY && v->checked)
		snprintf(words, VERDICT_WORDS_MAX,
			 "Consistent in part: the trace is damaged, and in what is left the code "
			 "leads from each to the next "
			 "where it could be checked (%zu of %zu)",
			 v->checked, v->count);
	else if (v->state == VERDICT_PARTLY)
		snprintf(words, VERDICT_WORDS_MAX,
			 "Not checked: the trace is damaged (%zu branches are left)", v->count);
	return words;
}

const char *verdict_text(enum verdict_reason reason)
{
	static const char *const texts[VERDICT_REASONS] = {
		[VERDICT_NO_WAY] = "the code does not lead to it from the one before",
		[VERDICT_NO_BRANCH] = "the code has no such branch there",
		[VERDICT_WRONG_WAY] = "the code sends it elsewhere",
		[VERDICT_NOT_THERE] =
			"the code does not lead from the last one to where the task stood",
		[VERDICT_COUNTS] = "their number is not the one that was counted",
		[VERDICT_SCRIBBLED] =
			"the program has written over the memory that they were noted in",
	};

	return texts[reason];
}
