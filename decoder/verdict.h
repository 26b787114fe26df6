/* SPDX-License-Identifier: MIT */
/* Whether the code that ran agrees with a branch history: it must lead, instruction by instruction,
 * from each entry to the next and from the last to the moment where the task stood. What a source
 * got wrong, or what the program scribbled on, does not. Used by the report, the JSON and the
 * viewer's summary. Code that is not known is no disagreement. Pure but for the code that it reads.
 */
#ifndef BT_VERDICT_H
#define BT_VERDICT_H

#include "decoder/history.h"

enum verdict_state {
	VERDICT_UNCHECKED, /* nothing could be checked: a source that does not tell every branch, or
			      no code in the trace */
	VERDICT_CONSISTENT, /* nothing contradicts what could be checked */
	VERDICT_PARTLY, /* the same, of what is left: the trace is damaged where the history or its
			   code lies */
	VERDICT_INCONSISTENT, /* what follows from entry `from` on cannot be relied on */
};

enum verdict_reason {
	VERDICT_NO_WAY,    /* the code does not lead from the entry before to this one */
	VERDICT_NO_BRANCH, /* no branch of this kind is at its address */
	VERDICT_WRONG_WAY, /* a direct branch goes elsewhere */
	VERDICT_NOT_THERE, /* the code does not lead from the last entry to the moment */
	VERDICT_COUNTS, /* ticks or transfers at the moment are others: entries since the last gap
			   are missing, or too many */
	VERDICT_SCRIBBLED, /* the recorder found nonsense where the program could write */
	VERDICT_REASONS
};

struct verdict {
	enum verdict_state state;
	enum verdict_reason reason; /* INCONSISTENT */
	size_t from; /* INCONSISTENT: index in the history, of a gap perhaps; the number of entries
			checked for NOT_THERE */
	size_t checked; /* entries that the code leads to from the one before */
	size_t count;   /* of entries that are branches */
	bool damaged;   /* what is judged is not all that there was; also of VERDICT_UNCHECKED */
};

/* Judges the first `end` entries of a history; thread: where the task stood then, or NULL. Cost is
 * bounded on any input: what it does not come to counts as not checked. Errors: BT_E_NO_MEMORY. */
int verdict_find(struct verdict *v, const struct history *h, size_t end, const struct model *m,
		 const struct bt_record_thread *thread, struct bt_error *err) BT_MUST_USE;

/* What a verdict that no entry contradicts says, as a sentence without its full stop; "" of
 * VERDICT_UNCHECKED. Returns words. */
enum {
	VERDICT_WORDS_MAX = 200,
};
const char *verdict_words(const struct verdict *v, char words[VERDICT_WORDS_MAX]);

/* Why, as the end of a sentence that begins with the entry. */
const char *verdict_text(enum verdict_reason reason);

#endif
