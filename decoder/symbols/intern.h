/* SPDX-License-Identifier: MIT */
/* A set of strings: each text is kept once and lives until the set is released. Used by symbols,
 * whose locations share paths and function names by the thousand. Texts with the same bytes have
 * the same pointer. */
#ifndef BT_INTERN_H
#define BT_INTERN_H

#include "lib/hash_table.h"

struct intern {
	struct hash_table texts; /* by their content_hash() */
};

/* The kept copy of text; "" for NULL and without memory. */
const char *intern_str(struct intern *in, const char *text);
void intern_release(struct intern *in);

#endif
