/* SPDX-License-Identifier: MIT */
/* Checks a branch history against the code that ran: the code must lead, instruction by
 * instruction, from each entry to the next and from the last to the place where the task stood.
 * Errors of a source, and records that the program overwrote, break that. Used by the report, the
 * JSON and the viewer's summary. Code that is not known is no disagreement. Pure but for the code
 * that it reads. */
#ifndef BT_VERDICT_H
#define BT_VERDICT_H

#include "decoder/model/history.h"

enum verdict_state {
	VERDICT_UNCHECKED, /* nothing could be checked: a source that does not tell every branch, or
			      no code in the trace */
	VERDICT_CONSISTENT, /* everything that could be checked agrees */
	VERDICT_PARTLY, /* everything that is left agrees: the history or its code is damaged in the
			   trace */
	VERDICT_INCONSISTENT, /* entries from `from` on cannot be relied on */
};

enum verdict_reason {
	VERDICT_NO_WAY,    /* the code does not lead from the entry before to this one */
	VERDICT_NO_BRANCH, /* no branch of this kind is at its address */
	VERDICT_WRONG_WAY, /* a direct branch goes elsewhere */
	VERDICT_NOT_THERE, /* the code does not lead from the last entry to the moment */
	VERDICT_COUNTS, /* ticks or transfers at the moment are others: entries since the last gap
			   are missing, or too many */
	VERDICT_SCRIBBLED, /* the recorder found nonsense in memory that the program could write */
	VERDICT_REASONS
};

struct verdict {
	enum verdict_state state;
	enum verdict_reason reason; /* INCONSISTENT */
	size_t from; /* INCONSISTENT: index in the history, of a gap perhaps; the number of entries
			checked for NOT_THERE */
	size_t checked; /* entries that the code leads to from the one before */
	size_t count;   /* of entries that are branches */
	bool damaged;   /* the history is not complete; also with VERDICT_UNCHECKED */
};

/* Judges the first `end` entries of a history; thread: the task's state then, or NULL. Cost is
 * bounded on any input: entries beyond the bound count as not checked. Errors: BT_E_NO_MEMORY. */
int verdict_find(struct verdict *v, const struct history *h, size_t end, const struct model *m,
		 const struct bt_record_thread *thread, struct bt_error *err) BT_MUST_USE;

/* A verdict that no entry contradicts, as a sentence without its full stop; "" for
 * VERDICT_UNCHECKED. Returns words. */
/* Whether the source tells every branch: of others there is no verdict. */
bool verdict_is_possible(const struct model *m) BT_MUST_USE;

enum {
	VERDICT_WORDS_MAX = 200,
};
const char *verdict_words(const struct verdict *v, char words[VERDICT_WORDS_MAX]);

/* The reason, as the end of a sentence that begins with the entry. */
const char *verdict_text(enum verdict_reason reason);

#endif
