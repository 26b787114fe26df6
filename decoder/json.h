/* SPDX-License-Identifier: MIT */
/* The report of a trace as JSON, schema btrec-report/1 (doc/report.schema.json): what `btview --json` prints. */
#ifndef BT_JSON_H
#define BT_JSON_H

#include <stdio.h>

#include "decoder/focus.h"

/* Prints the report as one JSON object. Text that is no UTF-8 has its bad bytes replaced by \xNN. Errors of `to` are left for the
 * caller to find (ferror). Returns 0; 1 when a filter matched nothing (nothing is printed when it is the thread);
 * -BT_E_NO_MEMORY. */
int json_print(FILE *to, const struct model *m, struct symbols *s, const struct report_options *o, struct bt_error *err)
	BT_MUST_USE;

#endif
