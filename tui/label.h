/* SPDX-License-Identifier: MIT */
/* Writes code addresses the same way in every view but the help. It asks symbols, which may read
 * files. */
#ifndef BT_LABEL_H
#define BT_LABEL_H

#include "tui/viewer.h"

/* Appends "function+0x12 file.c:7" as far as it is known, else "module+0x1234", else the address.
 * To fit into columns (0: no limit) the file is left out, then the function's name cut, but not in
 * a `whole` row. is_return as in symbols_lookup. */
void label_code(struct viewer *v, struct row *out, uint32_t space, uint32_t epoch, uint64_t addr,
		bool is_return, unsigned columns);

/* Appends the function's name alone, else "module+0x1234", else the address. */
void label_function(struct viewer *v, struct row *out, uint32_t space, uint32_t epoch,
		    uint64_t addr, unsigned columns);

/* Appends the target of a data or code pointer, behind two spaces; nothing if there is none. */
void label_pointer(struct viewer *v, struct row *out, uint32_t space, uint32_t epoch,
		   uint64_t value);

/* The source line of a place, and the function that it is in; "" and 0 where they are not known. */
struct inlined_frame label_source(struct viewer *v, const struct view_place *p);

/* The part of a path behind its last slash. */
const char *label_basename(const char *path);

#endif
