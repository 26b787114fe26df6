/* SPDX-License-Identifier: MIT */
#include "decoder/cause/failures.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "decoder/model/signals.h"
#include "decoder/symbols/text.h"

enum {
	CRASHES_SHOWN = 8, /* the others show what came of them */
	COMMAND_LEN = 60,
};

bool failures_are_told(const struct model *m, const struct model_snapshot *snap)
{
	const struct model_failure *only = m->failures;

	if (m->failure_count != 1)
		return m->failure_count > 1;
	/* The heading tells all about the one failure if it is the moment's or, without a moment,
	 * the initial process's. */
	return only->snap != snap || (!snap && only->task->how != BT_TASK_INITIAL);
}

static bool is_crash(const struct model_failure *f)
{
	return f->exit->kind == BT_EXIT_SIGNAL &&
	       (f->exit->core ||
		(f->snap && f->snap->signal && f->snap->signal->action == BT_ACTION_CORE));
}

/* Puts an index among the chosen, in order, once. Returns how many they are. */
static size_t choose_failures(size_t chosen[FAILURES_SHOWN], size_t count, size_t index)
{
	size_t at = count;

	while (at && chosen[at - 1] > index)
		at--;
	if (at && chosen[at - 1] == index)
		return count;
	memmove(chosen + at + 1, chosen + at, (count - at) * sizeof *chosen);
	chosen[at] = index;
	return count + 1;
}

size_t failures_choose(const struct model *m, size_t chosen[FAILURES_SHOWN])
{
	size_t count = 0;

	for (size_t i = 0; i < m->failure_count && count < CRASHES_SHOWN; i++)
		if (is_crash(&m->failures[i]))
			count = choose_failures(chosen, count, i);
	for (size_t i = m->failure_count; i-- > 0 && count < FAILURES_SHOWN;)
		count = choose_failures(chosen, count, i);
	return count;
}

const char *failure_end(const struct model_failure *f, char out[FAILURE_TEXT_MAX])
{
	char name[SIGNAL_NAME_MAX];

	if (f->exit->kind == BT_EXIT_SIGNAL)
		snprintf(out, FAILURE_TEXT_MAX, "killed by %s", signal_name(f->exit->status, name));
	else
		snprintf(out, FAILURE_TEXT_MAX, "exited with status %" PRIu32, f->exit->status);
	return out;
}

/* Appends len bytes up to a limit. Returns false where that is reached. */
static bool append_text(char *out, size_t *n, const char *text, size_t len)
{
	size_t room = COMMAND_LEN - *n, taken = len < room ? len : room;

	memcpy(out + *n, text, taken);
	*n += taken;
	out[*n] = '\0';
	return taken == len;
}

/* Where a text was cut: not in the midst of a character. */
static void mark_cut(char *out, size_t n)
{
	while (n && ((uint8_t)out[n - 1] & 0xc0) == 0x80)
		n--;
	n -= n && (uint8_t)out[n - 1] >= 0xc0;
	memcpy(out + n, "...", sizeof "...");
}

const char *failure_command(const struct model_failure *f, char out[FAILURE_TEXT_MAX])
{
	int begin = snprintf(out, FAILURE_TEXT_MAX, "task %" PRIu32 ": ", f->task->task);
	struct slice argv = f->argv;
	size_t n = 0;

	out += begin;
	while (argv.len) {
		const char *arg = (const char *)argv.at;
		size_t len = strnlen(arg, argv.len), from = n ? 0 : len;
		bool quoted;

		slice_take(&argv, len < argv.len ? len + 1 : len);
		while (from && arg[from - 1] != '/') /* of a path of the program its name */
			from--;
		arg += from;
		len -= from;
		quoted = !len || memchr(arg, ' ', len);
		if ((n && !append_text(out, &n, " ", 1)) ||
		    (quoted && !append_text(out, &n, "'", 1)) || !append_text(out, &n, arg, len) ||
		    (quoted && !append_text(out, &n, "'", 1))) {
			mark_cut(out, n);
			break;
		}
	}
	if (!n)
		snprintf(out, FAILURE_TEXT_MAX - (size_t)begin, "%.60s", f->task->command);
	return out - begin;
}

const char *failures_rest(const struct model *m, size_t shown, char out[FAILURE_TEXT_MAX])
{
	*out = '\0';
	if (m->failure_count > shown)
		snprintf(out, FAILURE_TEXT_MAX, "and %zu more, which --json lists",
			 m->failure_count - shown);
	return out;
}

const char *failures_heading(const struct model *m, char out[FAILURE_TEXT_MAX])
{
	size_t processes = 0;

	for (size_t i = 0; i < m->task_count; i++)
		processes += m->tasks[i].how != BT_TASK_THREAD;
	snprintf(out, FAILURE_TEXT_MAX,
		 "Failures: %zu of %zu processes, in the order of their ends", m->failure_count,
		 processes);
	return out;
}
