/* SPDX-License-Identifier: MIT */
/* Chooses which views show, and where. Sets y, x, height and width of the viewer's views. Used by
 * tui.c and viewer.c. */
#ifndef BT_LAYOUT_H
#define BT_LAYOUT_H

#include "tui/viewer.h"

enum {
	SPLIT_ROWS = 16,    /* a terminal lower than this shows one pane at a time */
	CODE_ROWS_MIN = 6,  /* of the code panes, with their title */
	SPLIT_COLUMNS = 90, /* one narrower shows source or disassembly, not both side by side */
};

/* The main view: the last one opened. */
struct view *layout_main(struct viewer *v);

/* Places the views on the screen, loads those that show, and gives the focus to one of them. */
void layout(struct viewer *v);

/* The panes that Tab goes through, in order, in panes[3]. Returns their number; some may show only
 * with the focus. */
size_t layout_panes(struct viewer *v, enum view_id panes[3]);

/* How many lines a main view has room for, with code beside it if there can be some. */
size_t layout_room(const struct viewer *v, const struct view *main);

/* Whether there is room for code beside the main view. */
bool layout_can_split(const struct viewer *v);

#endif
