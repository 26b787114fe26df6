/* SPDX-License-Identifier: MIT */
/* A trace in the form of other tools. Reads the files of the trace one after the other, without the
 * model, where that is enough: an export of millions of branches needs little memory then. Used by
 * btview. */
#ifndef BT_EXPORT_H
#define BT_EXPORT_H

#include <stdio.h>

#include "decoder/cause/focus.h"
#include "format/trace_reader.h"

struct export_kind {
	const char *name, *help;
	/* Returns 0; 1 when something of the trace could not be read (the rest is written);
	 * -BT_E_NO_MEMORY; -BT_E_IO: it could not be written. */
	int (*print)(FILE *to, const struct trace *t, struct bt_error *err);
	/* Without print: the same for the moment and the task that o chooses (focus.h). Errors
	 * also: -BT_E_UNSUPPORTED, with nothing written: the trace has nothing of that. */
	int (*print_moment)(FILE *to, const struct model *m, struct symbols *s,
			    const struct report_options *o, struct bt_error *err);
	bool is_binary; /* not for a terminal */
};

/* The kinds, ended by one without a name. */
extern const struct export_kind export_kinds[];

const struct export_kind *export_find(const char *name); /* NULL: no such kind */

#endif
