/* SPDX-License-Identifier: MIT */
/* The report of a trace as text: what `btview --stdio` prints. Used by btview. All text from
 * outside is escaped. */
#ifndef BT_REPORT_H
#define BT_REPORT_H

#include <stdio.h>

#include "decoder/cause/focus.h"

/* Prints the report. Returns 0; 1 when a filter matched nothing (all that does not depend on it is
 * printed); -BT_E_NO_MEMORY; -BT_E_IO: it could not be written. */
int report_print(FILE *to, const struct model *m, struct symbols *s, const struct report_options *o,
		 struct bt_error *err) BT_MUST_USE;

/* Prints which tasks ran where and when, CPU by CPU, with the newest of the branches that they made
 * there (btview --by cpu). Returns 0; 1 when a filter matched nothing, or the trace tells of no CPU
 * and time, and then nothing is printed; -BT_E_NO_MEMORY; -BT_E_IO as above. */
int report_print_by_cpu(FILE *to, const struct model *m, struct symbols *s,
			const struct report_options *o, struct bt_error *err) BT_MUST_USE;

#endif
