/* SPDX-License-Identifier: MIT */
/* An entry of a history as the branch list writes it. */
#ifndef BT_BRANCH_ROW_H
#define BT_BRANCH_ROW_H

#include "tui/search.h"
#include "tui/viewer.h"

/* "jcc not", "call". */
const char *branch_row_kind(const struct history_entry *e);

/* Appends entry i of v->history, without its tick, in so many columns. indented: by the depth of
 * calls. */
void branch_row_put(struct viewer *v, struct row *out, size_t i, unsigned columns, bool indented);

/* Whether it has a match, with its names in short or in full. */
bool branch_row_matches(struct viewer *v, const struct search *s, size_t i);

#endif
