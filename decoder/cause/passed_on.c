/* SPDX-License-Identifier: MIT */
#include "decoder/cause/passed_on.h"

#include <string.h>

#include "decoder/cause/own_code.h"
#include "decoder/model/last_words.h"
#include "lib/array_size.h"

enum {
	DEPTH_MAX = 64,  /* make calls make calls sh calls cc calls cc1 */
	SIGNALLED = 128, /* sh's status for a child that a signal killed, above its number */
};

/* Programs that end with a status of their own when a command under them fails. Of several commands
 * those that end later may do well. says: text that a line of its last words must hold; make(1)
 * writes "*** [" of the command that it fails for alone, in any language. */
static const struct {
	const char *command;
	uint32_t status;
	const char *says;
} rows[] = {
	{"make", 2, " *** ["}, {"gmake", 2, " *** ["}, {"ninja", 1, NULL},   {"ctest", 8, NULL},
	{"xargs", 123, NULL},  {"xargs", 124, NULL},   {"xargs", 125, NULL},
};

const struct model_failure *failure_of_process(const struct model *m, uint32_t task)
{
	const struct bt_record_exit *end = model_process_end(m, task);

	for (size_t i = 0; end && i < m->failure_count; i++)
		if (m->failures[i].exit == end)
			return &m->failures[i];
	return NULL;
}

static bool is_child(const struct model *m, const struct model_task *child,
		     const struct model_failure *parent)
{
	const struct model_task *maker;

	if (child->how == BT_TASK_THREAD || child->pid == parent->task->pid)
		return false;
	maker = model_task(m, child->parent);
	return maker && maker->pid == parent->task->pid;
}

/* The child that ended last before it did, failed or not. */
static const struct model_task *last_child(const struct model *m,
					   const struct model_failure *parent)
{
	const struct model_task *last = NULL;
	uint64_t seq = 0;

	for (size_t i = 0; i < m->task_count; i++) {
		const struct model_task *child = &m->tasks[i];

		if (!child->exit || child->exit->seq >= parent->exit->seq ||
		    (last && child->exit->seq <= seq) || !is_child(m, child, parent))
			continue;
		last = child;
		seq = child->exit->seq;
	}
	return last;
}

/* The failed child that ended last, whatever others did after it. */
static const struct model_failure *last_failed(const struct model *m,
					       const struct model_failure *parent)
{
	for (size_t i = m->failure_count; i-- > 0;)
		if (m->failures[i].exit->seq < parent->exit->seq &&
		    is_child(m, m->failures[i].task, parent))
			return &m->failures[i];
	return NULL;
}

static bool has_said(const struct model_failure *f, const char *words)
{
	char line[LAST_WORDS_LINE_MAX];
	struct kept_words w;

	if (!f->task->last_words)
		return false;
	last_words_begin(&w, f->task->last_words);
	while (last_words_next(&w, line))
		if (strstr(line, words))
			return true;
	return false;
}

static bool ends_for_a_child(const struct model_failure *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].command, f->task->command) && f->exit->kind == BT_EXIT_STATUS &&
		    f->exit->status == rows[i].status)
			return !rows[i].says || has_said(f, rows[i].says);
	return false;
}

static enum passed_on how_passed(const struct model_failure *child,
				 const struct model_failure *parent)
{
	if (parent->exit->kind != BT_EXIT_STATUS)
		return PASSED_ORDER;
	if (child->exit->kind == BT_EXIT_SIGNAL)
		return parent->exit->status == SIGNALLED + child->exit->status ? PASSED_PROVEN
									       : PASSED_ORDER;
	return parent->exit->status == child->exit->status ? PASSED_STATUS : PASSED_ORDER;
}

const struct model_failure *passed_on_child(const struct model *m,
					    const struct model_failure *parent, enum passed_on *how)
{
	const struct model_failure *child = NULL;
	const struct model_task *last;

	if (ends_for_a_child(parent))
		child = last_failed(m, parent);
	*how = child ? PASSED_PROVEN : PASSED_NOT;
	if (child)
		return child;
	last = last_child(m, parent);
	child = last ? failure_of_process(m, last->task) : NULL;
	if (child)
		*how = how_passed(child, parent);
	return child;
}

const struct model_failure *passed_on_parent(const struct model *m,
					     const struct model_failure *child, enum passed_on *how)
{
	const struct model_failure *parent = failure_of_process(m, child->task->parent);

	*how = PASSED_NOT;
	return parent && passed_on_child(m, parent, how) == child ? parent : NULL;
}

const struct model_failure *passed_on_origin(const struct model *m,
					     const struct model_failure *failure)
{
	const struct model_failure *found = NULL, *at = failure;
	bool sure = true, of_system = true;

	for (size_t depth = 0; depth < DEPTH_MAX; depth++) {
		enum passed_on how;

		of_system &= own_code_is_system_program(at->program);
		at = passed_on_child(m, at, &how);
		if (!at)
			break;
		sure &= how >= PASSED_STATUS;
		if (at->snap && (sure || (of_system && !own_code_is_system_program(at->program))))
			found = at;
	}
	return found;
}
