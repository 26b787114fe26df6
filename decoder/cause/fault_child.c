/* SPDX-License-Identifier: MIT */
/* A process that ends with failure right after a child of it did: scripts, make and test drivers
 * pass on what a program under them has failed at. Only the order is said, and only where no other
 * child ended in between: that the one is why the other failed is not known. */
#include <stdio.h>
#include <string.h>

#include "decoder/cause/fault_private.h"
#include "decoder/cause/focus.h"
#include "decoder/model/last_words.h"
#include "decoder/model/signals.h"

enum {
	DEPTH_MAX = 64,    /* make calls make calls sh calls cc calls cc1; a trace may lie */
	COMMAND_MAX = 120, /* bytes of a command that are said */
};

/* The failed child that ended last, of that again, and so on: where the failure began. */
static const struct model_task *first_to_fail(const struct model *m, const struct model_task *task,
					      uint64_t seq)
{
	const struct model_task *found = NULL;

	for (size_t depth = 0; task && depth < DEPTH_MAX; depth++) {
		task = model_last_child(m, task, seq);
		if (!task || !model_is_failure(task->exit))
			break;
		seq = task->exit->seq;
		found = task;
	}
	return found;
}

static const struct model_failure *failure_of(const struct model *m, const struct model_task *task)
{
	for (size_t i = 0; i < m->failure_count; i++)
		if (m->failures[i].task == task)
			return &m->failures[i];
	return NULL;
}

static void say_command(struct fault_context *c, const struct model_failure *failure)
{
	char text[COMMAND_MAX + 4];
	size_t n = failure->argv.len;

	if (!n)
		return;
	n -= !failure->argv.at[n - 1]; /* the last argument's end */
	memcpy(text, failure->argv.at, n < COMMAND_MAX ? n : COMMAND_MAX);
	for (size_t i = 0; i < n && i < COMMAND_MAX; i++)
		if (!text[i])
			text[i] = ' ';
	snprintf(text + (n < COMMAND_MAX ? n : COMMAND_MAX), 4, "%s", n > COMMAND_MAX ? "..." : "");
	fault_say(c, " (%s)", text);
}

static void say_last_line(struct fault_context *c, const struct bt_record_last_words *words)
{
	char line[LAST_WORDS_LINE_MAX], last[LAST_WORDS_LINE_MAX] = "";
	struct kept_words w;

	last_words_begin(&w, words);
	while (last_words_next(&w, line))
		if (*line)
			memcpy(last, line, sizeof last);
	if (*last)
		fault_say(c, ": %s", last);
}

/* Of a process whose first message is shown: the end. */
static const struct model_snapshot *end_behind(const struct model *m,
					       const struct model_snapshot *snap)
{
	const struct model_snapshot *end = snap + 1;

	if (snap->rec->kind != BT_SNAPSHOT_MESSAGE || end == m->snapshots + m->snapshot_count ||
	    end->rec->task != snap->rec->task || end->rec->kind != BT_SNAPSHOT_FAILURE)
		return snap;
	return end;
}

/* Where the child's own code ended it, as far as lines are known. */
static void say_where(struct fault_context *c, const struct model_snapshot *snap)
{
	struct fault f = {0};
	struct fault_context child = {.f = &f, .m = c->m, .s = c->s, .snap = snap};
	struct location loc;
	uint64_t addr;
	bool is_return;

	child.thread = focus_thread(snap, snap->rec->task);
	fault_explain_plainly(&child);
	if (!f.has_caller && !f.where_is_return) /* nothing of its own is known */
		return;
	addr = f.has_caller ? f.caller : f.where;
	is_return = f.has_caller ? f.caller_is_return : true;
	symbols_lookup(c->s, f.space, f.epoch, addr, is_return, &loc);
	if (!*loc.file)
		return;
	*f.text = 0;
	fault_say_place(&child, ", at ", addr, is_return);
	fault_say(c, "%s", f.text);
}

void fault_say_failed_child(struct fault_context *c)
{
	const struct model_task *task = model_task(c->m, c->snap->rec->task), *child;
	const struct model_failure *failure;
	char name[SIGNAL_NAME_MAX];

	if (!task || !task->exit)
		return;
	child = first_to_fail(c->m, task, task->exit->seq);
	failure = child ? failure_of(c->m, child) : NULL;
	if (!failure)
		return;
	fault_say(c, "; before that task %u", child->task);
	say_command(c, failure);
	if (child->exit->kind == BT_EXIT_SIGNAL)
		fault_say(c, " was killed by %s", signal_name(child->exit->status, name));
	else
		fault_say(c, " exited with status %u", child->exit->status);
	if (child->exit->kind == BT_EXIT_SIGNAL)
		fault_brief(c, "%s was killed by %s", child->command, name);
	else
		fault_brief(c, "%s exited with %u", child->command, child->exit->status);
	c->f->child_told = true;
	c->f->child = failure->snap;
	if (failure->snap)
		say_where(c, end_behind(c->m, failure->snap));
	say_last_line(c, child->last_words);
}
