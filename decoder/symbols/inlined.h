/* SPDX-License-Identifier: MIT */
/* Inlined frames and functions from DWARF. Used by symbols. The DWARF may say anything; strings are
 * kept by the caller's set. */
#ifndef BT_INLINED_H
#define BT_INLINED_H

#include <elfutils/libdw.h>
#include <stdint.h>

#include "decoder/symbols/debug_unit.h"
#include "decoder/symbols/intern.h"
#include "decoder/symbols/symbols.h"

struct inlined_result {
	struct inlined_frame *frames; /* new array (free() it), innermost first; NULL: none */
	size_t count;
	const char *function; /* the function that holds the code, demangled; "" unknown */
	Dwarf_Addr entry;     /* its first address as in the file, 0 unknown */
};

/* Finds the functions inlined at pc (as in the file) of a unit, which is one of the set and has
 * functions. */
void inlined_at(struct intern *strings, struct unit_set *units, struct debug_unit *unit,
		Dwarf_Addr pc, struct inlined_result *out);

/* A source file of a unit as libdw names it, with the directory of its compilation before a
 * relative path. */
const char *source_path(struct intern *strings, Dwarf_Die *unit, const char *file);

#endif
