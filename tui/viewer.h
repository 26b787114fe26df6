/* SPDX-License-Identifier: MIT */
/* The viewer's state, and the functions for its views. Private to tui/. A view keeps what it shows
 * in its own state, and loads it again when the snapshot or the history of the viewer has changed.
 * One thread. */
#ifndef BT_VIEWER_H
#define BT_VIEWER_H

#include "decoder/cause/focus.h"
#include "decoder/model/calls_made.h"
#include "tui/calls.h"
#include "tui/lines.h"
#include "tui/screen.h"
#include "tui/search.h"
#include "tui/view.h"

struct viewer {
	struct model *m;
	struct symbols *s;
	struct screen screen;

	/* The shown snapshot (NULL: the trace has none), task, its history, and the task's place in
	 * it at the snapshot. */
	const struct model_snapshot *snap;
	uint32_t task;
	struct history history;
	struct calls calls;
	struct calls_made made; /* the system calls among its entries */
	bool reads_all;         /* no history is read in part */
	bool stopped;           /* the snapshot has the task: stop and stop_index count */
	size_t stop_index;      /* entries before it */
	uint64_t stop_rip;

	struct view views[VIEW_COUNT];
	enum view_id
		open[VIEW_COUNT]; /* the last one shows; those below come back when it closes */
	size_t open_count;
	enum view_id focus;
	enum view_id code_pane; /* source or disassembly: the one that shows if there is room for
				   one only */
	bool code_shown;
	bool libraries_shown;      /* the branch list does not fold what ran in libraries */
	bool library_frames_shown; /* stacks do not fold frames of libraries */
	bool target_shown;       /* for the branch list, the code panes show the branch's target */
	struct view_place place; /* shown in the code panes */
	bool has_place;
	bool code_stale; /* the code panes are to be placed anew */

	struct search search;
	char message[200]; /* own text, one screen line */
	bool quit;
	struct bt_error failure; /* the error that made it quit; code 0: none */
};

extern const struct view_ops summary_view, branch_view, source_view, disassembly_view,
	register_view, thread_view, syscall_view, tree_view, process_view, help_view;

/* Begins with a snapshot and a task; v is zeroed but for the screen. Errors: BT_E_NO_MEMORY. */
int viewer_init(struct viewer *v, struct model *m, struct symbols *s, const struct focus *begin,
		struct bt_error *err) BT_MUST_USE;
/* Call it after viewer_init, even if that failed; a zeroed viewer may be released too. */
void viewer_release(struct viewer *v);

/* Shows another snapshot or another task's history. Errors: BT_E_NO_MEMORY; the view is undefined
 * then. */
int viewer_show(struct viewer *v, const struct model_snapshot *snap, uint32_t task,
		struct bt_error *err) BT_MUST_USE;

#define STOPPED_READING "stopped: older branches are read when the cursor comes to them"

/* Reads the older entries of a history that is there in part. The branch list must be loaded anew.
 * Returns 1 when the user has stopped it: nothing has changed. Errors: BT_E_NO_MEMORY. */
int viewer_read_all(struct viewer *v, struct bt_error *err) BT_MUST_USE;
/* The other way round. */
int viewer_read_newest(struct viewer *v, struct bt_error *err) BT_MUST_USE;

/* Loads a stale view. */
void viewer_ready(struct viewer *v, enum view_id id);
void viewer_open(struct viewer *v, enum view_id id);
/* Goes to a line's target. */
void viewer_follow(struct viewer *v, const struct target *t);
/* Shows the place of the main view's cursor in the code panes. Call it after layout(). */
void viewer_follow_cursor(struct viewer *v);
/* Ends the viewer with an error: an incomplete view would be read as complete. */
void viewer_fail(struct viewer *v, const struct bt_error *err);
void viewer_message(struct viewer *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Folds the frames of libraries in all stacks, or shows them. */
void viewer_toggle_frames(struct viewer *v);

/* The record of a task in the snapshot shown, or NULL. */
const struct bt_record_thread *viewer_thread(const struct viewer *v, uint32_t task);

/* Show another place in a code pane. */
void source_view_show(struct viewer *v, const struct view_place *p);
bool source_view_has_text(const struct viewer *v);
void disassembly_view_show(struct viewer *v, const struct view_place *p);

/* Reads older branches where the cursor has come to them. Call it after layout(). */
void branch_view_settle(struct viewer *v);
/* Moves the branch list's cursor to a stream position in the history shown. comes_back: '' leads
 * back to the old line. */
void branch_view_go(struct viewer *v, uint64_t position, bool comes_back);
/* Opens the branch list at an entry of the history shown, which gets a line of its own if it is
 * folded. */
void branch_view_show(struct viewer *v, size_t entry);

#endif
