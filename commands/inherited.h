/* SPDX-License-Identifier: MIT */
/* Descriptors that the program inherits from the user's shell. Front and recorder close their
 * copies: a pipe must see its end when the program closes it. Used by btrec run. */
#ifndef BT_INHERITED_H
#define BT_INHERITED_H

#include <stddef.h>

/* Zeroed to begin with. */
struct inherited {
	int *fds; /* from 3 on; owned */
	size_t count, cap;
};

/* Opens /dev/null for standard descriptors that the user closed, so that none of ours lands there;
 * the program finds them closed all the same (O_CLOEXEC). Then notes all further open descriptors,
 * fewer without memory. */
void inherited_note(struct inherited *i);

/* Closes them in this process, and puts /dev/null in place of the standard ones up to `last`. */
void inherited_drop(const struct inherited *i, int last);

void inherited_release(struct inherited *i);

#endif
