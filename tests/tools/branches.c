// SPDX-License-Identifier: MIT
/* branches TRACE: prints every entry of every task's branch history, one a line: task tick kind
 * taken from to. branches -i TRACE: prints the address of every instruction executed, one a line,
 * before each entry, as "i ADDRESS"; straight-line code that cannot be reconstructed is "i ?". For
 * tests: nothing is folded, named or left out. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/model/history.h"

static void print_error(const struct bt_error *err)
{
	fprintf(stderr, "branches: %s\n", err->text);
}

static void print_instructions(const struct history *h, const struct model *m, size_t i,
			       uint64_t stop)
{
	struct history_insn *insns;
	long count = history_straight(h, m, i, stop, &insns);

	if (count < 0)
		puts("i ?");
	for (long k = 0; k < count; k++)
		printf("i %" PRIx64 "\n", insns[k].addr);
	free(insns);
}

static void print_entry(uint32_t task, const struct history_entry *e)
{
	bool taken = bt_branch_kind_is_branch(e->kind) && (e->flags & BT_BRANCH_TAKEN);

	printf("%" PRIu32 " %" PRId64 " %s %d %" PRIx64 " %" PRIx64 "\n", task, (int64_t)e->tick,
	       bt_branch_info[e->kind].name, taken, e->from, e->to);
}

/* Where the last instructions of a task end: the newest of its registers. */
static uint64_t last_rip(const struct model_task *task)
{
	return task->exit ? task->exit->regs.rip : 0;
}

static int print_task(const struct model *m, const struct model_task *task, bool instructions,
		      struct bt_error *err)
{
	struct history h;
	int rc = history_load(&h, m, task->task, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < h.count; i++) {
		if (instructions)
			print_instructions(&h, m, i, 0);
		print_entry(task->task, &h.entries[i]);
	}
	if (instructions && h.count)
		print_instructions(&h, m, h.count, last_rip(task));
	history_release(&h);
	return 0;
}

static int print_trace(const char *path, bool instructions, struct bt_error *err)
{
	struct trace *trace;
	struct model *m;
	int rc = trace_open(&trace, path, err);

	if (rc >= 0)
		rc = model_load(&m, trace, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < m->task_count && rc >= 0; i++)
		rc = print_task(m, &m->tasks[i], instructions, err);
	model_free(m);
	return rc;
}

int main(int argc, char **argv)
{
	bool instructions = argc == 3 && !strcmp(argv[1], "-i");
	struct bt_error err = {0};

	if (argc != 2 + instructions) {
		fprintf(stderr, "usage: branches [-i] TRACE\n");
		return 2;
	}
	if (print_trace(argv[argc - 1], instructions, &err) < 0) {
		print_error(&err);
		return 1;
	}
	return 0;
}
