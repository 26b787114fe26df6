/* SPDX-License-Identifier: MIT */
/* The source file of the place at the main view's cursor, its line marked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tui/label.h"
#include "tui/source_file.h"

struct source {
	struct source_file file;
	const char *name;	/* as debug information has it; owned by symbols, "" without a place */
	size_t line;		/* from 1, 0: none */
};

static int load(struct viewer *v, struct view *view, struct bt_error *err)
{
	(void)v;
	if (!view->state)
		view->state = calloc(1, sizeof(struct source));
	return view->state ? 0 : bt_fail(err, BT_E_NO_MEMORY, 0, "out of memory");
}

static void release(struct view *view)
{
	struct source *s = view->state;

	if (s)
		source_file_release(&s->file);
	free(s);
	view->state = NULL;
}

void source_view_show(struct viewer *v, const struct place *p)
{
	struct view *view = &v->views[VIEW_SOURCE];
	struct source *s = view->state;
	struct location loc = {.file = ""};

	if (p)
		symbols_lookup(v->s, p->space, p->epoch, p->addr, p->is_return, &loc);
	s->name = loc.file;
	s->line = loc.line > 0 ? (size_t)loc.line : 0;
	if (!s->file.path || strcmp(s->file.path, loc.file)) {
		source_file_release(&s->file);
		if (!source_file_read(&s->file, loc.file))
			viewer_message(v, "out of memory");
		view->left = 0;
	}
	if (s->line && s->line <= s->file.lines)
		view_centre(view, s->line - 1);
	else
		view->cursor = view->top = 0;
}

static size_t count(const struct view *view)
{
	const struct source *s = view->state;

	return s && s->file.lines ? s->file.lines : 1;
}

static void put_nothing(const struct source *s, struct row *out)
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

static void row(struct viewer *v, const struct view *view, size_t line, struct row *out)
{
	const struct source *s = view->state;
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
	row_put(out, STYLE_MARK, "%s", here ? "> " : "  ");
	row_source(out, here ? STYLE_MARK : STYLE_NORMAL, text, len);
}

static void title(struct viewer *v, const struct view *view, struct row *out)
{
	const struct source *s = view->state;

	(void)v;
	if (!s->name || !*s->name)
		return;
	row_put(out, STYLE_NORMAL, " ");
	row_outside(out, STYLE_NORMAL, label_basename(s->name), 32);
}

const struct view_ops source_view = {
	.id = VIEW_SOURCE,
	.name = "source",
	.load = load,
	.release = release,
	.count = count,
	.row = row,
	.title = title,
};
