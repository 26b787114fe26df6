/* SPDX-License-Identifier: MIT */
/* Failures that a process passed on: make ends with failure because a command of it did, and sh
 * because a program under it did. How sure that is differs; nobody writes down why a process ended.
 * A trace may lie about who made whom: chains are followed to a limit. */
#ifndef BT_PASSED_ON_H
#define BT_PASSED_ON_H

#include "decoder/model/model.h"

enum passed_on {
	PASSED_NOT,
	PASSED_ORDER,  /* the last child to end had failed; it may have another cause */
	PASSED_STATUS, /* the same, and the process ended with its status */
	PASSED_PROVEN, /* the process's end, or its words, prove that the child is the cause */
};

/* How a process failed; NULL: it did not, or its end is not in the trace. */
const struct model_failure *failure_of_process(const struct model *m, uint32_t task);

/* The failed child that a failed process may have passed on, and how sure that is. NULL: none. */
const struct model_failure *passed_on_child(const struct model *m,
					    const struct model_failure *parent,
					    enum passed_on *how);

/* The parent that passed on the failure of a process; NULL: none. */
const struct model_failure *passed_on_parent(const struct model *m,
					     const struct model_failure *child,
					     enum passed_on *how);

/* Where the failure of a process began, following children down: the failure of the deepest whose
 * moment was kept and that is why the process failed, as far as that is known: each link is at
 * least PASSED_STATUS, or programs of the system were over a program that is none. NULL: its own
 * moment tells the most. */
const struct model_failure *passed_on_origin(const struct model *m,
					     const struct model_failure *failure);

#endif
