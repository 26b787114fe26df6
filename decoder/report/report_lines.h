/* SPDX-License-Identifier: MIT */
/* The report as lines that know what they are about. The viewer's summary is made of them, so that
 * it has the words and the frames of the text. The registers, the branches and the last system
 * calls are left out: the viewer has a view of each. */
#ifndef BT_REPORT_LINES_H
#define BT_REPORT_LINES_H

#include "decoder/cause/focus.h"
#include "lib/buf.h"

struct own_code;

enum report_kind {
	REPORT_PLAIN,
	REPORT_HEADING,
	REPORT_CAUSE,   /* the failure itself */
	REPORT_PLACE,   /* the place of the failure, and the call that led there */
	REPORT_FRAME,   /* of a stack */
	REPORT_THREAD,  /* heading of a stack */
	REPORT_REMARK,  /* on a stack or a history */
	REPORT_HISTORY, /* of the task */
	REPORT_TASK,
	REPORT_MOMENT,
};

/* The subject of a piece of the report's text. */
struct report_about {
	enum report_kind kind;
	const struct model_snapshot *snap; /* NULL: the moment that the report is about */
	uint32_t task;                     /* 0: no history to go to */
	uint64_t position;                 /* in the task's history */
	size_t frame;                      /* of REPORT_FRAME: its number */
	bool has_place;
	uint32_t space, epoch;
	uint64_t addr;
	bool is_return; /* addr is a return address */
};

/* From byte `at` of the text on, up to the next mark. */
struct report_mark {
	size_t at;
	struct report_about about;
};

struct report_lines {
	struct buf text; /* escaped; lines end in a newline */
	struct report_mark *marks;
	size_t count, cap;
	bool failed; /* without memory for a mark */
};

/* Makes the lines for a focus that was opened. It borrows from the model. Of the options utf8 and
 * all count. Errors: BT_E_NO_MEMORY. Release the lines in any case. */
int report_make_lines(struct report_lines *lines, const struct model *m, struct symbols *s,
		      const struct focus *focus, const struct report_options *o,
		      struct bt_error *err) BT_MUST_USE;
/* The same: of the stack of one of the moment's threads, without a heading. own may be NULL: then
 * no frame has values, and none is folded. */
int report_make_stack_lines(struct report_lines *lines, const struct model *m, struct symbols *s,
			    const struct focus *focus, const struct bt_record_thread *thread,
			    const struct report_options *o, struct own_code *own,
			    struct bt_error *err) BT_MUST_USE;
void report_lines_release(struct report_lines *lines);

/* Takes the next line from byte *at on, without its end, and what it is about. part: of a
 * place or frame how many lines of it come before, which are functions inlined into it. False at
 * the end. */
bool report_lines_next(const struct report_lines *lines, size_t *at, struct slice *line,
		       struct report_about *about, unsigned *part);

#endif
