/* SPDX-License-Identifier: MIT */
/* The text report on standard output: as it is for a file or another program; on a terminal with
 * colours, in lines that fit, through the pager. Used by btview's main. */
#ifndef BT_REPORT_OUTPUT_H
#define BT_REPORT_OUTPUT_H

#include "decoder/report/report.h"

enum colour_when {
	COLOUR_AUTO, /* on a terminal that can, unless NO_COLOR is set */
	COLOUR_ALWAYS,
	COLOUR_NEVER,
};

/* The function that makes the report: report_print, or report_print_by_cpu. */
typedef int report_printer(FILE *to, const struct model *m, struct symbols *s,
			   const struct report_options *o, struct bt_error *err);

/* Prints it. Returns what it returns; -BT_E_IO: it could not be written. */
int report_output(report_printer *print, const struct model *m, struct symbols *s,
		  const struct report_options *o, enum colour_when colour, bool pager,
		  struct bt_error *err) BT_MUST_USE;

#endif
