/* SPDX-License-Identifier: MIT */
/* The sections of the text report; report.c puts them together. Each appends to r->t. Nobody but
 * report*.c and json.c includes this. */
#ifndef BT_REPORT_PRIVATE_H
#define BT_REPORT_PRIVATE_H

#include "decoder/report/report_lines.h"
#include "decoder/symbols/text.h"

enum {
	SUMMARY_LINES = 23, /* of a terminal of 24, whose last one is the prompt's */
};

struct report {
	struct text t;
	const struct model *m;
	struct symbols *s;
	const struct report_options *o;
	struct focus focus;
	struct report_lines *lines; /* NULL: only the text is wanted */
	struct own_code *own; /* while stacks are written: whose frames have values; may be NULL */
};

/* Sets the subject of the text from here on. Does nothing where only the text is wanted. */
void report_about(struct report *r, const struct report_about *about);
/* The same: of the moment that the report is about, or of none of its own. */
void report_about_moment(struct report *r, enum report_kind kind);
void report_about_nothing(struct report *r);

/* Marks of text that is taken back, and perhaps written again. */
struct report_piece {
	struct report_mark *marks; /* at: from the beginning of the text */
	size_t count;
};

/* Takes the marks from byte `from` on; they are no longer of the report. */
struct report_piece report_take_marks(struct report *r, size_t from) BT_MUST_USE;
/* Puts them to where the text is written next. */
void report_put_marks(struct report *r, const struct report_piece *piece);
void report_piece_release(struct report_piece *piece);

void report_heading(struct report *r, const char *text);

/* Text from outside, of which a summary has the beginning. */
void report_outside(struct report *r, const char *text);

/* How many lines of a terminal of the usual width the text takes so far. */
size_t report_screen_lines(const struct report *r);

void report_stacks(struct report *r);

/* The processes that failed, where the moment does not tell all of it; and of Notes, what was
 * counted and not kept. */
void report_failures(struct report *r);
void report_suppressed(struct report *r);

/* Writes what a thread of the moment does or waits for, in a line. */
void report_wait(struct report *r, const struct bt_record_thread *thread);

/* The same of each thread, a section. Returns 0 or -BT_E_NO_MEMORY. */
int report_waits(struct report *r, struct bt_error *err) BT_MUST_USE;

/* Returns 0; 1 when the filter matched no branch; -BT_E_NO_MEMORY. */
int report_branches(struct report *r, struct bt_error *err) BT_MUST_USE;

/* Only what is said above the branches. Returns 0 or -BT_E_NO_MEMORY. */
int report_branch_words(struct report *r, struct bt_error *err) BT_MUST_USE;

/* Of the entries from `from` up to `end` of r->focus.history those that the filter shows, the last
 * `count` of them (0: all), a line each. Returns 0 or -BT_E_NO_MEMORY. */
int report_branch_rows(struct report *r, size_t from, size_t end, size_t count,
		       struct bt_error *err) BT_MUST_USE;

/* report_calls.c: lines of standard error that say why the process ended, but for that of the
 * message, which has been shown ("": none). */
void report_telling_words(struct report *r, const char *message);

/* The exceptions that the process threw until the moment, if it then failed. */
void report_throws(struct report *r);

/* The system calls that failed last before an end with failure; the last ones of
 * the task. Return 0 or -BT_E_NO_MEMORY. */
int report_failed_calls(struct report *r, struct bt_error *err) BT_MUST_USE;
int report_last_calls(struct report *r, struct bt_error *err) BT_MUST_USE;

/* Writes the program, and how it ended. */
void report_header(struct report *r);

/* Writes the rest of the recording: processes, snapshots, missing symbols, notes. */
void report_recording(struct report *r);

/* How a process ended. */
void report_exit(struct report *r, enum bt_exit_kind kind, uint32_t status, bool core);

/* Text from outside. */
void report_slice(struct text *t, struct slice s);

#endif
