/* SPDX-License-Identifier: MIT */
/* The system calls that failed last before the moment that a report is about, where that is an end
 * with failure that the program chose: an exit status or abort. They often are the cause. Used by
 * the report, the JSON and the viewer. */
#ifndef BT_FAILED_CALLS_H
#define BT_FAILED_CALLS_H

#include "decoder/cause/focus.h"
#include "decoder/model/system_calls.h"

enum {
	FAILED_CALLS_SHOWN = 4,
};

struct failed_calls {
	struct system_calls all;                             /* owned */
	const struct system_call *shown[FAILED_CALLS_SHOWN]; /* oldest first */
	unsigned repeated[FAILED_CALLS_SHOWN]; /* the same call running, this one too */
	size_t count;
};

/* Finds them; none if the end is another one. Errors: BT_E_NO_MEMORY. Release it in any case. */
int failed_calls_find(struct failed_calls *f, const struct model *m, const struct focus *focus,
		      struct bt_error *err) BT_MUST_USE;
void failed_calls_release(struct failed_calls *f);

#endif
