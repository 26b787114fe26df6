/* SPDX-License-Identifier: MIT */
/* The call structure of a branch history: how deep each entry lies, which call it lies in, which
 * return belongs to which call. Matches returns by their target, so that longjmp, exceptions, and
 * call and ret used as jumps do not shift the rest. Pure. Part of the viewer, made once for each
 * history shown. */
#ifndef BT_CALLS_H
#define BT_CALLS_H

#include "decoder/model/history.h"

#define CALLS_NONE UINT32_MAX

struct calls {
	uint32_t *depth;   /* of each entry; the outermost function in the history has 0 */
	uint32_t *caller;  /* index of the call that entered the function an entry lies in;
			      CALLS_NONE: before the history */
	uint32_t *partner; /* of a call its return, of a return its call; CALLS_NONE: none */
	size_t count;
};

/* watch: NULL, or returns 1 where it was stopped: c is released then. Errors: BT_E_NO_MEMORY. */
int calls_init(struct calls *c, const struct history *h, const struct history_watch *watch,
	       struct bt_error *err) BT_MUST_USE;
void calls_release(struct calls *c);

#endif
