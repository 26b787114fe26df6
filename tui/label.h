/* SPDX-License-Identifier: MIT */
/* Writes code addresses the same way in every view but the help. It asks symbols, which may read
 * files. */
#ifndef BT_LABEL_H
#define BT_LABEL_H

#include "tui/viewer.h"

/* Appends "function+0x12 file.c:7" as far as it is known, else "module+0x1234", else the address.
 * The function's name is cut to fit into columns (0: no limit), but not in a `whole` row. is_return
 * as in symbols_lookup. */
void label_code(struct viewer *v, struct row *out, uint32_t space, uint32_t epoch, uint64_t addr,
		bool is_return, unsigned columns);

/* Appends the target of a data or code pointer, behind two spaces; nothing if there is none. */
void label_pointer(struct viewer *v, struct row *out, uint32_t space, uint32_t epoch,
		   uint64_t value);

/* The part of a path behind its last slash. */
const char *label_basename(const char *path);

#endif
