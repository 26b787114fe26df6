/* SPDX-License-Identifier: MIT */
/* The terminal, through curses: rows in, keys out. The only file beside keymap.c that knows curses.
 * One screen at a time; curses keeps its own state. Used by tui.c and viewer.c. The terminal is as
 * before after screen_close(). */
#ifndef BT_SCREEN_H
#define BT_SCREEN_H

#include <regex.h>

#include "lib/error.h"
#include "tui/row.h"

struct screen {
	void *terminal; /* curses' SCREEN */
	bool colour;    /* the terminal has colours and NO_COLOR is not set */
	bool utf8;
	int rows, columns;
	bool resized; /* since the caller last set it to false */
};

/* How a whole line stands out. */
enum emphasis {
	EMPHASIS_NONE,
	EMPHASIS_CURSOR,      /* the line of the cursor in the pane that has the keys */
	EMPHASIS_CURSOR_AWAY, /* ... in another pane */
	EMPHASIS_TITLE,
	EMPHASIS_TITLE_AWAY,
};

/* Takes the terminal over. Errors: BT_E_UNSUPPORTED (no terminal, or of a type that curses does not
 * know). */
int screen_open(struct screen *s, struct bt_error *err) BT_MUST_USE;
/* Gives it back as it was. */
void screen_close(struct screen *s);
/* Gives the terminal back before the program ends in the midst of its work, if a screen is open. */
void screen_leave(void);

static inline unsigned screen_width(const struct screen *s)
{
	return s->columns > 0 ? (unsigned)s->columns : 0;
}

void screen_clear(struct screen *s);
/* Draws a row from its column `left` on into a field; matches of the expression (unless NULL) stand
 * out. */
void screen_row(struct screen *s, int y, int x, int width, const struct row *row, unsigned left,
		enum emphasis emphasis, const regex_t *match);
void screen_separator(struct screen *s, int y, int x, int height);
/* Places the terminal's cursor; screen readers follow it. */
void screen_cursor(struct screen *s, int y, int x);
void screen_flush(struct screen *s);
/* Everything is drawn anew by the next flush. */
void screen_redraw(struct screen *s);

enum {
	SCREEN_RESIZED = -1, /* rows and columns have changed */
	SCREEN_ENDED = -2,   /* the terminal is gone */
	SCREEN_OTHER = -3,   /* a key that no list knows */
};

/* Waits for a key: its curses code, or one of the above. */
int screen_key(struct screen *s);
/* Whether ^C was typed, or Escape or ^G waits to be read; takes it. Other keys stay. */
bool screen_stopped(struct screen *s);

/* Asks for a line of text on the last row. Returns false when cancelled. */
bool screen_prompt(struct screen *s, const char *prompt, char *text, size_t cap);

/* Stops the process as ^Z does, with the terminal as the shell wants it, and takes it back
 * afterwards. */
void screen_suspend(struct screen *s);

#endif
