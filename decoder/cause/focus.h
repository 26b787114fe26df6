/* SPDX-License-Identifier: MIT */
/* The moment and the task that a report is about: the snapshot that explains the end, or another
 * task's part in it. Used by everything that shows a trace, so that all show the same moment. It
 * borrows from the model. */
#ifndef BT_FOCUS_H
#define BT_FOCUS_H

#include "decoder/model/history.h"
#include "decoder/symbols/symbols.h"

/* A user's options of a report. */
struct report_options {
	size_t count;      /* lines of branches to show, in JSON branches; 0: all */
	uint32_t snapshot; /* the moment; 0: the one that explains the end */
	bool has_thread;
	uint32_t thread;      /* a task number, else a thread id */
	const char *function; /* only branches from or to this function or line
				 (lib/name_pattern.h); NULL: all */
	bool all;             /* library code is shown branch by branch, too */
	bool summary;         /* only the failure, its place, and the stack */
	bool utf8;            /* the output shows UTF-8 */
	bool marks;           /* text with marks (text.h) */
	unsigned width;       /* columns that a line should fit in; 0: no limit */
};

struct focus {
	const struct model_snapshot *snap;     /* NULL: the trace holds none */
	const struct model_task *task;         /* NULL: the trace holds none */
	const struct bt_record_thread *thread; /* of task in snap, or NULL */
	struct history history; /* of task; for a summary perhaps the newest entries alone */
	size_t end;             /* its entries before that moment */
	bool asked;             /* the task was asked for */
};

/* The moment that explains the end: model_final_snapshot(), or where that is an exit with failure
 * that the process passed on (passed_on.h), the moment of the process that failed first. NULL:
 * none was kept. */
const struct model_snapshot *focus_explaining(const struct model *m);

/* Finds moment and task, without the history. Returns 0; 1 when there is no such snapshot or
 * thread. */
int focus_choose(struct focus *f, const struct model *m,
		 const struct report_options *o) BT_MUST_USE;

/* The same, with the history. Returns 0; 1 as that; -BT_E_NO_MEMORY. */
int focus_open(struct focus *f, const struct model *m, const struct report_options *o,
	       struct bt_error *err) BT_MUST_USE;
void focus_close(struct focus *f);

/* The record of a task in a snapshot, or NULL. */
const struct bt_record_thread *focus_thread(const struct model_snapshot *snap, uint32_t task);

/* Whether the task was asked for and stands nowhere in the moment, which is then another process's,
 * or one of another time. */
bool focus_is_outside(const struct focus *f);

/* How the initial process ended. Returns false when the trace does not say. */
bool focus_exit(const struct model *m, enum bt_exit_kind *kind, uint32_t *status, bool *core);

/* In the words of the report and the viewer: why no moment explains the end. */
const char *focus_without_moment(const struct model *m);

/* The last standard error of the report's process, until the moment; NULL: not known. */
const struct bt_record_last_words *focus_last_words(const struct focus *f);

/* The function at an address, or one that is inlined there, that --function names, or whose line it
 * names; NULL: none. Owned by s. */
const char *focus_function_at(struct symbols *s, uint32_t space, uint32_t epoch, uint64_t addr,
			      const char *wanted);

/* Whether an entry of a history belongs to what --function asks for. NULL: all do. */
bool focus_shows(const struct history *h, const struct history_entry *e, struct symbols *s,
		 const char *function);

/* The signal of a snapshot is one that dumps core and ended the process: a fault to explain. */
bool focus_is_crash(const struct model_snapshot *snap);

#endif
