/* SPDX-License-Identifier: MIT */
#include "decoder/cause/focus.h"

#include <string.h>

#include "decoder/cause/passed_on.h"
#include "lib/name_pattern.h"

enum {
	SUMMARY_ENTRIES = 1 << 20, /* of a long history: as many as a recording keeps of a task */
};

static const struct model_task *task_asked(const struct model *m, uint32_t number)
{
	const struct model_task *found = model_task(m, number);

	/* a thread id may have been used twice: the newest task */
	for (size_t i = m->task_count; !found && i-- > 0;)
		if (m->tasks[i].tid == number)
			found = &m->tasks[i];
	return found;
}

const struct bt_record_thread *focus_thread(const struct model_snapshot *snap, uint32_t task)
{
	for (size_t i = 0; snap && i < snap->thread_count; i++)
		if (snap->threads[i]->task == task)
			return snap->threads[i];
	return NULL;
}

/* The newest snapshot that holds the task: its own first. */
static const struct model_snapshot *snapshot_of(const struct model *m, uint32_t task)
{
	const struct model_snapshot *held = NULL;

	for (size_t i = m->snapshot_count; i-- > 0;) {
		const struct model_snapshot *s = &m->snapshots[i];

		if (s->rec->task == task)
			return s;
		if (!held && focus_thread(s, task))
			held = s;
	}
	return held;
}

static const struct model_snapshot *snapshot_asked(const struct model *m, uint32_t number)
{
	for (size_t i = 0; i < m->snapshot_count; i++)
		if (m->snapshots[i].rec->snapshot == number)
			return &m->snapshots[i];
	return NULL;
}

static const struct model_task *initial_task(const struct model *m)
{
	for (size_t i = 0; i < m->task_count; i++)
		if (m->tasks[i].how == BT_TASK_INITIAL)
			return &m->tasks[i];
	return m->task_count ? &m->tasks[0] : NULL;
}

/* Of what is missing at the end, a later moment may have counted more. */
static size_t end_at(struct history *h, uint64_t position)
{
	size_t end = history_index(h, position);
	struct history_entry *last = end ? &h->entries[end - 1] : NULL;

	if (last && last->kind == BT_BRANCH_GAP && last->number == h->next)
		last->from = position - h->next;
	return end;
}

bool focus_is_outside(const struct focus *f)
{
	return f->snap && f->task && !f->thread && f->snap->rec->task != f->task->task;
}

/* The moment in the task's history; UINT64_MAX: its end. */
static uint64_t focus_position(const struct focus *f)
{
	if (f->thread)
		return f->thread->position;
	return f->snap && f->task && f->snap->rec->task == f->task->task ? f->snap->rec->position
									 : UINT64_MAX;
}

static size_t focus_end(struct focus *f)
{
	uint64_t position = focus_position(f);

	return position == UINT64_MAX ? f->history.count : end_at(&f->history, position);
}

const struct model_snapshot *focus_explaining(const struct model *m)
{
	const struct model_snapshot *final = model_final_snapshot(m);
	const struct model_failure *failure;

	if (!final ||
	    (final->rec->kind != BT_SNAPSHOT_EXIT && final->rec->kind != BT_SNAPSHOT_MESSAGE))
		return final;
	failure = failure_of_process(m, final->rec->task);
	if (failure)
		failure = passed_on_origin(m, failure);
	return failure ? failure->snap : final;
}

int focus_choose(struct focus *f, const struct model *m, const struct report_options *o)
{
	*f = (struct focus){.snap = o->snapshot ? snapshot_asked(m, o->snapshot)
						: focus_explaining(m),
			    .asked = o->has_thread};
	if (o->snapshot && !f->snap)
		return 1;
	if (o->has_thread) {
		f->task = task_asked(m, o->thread);
		if (!f->task)
			return 1;
		if (!o->snapshot && !focus_thread(f->snap, f->task->task))
			f->snap = snapshot_of(m, f->task->task);
	} else {
		f->task = f->snap ? model_task(m, f->snap->rec->task) : initial_task(m);
	}
	if (f->task)
		f->thread = focus_thread(f->snap, f->task->task);
	return 0;
}

