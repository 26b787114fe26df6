/* SPDX-License-Identifier: MIT */
#include "tui/report_output.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/output.h"
#include "lib/pager.h"
#include "tui/terminal_text.h"
#include "tui/terminfo.h"

enum {
	USUAL_WIDTH = 80,
	WIDTH_MAX = 10000,
};

static unsigned terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	int n;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	n = columns ? atoi(columns) : 0;
	return n > 0 && n <= WIDTH_MAX ? (unsigned)n : USUAL_WIDTH;
}

static bool wants_colour(enum colour_when when, bool terminal, bool pager)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (when != COLOUR_AUTO)
		return when == COLOUR_ALWAYS;
	return terminal && !(no_color && *no_color) && term && *term && strcmp(term, "dumb") != 0 &&
	       (!pager || pager_shows_colours());
}

static int show_text(struct slice text, const struct terminal_text_options *o, bool pager,
		     struct bt_error *err)
{
	struct buf out = {0};
	int rc;

	terminal_text_make(&out, text, o);
	if (out.failed)
		rc = bt_no_memory(err, "the report");
	else if (pager)
		rc = pager_show(slice_of(out.data, out.len), err);
	else
		rc = bt_output(stdout, out.data, out.len, err);
	buf_release(&out);
	return rc;
}

int report_output(report_printer *print, const struct model *m, struct symbols *s,
		  const struct report_options *o, enum colour_when colour, bool pager,
		  struct bt_error *err)
{
	bool terminal = isatty(STDOUT_FILENO);
	bool paged =
		terminal && pager && terminfo_usable(); /* less asks on one that it does not know */
	struct terminal_text_options how = {
		.width = terminal ? terminal_width() : 0,
		.colour = wants_colour(colour, terminal, paged),
	};
	struct report_options fitted = *o;
	char *text = NULL;
	size_t len = 0;
	FILE *to;
	int rc, shown;

	if (!how.width && !how.colour)
		return print(stdout, m, s, o, err);
	fitted.marks = true;
	fitted.width = how.width;
	to = open_memstream(&text, &len);
	if (!to)
		return bt_no_memory(err, "the report");
	rc = print(to, m, s, &fitted, err);
	if (fclose(to) && rc >= 0)
		rc = bt_no_memory(err, "the report");
	if (rc >= 0 && len && (shown = show_text(slice_of(text, len), &how, paged, err)))
		rc = shown;
	free(text);
	return rc;
}
