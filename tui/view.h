/* SPDX-License-Identifier: MIT */
/* A view: lines, a cursor among them, and a table of operations. It knows neither terminal nor
 * trace. Pure. Used by every view and by the viewer. */
#ifndef BT_VIEW_H
#define BT_VIEW_H

#include "lib/error.h"
#include "tui/keymap.h"
#include "tui/row.h"

struct viewer;
struct view;
struct busy;

#define NO_ENTRY SIZE_MAX

/* A code address that the source and disassembly views can show. */
struct view_place {
	uint64_t addr;
	uint32_t space, epoch;
	bool is_return; /* addr is a return address: the line is the call's */
	unsigned part;  /* index among the inlined functions there, innermost first; the last is the
			   function that holds them */
	size_t entry;  /* of the history shown: code that ran before it is marked; NO_ENTRY: none */
	uint64_t stop; /* if entry is one past the last: address at which the task stopped */
};

struct view_ops {
	enum view_id id;
	const char *name;
	/* Fills the view; called before it shows if the viewer's snapshot or history has
	 * changed. */
	int (*load)(struct viewer *v, struct view *view, struct bt_error *err);
	void (*release)(struct view *view);
	size_t (*count)(const struct view *view);
	void (*row)(struct viewer *v, const struct view *view, size_t line, struct row *out);
	/* The title's text behind the name; NULL: none. */
	void (*title)(struct viewer *v, const struct view *view, struct row *out);
	/* The code that a line is about; false: none. NULL: no line has code, and no room is given
	 * to code panes. */
	bool (*place)(struct viewer *v, const struct view *view, size_t line,
		      struct view_place *out);
	/* Serves requests of this view alone, Enter among them; false: another request. NULL:
	 * none. */
	bool (*request)(struct viewer *v, struct view *view, enum request r);
	/* Moves the cursor to the next match of v->search, once around. False: there is none, or
	 * the user has stopped it. NULL: the lines are looked through as they are drawn. */
	bool (*find)(struct viewer *v, struct view *view, bool backward, struct busy *busy);
};

enum {
	MARKS = 26,
};

struct view {
	const struct view_ops *ops;
	void *state; /* the view's own */
	size_t cursor, top;
	unsigned left;           /* first column shown */
	int y, x, height, width; /* of its lines on the screen; height 0: not shown */
	size_t wanted;           /* lines that it wants to show at once; 0: as it comes */
	bool titled;             /* its title stands below them */
	size_t marks[MARKS];     /* line + 1; 0: not set */
	size_t before_jump;      /* line + 1 */
	bool stale;              /* to be loaded before it shows */
	bool centre;             /* the cursor's line goes to the middle once the view shows */
};

static inline size_t view_count(const struct view *view) { return view->ops->count(view); }

/* Moves the cursor, within the lines there are. */
void view_move(struct view *view, long lines);
/* Moves the cursor by a screen's height, keeping its place on the screen. */
void view_scroll(struct view *view, long lines);
/* Puts the cursor on a line and remembers where it was ('' comes back). */
void view_jump(struct view *view, size_t line);
/* Makes top fit the cursor and the height. */
void view_fit(struct view *view);
/* Forgets the marks and the target of '': the lines have changed. */
void view_forget_marks(struct view *view);
/* Puts the cursor on a line with context around it. */
void view_centre(struct view *view, size_t line);

#endif
