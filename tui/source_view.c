/* SPDX-License-Identifier: MIT */
/* The source file of the place at the main view's cursor, its line marked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tui/label.h"
#include "tui/source_file.h"

enum {
	RAN_MAX = 64,
};

struct source_text {
	struct source_file file;
	const char *name;    /* as debug information has it; owned by symbols, "" without a place */
	size_t line;         /* from 1, 0: none */
	size_t ran[RAN_MAX]; /* lines of this file with code that ran since the branch before */
	size_t ran_count;
};

static int source_view_load(struct viewer *v, struct view *view, struct bt_error *err)
{
	(void)v;
	if (!view->state)
		view->state = calloc(1, sizeof(struct source_text));
	return view->state ? 0 : bt_no_memory(err, NULL);
}

static void source_view_release(struct view *view)
{
	struct source_text *s = view->state;

	if (s)
		source_file_release(&s->file);
	free(s);
	view->state = NULL;
}

/* The file, or its text as the trace keeps it. */
static bool read_source(struct viewer *v, struct source_file *f, const char *path)
{
	size_t len;
	char *text = symbols_source_text(v->s, path, &len);

	return text ? source_file_take(f, path, text, len) : source_file_read(f, path);
}

static void add_ran(struct source_text *s, size_t line)
{
	for (size_t i = 0; i < s->ran_count; i++)
		if (s->ran[i] == line)
			return;
	if (s->ran_count < RAN_MAX)
		s->ran[s->ran_count++] = line;
}

static void find_ran(struct viewer *v, struct source_text *s, const struct view_place *p)
{
	struct history_insn *insns = NULL;
	long n = p && p->entry != NO_ENTRY
			 ? history_straight(&v->history, v->m, p->entry, p->stop, &insns)
			 : 0;

	s->ran_count = 0;
	/* The newest first: of a long stretch only they show. */
	while (n-- > 0 && s->ran_count < RAN_MAX) {
		struct location loc;

		symbols_lookup(v->s, p->space, p->epoch, insns[n].addr, false, &loc);
		if (loc.line > 0 && !strcmp(loc.file, s->name))
			add_ran(s, (size_t)loc.line);
	}
	free(insns);
}

static bool has_line_run(const struct source_text *s, size_t line)
{
	for (size_t i = 0; i < s->ran_count; i++)
		if (s->ran[i] == line)
			return true;
	return false;
}

void source_view_show(struct viewer *v, const struct view_place *p)
{
	struct view *view = &v->views[VIEW_SOURCE];
	struct source_text *s = view->state;
	struct inlined_frame loc = {.file = ""};

	if (p)
		loc = label_source(v, p);
	s->name = loc.file;
	s->line = loc.line > 0 ? (size_t)loc.line : 0;
	find_ran(v, s, p);
	if (!s->file.path || strcmp(s->file.path, loc.file)) {
		source_file_release(&s->file);
		if (!read_source(v, &s->file, loc.file))
			viewer_message(v, "out of memory");
		view->left = 0;
	}
	if (s->line && s->line <= s->file.lines)
		view_centre(view, s->line - 1);
	else
		view->cursor = view->top = 0;
}

bool source_view_has_text(const struct viewer *v)
{
	const struct source_text *s = v->views[VIEW_SOURCE].state;

	return s && s->file.lines;
}

static size_t source_view_count(const struct view *view)
{
	const struct source_text *s = view->state;

	return s && s->file.lines ? s->file.lines : 1;
}

static void put_nothing(const struct source_text *s, struct row *out)
{
	if (!s->name || !*s->name) {
		row_put(out, STYLE_DIM, "no source line is known here");
	} else if (s->file.readable) {
		row_put(out, STYLE_DIM, "the source file is empty");
	} else {
		row_put(out, STYLE_DIM, "cannot read ");
		row_outside(out, STYLE_DIM, s->name, 0);
	}
}

static void source_view_row(struct viewer *v, const struct view *view, size_t line, struct row *out)
{
	const struct source_text *s = view->state;
	bool here = line + 1 == s->line;
	const char *text;
	size_t len;

	(void)v;
	if (line >= s->file.lines) {
		put_nothing(s, out);
		return;
	}
	text = source_file_line(&s->file, line, &len);
	row_put(out, STYLE_DIM, "%5zu ", line + 1);
	row_put(out, STYLE_MARK, "%s", here ? "> " : has_line_run(s, line + 1) ? "| " : "  ");
	row_source(out, here ? STYLE_MARK : STYLE_NORMAL, text, len);
}

static void source_view_title(struct viewer *v, const struct view *view, struct row *out)
{
	const struct source_text *s = view->state;

	if (!s->name || !*s->name)
		return;
	row_put(out, STYLE_NORMAL, " ");
	row_outside(out, STYLE_NORMAL, label_basename(s->name), 32);
	if (symbols_source_is_newer(v->s, s->name))
		row_put(out, STYLE_NORMAL, ", edited since?");
}

const struct view_ops source_view = {
	.id = VIEW_SOURCE,
	.name = "source",
	.load = source_view_load,
	.release = source_view_release,
	.count = source_view_count,
	.row = source_view_row,
	.title = source_view_title,
};
