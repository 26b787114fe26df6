/* SPDX-License-Identifier: MIT */
/* Lines of the report (decoder/report/report_lines.h) as lines of a view: long ones are wrapped,
 * and each leads to what it is about. Used by the views of the summary and of threads. */
#ifndef BT_REPORT_ROWS_H
#define BT_REPORT_ROWS_H

#include "tui/viewer.h"

/* Where Enter on a line of the report leads. part: as report_lines_next() gives it. ordinal: the
 * target's group. */
struct target report_rows_target(const struct report_about *about, unsigned part, size_t ordinal);

/* Puts a line of the report on as many lines as the screen's width needs. */
void report_rows_add(struct viewer *v, struct lines *l, struct slice line,
		     const struct target *target);

#endif
