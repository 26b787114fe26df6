/* SPDX-License-Identifier: MIT */
/* The lines of the branch list: which entries of the history shown have one, by folding, by what
 * was opened of it, and by a filter. Used by branch_view.c, which draws them, and branch_moves.c,
 * which goes through them. */
#ifndef BT_BRANCH_LIST_H
#define BT_BRANCH_LIST_H

#include "decoder/cause/fold.h"
#include "tui/branch_filter.h"
#include "tui/entry_match.h"

struct branch_list {
	struct fold fold;
	bool folded;    /* loops are */
	uint8_t *sides; /* enum fold_side of each entry; NULL: no code of the user's ran */
	uint8_t *marks; /* enum fold_mark of each entry; NULL: none has one */
	bool opened;    /* some entries are FOLD_OPEN */
	bool filtered;  /* some entries are FOLD_LEFT_OUT */
	struct branch_filter filter;
	struct entry_match found; /* for the search of serial */
	unsigned serial;
	unsigned tick_width;
};

/* Makes the list of v->history. Errors: BT_E_NO_MEMORY. */
int branch_list_load(struct viewer *v, struct view *view, struct bt_error *err) BT_MUST_USE;
void branch_list_release(struct view *view);

/* The line; NULL: there is none. */
const struct fold_line *branch_list_line(const struct branch_list *b, size_t line);
/* The entry that stands on a line; CALLS_NONE: where the task stopped. */
uint32_t branch_list_entry(const struct viewer *v, const struct branch_list *b, size_t line);
/* One past the newest entry that a line stands for, with those that are folded into it. */
size_t branch_list_end(const struct viewer *v, const struct branch_list *b, size_t line);

/* Whether a filter leaves an entry out. */
bool branch_list_leaves_out(const struct branch_list *b, size_t entry);

/* Make the lines anew; the cursor and the marks stay with their entries. False: the user has
 * stopped it, which the message says, and nothing has changed; or, without memory, the viewer ends.
 */
bool branch_list_toggle(struct viewer *v, struct view *view, bool *what);
/* Gives each of the entries [first, end) a line of its own. */
bool branch_list_open(struct viewer *v, struct view *view, size_t first, size_t end);
/* Reads older entries, if they have not been read yet, and makes the lines anew. False: also where
 * the user has stopped it, which the message says, and the newest ones are shown still. */
bool branch_list_read_all(struct viewer *v, struct view *view);
/* Shows only what the filter wants; NULL: everything. False: also where nothing is left, or the
 * user has stopped it, and then nothing has changed. */
bool branch_list_filter(struct viewer *v, struct view *view, struct branch_filter *filter);

#endif