/* A summary has no verdict on the history, and what happened is explained by what came shortly
 * before it. Stacks are compared with all calls all the same (report_stacks.c). */
static int load_for_summary(struct focus *f, const struct model *m, struct bt_error *err)
{
	int rc = history_load_newest(&f->history, m, f->task->task, SUMMARY_ENTRIES,
				     2 * SUMMARY_ENTRIES, err);

	if (rc || !f->history.is_part ||
	    history_index(&f->history, focus_position(f)) >= f->history.count / 2)
		return rc;
	history_release(&f->history);
	return history_load(&f->history, m, f->task->task, err);
}

int focus_open(struct focus *f, const struct model *m, const struct report_options *o,
	       struct bt_error *err)
{
	int rc = focus_choose(f, m, o);

	if (!rc && f->task)
		rc = o->summary ? load_for_summary(f, m, err)
				: history_load(&f->history, m, f->task->task, err);
	f->end = focus_end(f);
	return rc;
}

void focus_close(struct focus *f)
{
	history_release(&f->history);
	*f = (struct focus){0};
}

bool focus_exit(const struct model *m, enum bt_exit_kind *kind, uint32_t *status, bool *core)
{
	const struct model_task *task = initial_task(m);
	const struct bt_record_exit *last = NULL;

	/* threads end before it does */
	for (size_t i = 0; task && i < m->task_count; i++)
		if (m->tasks[i].pid == task->pid && m->tasks[i].exit && m->tasks[i].exit->last)
			last = m->tasks[i].exit;
	*core = last && last->core;
	if (m->end) {
		*kind = m->end->kind;
		*status = m->end->status;
	} else if (last) {
		*kind = last->kind;
		*status = last->status;
	} else {
		return false;
	}
	return *kind != BT_EXIT_UNKNOWN;
}

const char *focus_without_moment(const struct model *m)
{
	enum bt_exit_kind kind;
	uint32_t status;
	bool core, ended = focus_exit(m, &kind, &status, &core);

	if (ended && kind == BT_EXIT_STATUS && !status)
		return "no moment of its end was kept: the program ended with 0 (btrec run "
		       "--snap-exit always keeps it)";
	if (ended)
		return "no moment of its end was kept";
	return m->trace->being_written ? "no moment has been kept yet"
				       : "no moment was kept before the recording ended";
}

const struct bt_record_last_words *focus_last_words(const struct focus *f)
{
	if (f->snap && !focus_is_outside(f))
		return f->snap->last_words;
	return f->task ? f->task->last_words : NULL;
}

static bool is_named(const char *function, const char *file, int line, const char *wanted)
{
	return name_pattern_matches(wanted, function) ||
	       source_position_matches(wanted, file, line);
}

const char *focus_function_at(struct symbols *s, uint32_t space, uint32_t epoch, uint64_t addr,
			      const char *wanted)
{
	struct location loc;
	const char *file;
	int line;

	symbols_lookup(s, space, epoch, addr, false, &loc);
	file = loc.file;
	line = loc.line;
	for (size_t i = 0; i < loc.inlined_count; i++) {
		if (is_named(loc.inlined[i].function, file, line, wanted))
			return loc.inlined[i].function;
		file = loc.inlined[i].file;
		line = loc.inlined[i].line;
	}
	return is_named(loc.function, file, line, wanted) ? loc.function : NULL;
}

bool focus_shows(const struct history *h, const struct history_entry *e, struct symbols *s,
		 const char *function)
{
	uint32_t space, epoch;

	if (!function)
		return true;
	history_target(h, e, &space, &epoch);
	return e->kind != BT_BRANCH_GAP &&
	       (focus_function_at(s, e->space, e->epoch, e->from, function) ||
		focus_function_at(s, space, epoch, e->to, function));
}

bool focus_is_crash(const struct model_snapshot *snap)
{
	return snap && snap->rec->kind == BT_SNAPSHOT_FATAL && snap->signal &&
	       snap->signal->action == BT_ACTION_CORE;
}
