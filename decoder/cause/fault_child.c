/* SPDX-License-Identifier: MIT */
/* A process that ends with failure right after a child of it did: scripts, make and test drivers
 * pass on what a program under them has failed at. The report of the parent's moment names the
 * child, and that of the child's moment tells what its parents did. It calls the child's failure
 * the cause where that is known (passed_on.h), and else tells only the order. */
#include <stdio.h>
#include <string.h>

#include "decoder/cause/fault_private.h"
#include "decoder/cause/focus.h"
#include "decoder/cause/passed_on.h"
#include "decoder/model/last_words.h"
#include "decoder/model/signals.h"

enum {
	DEPTH_MAX = 64,    /* of processes that pass a failure on; a trace may lie */
	COMMAND_MAX = 120, /* bytes of a command that are said */
};

/* The failed child of the process, of that again, and so on: where the failure began. */
static const struct model_failure *first_to_fail(const struct model *m, uint32_t task)
{
	const struct model_failure *found = NULL, *at = failure_of_process(m, task);
	enum passed_on how;

	for (size_t depth = 0; at && depth < DEPTH_MAX; depth++) {
		at = passed_on_child(m, at, &how);
		found = at ? at : found;
	}
	return found;
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
	const struct model_failure *failure = first_to_fail(c->m, c->snap->rec->task);
	const struct model_task *child;
	char name[SIGNAL_NAME_MAX];

	if (!failure)
		return;
	child = failure->task;
	fault_say(c, "; before that task %u", child->task);
	say_command(c, failure);
	if (failure->exit->kind == BT_EXIT_SIGNAL) {
		signal_name(failure->exit->status, name);
		fault_say(c, " was killed by %s", name);
		fault_brief(c, "%s was killed by %s", child->command, name);
	} else {
		fault_say(c, " exited with status %u", failure->exit->status);
		fault_brief(c, "%s exited with %u", child->command, failure->exit->status);
	}
	c->f->child_told = true;
	c->f->child = failure->snap;
	if (failure->snap)
		say_where(c, end_behind(c->m, failure->snap));
	say_last_line(c, child->last_words);
}

/* As it was called: "sh" where the file is dash. */
static void say_program(struct fault_context *c, const struct model_failure *f)
{
	struct slice name = slice_of(
		f->argv.at, f->argv.len ? strnlen((const char *)f->argv.at, f->argv.len) : 0);
	const uint8_t *slash;

	while (name.len && (slash = memchr(name.at, '/', name.len)))
		slice_take(&name, (size_t)(slash + 1 - name.at));
	if (name.len)
		fault_say(c, "%.*s", (int)(name.len < COMMAND_MAX ? name.len : COMMAND_MAX),
			  (const char *)name.at);
	else
		fault_say(c, "%.120s", f->task->command);
}

void fault_say_passed_on(struct fault_context *c)
{
	const struct model_failure *first = failure_of_process(c->m, c->snap->rec->task),
				   *f = first, *parent;
	enum passed_on how, least = PASSED_PROVEN;
	const char *before = NULL;
	char name[SIGNAL_NAME_MAX];

	if (!first || first->snap != c->snap) /* the process went on */
		return;
	/* once to see how sure it is, once to say it */
	for (size_t depth = 0; f && depth < DEPTH_MAX; depth++, f = parent) {
		parent = passed_on_parent(c->m, f, &how);
		if (parent && how < least)
			least = how;
	}
	f = first;
	for (size_t depth = 0; f && depth < DEPTH_MAX; depth++, f = parent) {
		parent = passed_on_parent(c->m, f, &how);
		if (!parent)
			break;
		if (!before)
			before = least == PASSED_PROVEN ? "; because of it " : "; after it ";
		fault_say(c, "%s", before);
		say_program(c, parent);
		fault_say(c, " (task %u)", parent->task->task);
		if (parent->exit->kind == BT_EXIT_SIGNAL)
			fault_say(c, " was killed by %s", signal_name(parent->exit->status, name));
		else
			fault_say(c, " exited with status %u", parent->exit->status);
		before = ", then ";
	}
}
