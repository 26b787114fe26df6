/* SPDX-License-Identifier: MIT */
/* The threads of a moment in groups, as the report and the viewer list them: threads that wait at
 * one place for the same are one group; groups that can never go on come first. */
#ifndef BT_WAIT_GROUPS_H
#define BT_WAIT_GROUPS_H

#include "decoder/cause/own_code.h"
#include "decoder/cause/waits.h"

enum {
	WAIT_GROUPS_MAX = 20,
};

struct wait_group {
	const struct bt_record_thread *thread; /* the first of them */
	char text[WAIT_TEXT_MAX];              /* wait_text(); escape it */
	struct own_place place;                /* of the user's own, else where the thread stands */
	bool dead;                             /* wait_is_dead() */
	size_t threads;
};

struct wait_groups {
	struct wait_group at[WAIT_GROUPS_MAX];
	size_t count;
	size_t left; /* threads of groups beyond those */
};

/* Finds at most `most` groups of a moment. *out is to be freed with free(). Errors: BT_E_NO_MEMORY;
 * *out is NULL then. */
int wait_groups_find(struct wait_groups **out, const struct model *m, struct symbols *s,
		     const struct model_snapshot *snap, size_t most,
		     struct bt_error *err) BT_MUST_USE;

/* "What the threads do". */
const char *wait_groups_heading(const struct wait_groups *g);

#endif
