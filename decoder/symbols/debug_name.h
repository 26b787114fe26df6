/* SPDX-License-Identifier: MIT */
/* Names of functions, from symbols or DWARF: alike, whether or not a function has code of its own.
 * Used by symbols and inlined frames. DWARF is not to be trusted. One thread. */
#ifndef BT_DEBUG_NAME_H
#define BT_DEBUG_NAME_H

#include <elfutils/libdw.h>

#include "decoder/symbols/debug_unit.h"
#include "decoder/symbols/intern.h"

/* The demangled name, or the name itself where it is not mangled. */
const char *readable_name(struct intern *strings, const char *name);

/* The name of a function, or of what is inlined: its linkage name, demangled, or as that would read
 * if there were one. "" unknown. */
const char *debug_function_name(struct intern *strings, struct unit_set *units, Dwarf_Die *die);

/* The same of a variable that is in no function. */
const char *debug_variable_name(struct intern *strings, struct unit_set *units, Dwarf_Die *die);

#endif
