/* SPDX-License-Identifier: MIT */
/* check_history TRACE...: what must hold in every undamaged trace whatever made it. The code bytes
 * lead, instruction by instruction, from each entry of a history to the next and from the last to
 * where its task stood; branches go where their instruction says; snapshots have the counts that
 * the history has there. Prints what does not hold; ends with 1 then. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "decoder/model/history.h"

struct check {
	const struct model *m;
	struct history h;
	size_t entries, positions, wrong;
};

__attribute__((format(printf, 2, 3))) static void wrong(struct check *c, const char *fmt, ...)
{
	va_list args;

	if (c->wrong++ >= 20)
		return;
	printf("task %" PRIu32 ": ", c->h.task);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

static bool is_branch(const struct history_entry *e) { return bt_branch_kind_is_branch(e->kind); }

static bool leads(const struct check *c, size_t i, uint64_t stop)
{
	struct history_insn *insns;
	long n = history_straight(&c->h, c->m, i, stop, &insns);

	free(insns);
	return n >= 0;
}

/* Direct branches; history_straight has seen to the kind. */
static void check_target(struct check *c, size_t i)
{
	const struct history_entry *e = &c->h.entries[i];
	uint8_t bytes[BT_INSN_MAX];
	struct bt_insn insn;
	uint64_t want;

	if (e->kind != BT_BRANCH_JCC && e->kind != BT_BRANCH_JMP && e->kind != BT_BRANCH_CALL)
		return;
	if (bt_insn_decode(
		    bytes,
		    trace_index_code(c->m->index, e->space, e->epoch, e->from, bytes, sizeof bytes),
		    &insn)) {
		wrong(c, "entry %" PRIu64 ": no instruction at %" PRIx64, e->number, e->from);
		return;
	}
	want = e->from + insn.len + (e->flags & BT_BRANCH_TAKEN ? (uint64_t)insn.displacement : 0);
	if (e->to != want)
		wrong(c, "entry %" PRIu64 ": %s at %" PRIx64 " goes to %" PRIx64 ", not %" PRIx64,
		      e->number, bt_branch_info[e->kind].name, e->from, want, e->to);
}

static void check_entries(struct check *c)
{
	for (size_t i = 1; i < c->h.count; i++) {
		const struct history_entry *a = &c->h.entries[i - 1], *b = &c->h.entries[i];

		c->entries++;
		if (is_branch(a) && is_branch(b) && !leads(c, i, 0))
			wrong(c,
			      "entry %" PRIu64 ": no code leads from %" PRIx64
			      " to the %s at %" PRIx64,
			      b->number, a->to, bt_branch_info[b->kind].name, b->from);
		check_target(c, i);
	}
}

static void check_position(struct check *c, const struct bt_record_thread *t)
{
	size_t i = history_index(&c->h, t->position);
	const struct history_entry *before = i ? &c->h.entries[i - 1] : NULL;

	if (!before || !is_branch(before))
		return;
	c->positions++;
	if (before->tick != t->point.tick || before->transfers != t->point.transfers)
		wrong(c,
		      "snapshot %" PRIu32 " is at %" PRIu64 "+%" PRIu64 ", the history at %" PRIu64
		      "+%" PRIu64,
		      t->snapshot, t->point.tick, t->point.transfers, before->tick,
		      before->transfers);
	if ((i == c->h.count || !is_branch(&c->h.entries[i])) && !leads(c, i, t->point.rip))
		wrong(c, "snapshot %" PRIu32 ": no code leads from %" PRIx64 " to %" PRIx64,
		      t->snapshot, before->to, t->point.rip);
}

static void check_task(struct check *c, uint32_t task)
{
	struct bt_error err;

	if (history_load(&c->h, c->m, task, &err)) {
		wrong(c, "%s", err.text);
		return;
	}
	check_entries(c);
	for (size_t s = 0; s < c->m->snapshot_count; s++)
		for (size_t t = 0; t < c->m->snapshots[s].thread_count; t++)
			if (c->m->snapshots[s].threads[t]->task == task)
				check_position(c, c->m->snapshots[s].threads[t]);
	history_release(&c->h);
}

static int check_trace(const char *path)
{
	struct check c = {0};
	struct bt_error err;
	struct trace *t;
	struct model *m;

	if (trace_open(&t, path, &err) || model_load(&m, t, &err)) {
		printf("%s\n", err.text);
		return 1;
	}
	c.m = m;
	for (size_t i = 0; i < m->damage_count; i++)
		if (!m->damage[i].torn)
			wrong(&c, "damage in %s: %s", m->damage[i].file, m->damage[i].text);
	for (size_t i = 0; i < m->task_count; i++)
		check_task(&c, m->tasks[i].task);
	printf("%s: %zu tasks, %zu entries, %zu positions, %zu wrong\n", path, m->task_count,
	       c.entries, c.positions, c.wrong);
	model_free(m);
	return c.wrong || !c.entries;
}

int main(int argc, char **argv)
{
	int failed = argc < 2;

	for (int i = 1; i < argc; i++)
		failed |= check_trace(argv[i]);
	return failed;
}
