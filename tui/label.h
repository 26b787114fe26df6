/* SPDX-License-Identifier: MIT */
/* How a code address is written in every view. All views but the help use it, so that a place has
 * one name. It asks symbols, which may read files. */
#ifndef BT_LABEL_H
#define BT_LABEL_H

#include "tui/viewer.h"

/* Appends "function+0x12 file.c:7", as much of it as is known, else "module+0x1234", else the
 * address; the function's name is cut to make it fit into columns (0: whatever it takes), but not
 * in a row that is `whole`. is_return as in symbols_lookup. */
void label_code(struct viewer *v, struct row *out, uint32_t space, uint32_t epoch, uint64_t addr,
		bool is_return, unsigned columns);

/* Appends what a data or code pointer points to, behind two spaces; nothing when it points nowhere.
 */
void label_pointer(struct viewer *v, struct row *out, uint32_t space, uint32_t epoch,
		   uint64_t value);

/* The part of a path behind its last slash. */
const char *label_basename(const char *path);

#endif
