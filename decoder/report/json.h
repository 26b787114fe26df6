/* SPDX-License-Identifier: MIT */
/* The report of a trace as JSON, schema btrec-report/1 (doc/report.schema.json), for `btview
 * --json`. Used by btview. */
#ifndef BT_JSON_H
#define BT_JSON_H

#include <stdio.h>

#include "decoder/cause/focus.h"

/* Prints the report as one JSON object. Text that is no UTF-8 has its bad bytes replaced by \xNN.
 * The caller checks `to` for errors (ferror). Returns 0; 1 when a filter matched nothing (nothing
 * is printed when it is the thread); -BT_E_NO_MEMORY. */
int json_print(FILE *to, const struct model *m, struct symbols *s, const struct report_options *o,
	       struct bt_error *err) BT_MUST_USE;

/* Prints which tasks ran where and when (schema btrec-cpus/1, doc/cpus.schema.json). Returns 0; 1
 * when a filter matched nothing, or the trace has no CPU and time (prints nothing then, and for a
 * missing thread); -BT_E_NO_MEMORY. */
int json_print_by_cpu(FILE *to, const struct model *m, struct symbols *s,
		      const struct report_options *o, struct bt_error *err) BT_MUST_USE;

#endif
