/* SPDX-License-Identifier: MIT */
/* The registers of the snapshot's threads, with their targets, and marks on those that changed
 * since the task's previous snapshot. */
#include <inttypes.h>
#include <string.h>

#include "lib/array_size.h"
#include "lib/extended_state.h"
#include "lib/page.h"
#include "syscalls/syscall_names.h"
#include "tui/label.h"

enum {
	VALUE_COLUMN = 10,
	POINTER_COLUMN = 30, /* behind the value */
};

/* Display order; the rest of regs.def (segments, orig_rax) says nothing about a program. */
static const char *const shown[] = {"rip", "rsp", "rbp", "rax",    "rbx",     "rcx",    "rdx",
				    "rsi", "rdi", "r8",  "r9",     "r10",     "r11",    "r12",
				    "r13", "r14", "r15", "eflags", "fs_base", "gs_base"};

static const struct {
	unsigned bit;
	const char *name;
} flags[] = {{0, "CF"}, {2, "PF"}, {4, "AF"},  {6, "ZF"}, {7, "SF"},
	     {8, "TF"}, {9, "IF"}, {10, "DF"}, {11, "OF"}};

static unsigned register_index(const char *name)
{
	for (unsigned i = 0; i < BT_REG_COUNT; i++)
		if (!strcmp(bt_reg_info[i].name, name))
			return i;
	return 0;
}

/* A task in the newest snapshot before the one shown that has it. */
static const struct bt_record_thread *thread_before(const struct viewer *v, uint32_t task)
{
	const struct bt_record_thread *found = NULL;

	for (size_t i = 0; i < v->m->snapshot_count && &v->m->snapshots[i] != v->snap; i++)
		for (size_t k = 0; k < v->m->snapshots[i].thread_count; k++)
			if (v->m->snapshots[i].threads[k]->task == task)
				found = v->m->snapshots[i].threads[k];
	return found;
}

static void put_flags(struct row *row, uint64_t value)
{
	row_put(row, STYLE_NORMAL, " ");
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (value >> flags[i].bit & 1)
			row_put(row, STYLE_NORMAL, " %s", flags[i].name);
}

static void add_register(struct viewer *v, struct lines *l, const struct bt_record_thread *t,
			 const struct bt_record_thread *old, const char *name)
{
	unsigned i = register_index(name);
	uint64_t value = bt_regs_get(&t->regs, i);
	bool changed = old && bt_regs_get(&old->regs, i) != value;
	uint32_t space = v->snap->rec->space;
	const struct space_map *map = trace_index_map_at(v->m->index, space, t->epoch, value);
	bool code = map && map->prot & BT_PROT_EXEC;
	struct target target = {
		.has_place = true,
		.place = {.addr = code ? value : t->regs.rip,
			  .space = space,
			  .epoch = t->epoch,
			  .entry = NO_ENTRY},
	};
	struct row row;

	row_init(&row, v->screen.utf8);
	row_put(&row, STYLE_MARK, "%s", changed ? "* " : "  ");
	row_put(&row, STYLE_NORMAL, "%-8s", name);
	row_put(&row, changed ? STYLE_MARK : STYLE_ADDRESS, "0x%016" PRIx64, value);
	if (!strcmp(name, "eflags"))
		put_flags(&row, value);
	else
		label_pointer(v, &row, space, t->epoch, value);
	lines_add_wrapped(l, &row, screen_width(&v->screen), POINTER_COLUMN, &target);
}

/* Those of AVX or SSE, where the moment has them. */
static void add_vectors(struct viewer *v, struct lines *l, const struct bt_record_thread *t,
			const struct bt_record_thread *old, const struct target *target)
{
	struct extended_text now, before;
	size_t shown_count = 0;
	struct row row;

	for (unsigned i = 0; i < EXTENDED_VECTORS; i++) {
		bool changed;

		if (!extended_state_text(t->extended, i, &now))
			return;
		changed = old && extended_state_text(old->extended, i, &before) &&
			  strcmp(now.value, before.value) != 0;
		if (now.is_zero && !changed)
			continue;
		shown_count++;
		row_init(&row, v->screen.utf8);
		row_put(&row, STYLE_MARK, "%s", changed ? "* " : "  ");
		row_put(&row, STYLE_NORMAL, "%-8s", now.name);
		row_put(&row, changed ? STYLE_MARK : STYLE_ADDRESS, "%s", now.value);
		lines_add_wrapped(l, &row, screen_width(&v->screen), VALUE_COLUMN, target);
	}
	row_init(&row, v->screen.utf8);
	row_put(&row, STYLE_DIM, "  " EXTENDED_ZERO, shown_count ? "other " : "");
	if (shown_count < EXTENDED_VECTORS)
		lines_add(l, &row, target);
}

static void add_thread(struct viewer *v, struct lines *l, const struct bt_record_thread *t)
{
	const struct model_task *task = model_task(v->m, t->task);
	const struct bt_record_thread *old = thread_before(v, t->task);
	struct target target = {
		.has_place = true,
		.place = {.addr = t->regs.rip,
			  .space = v->snap->rec->space,
			  .epoch = t->epoch,
			  .entry = NO_ENTRY},
	};
	char call[IN_SYSCALL_MAX];
	struct row row;

	row_init(&row, v->screen.utf8);
	row_put(&row, STYLE_HEADING, "task %" PRIu32, t->task);
	if (task)
		row_put(&row, STYLE_HEADING, ", tid %" PRIu32, task->tid);
	if (t->in_syscall)
		row_put(&row, STYLE_SYSTEM, ", %s", in_syscall(&t->regs, call));
	if (old)
		row_put(&row, STYLE_MARK, "  (* changed since its snapshot before)");
	lines_add(l, &row, &target);
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
		add_register(v, l, t, old, shown[i]);
	add_vectors(v, l, t, old, &target);
}

static int register_view_load(struct viewer *v, struct view *view, struct bt_error *err)
{
	size_t whole = view->state ? lines_whole(view->state, view->cursor) : 0;
	struct lines *l = lines_view_begin(view, err);
	struct row row;

	if (!l)
		return -BT_E_NO_MEMORY;
	for (size_t i = 0; v->snap && i < v->snap->thread_count; i++)
		add_thread(v, l, v->snap->threads[i]);
	if (!l->count) {
		row_init(&row, v->screen.utf8);
		row_put(&row, STYLE_DIM, "the trace keeps no registers");
		lines_add(l, &row, NULL);
	}
	view->cursor = lines_first_piece(l, whole);
	return lines_view_end(l, err);
}

const struct view_ops register_view = {
	.id = VIEW_REGISTERS,
	.name = "registers",
	.load = register_view_load,
	.release = lines_view_release,
	.count = lines_view_count,
	.row = lines_view_row,
	.place = lines_view_place,
};
