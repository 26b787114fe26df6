/* SPDX-License-Identifier: MIT */
/* The value of a variable in words, as debuggers print it: numbers, names of enumerations, strings,
 * the first elements of arrays and members of structures. Bounded in length, depth and steps,
 * whatever types and lengths the DWARF and the program's memory tell. The text is from outside:
 * escape it to show it. */
#ifndef BT_VALUE_TEXT_H
#define BT_VALUE_TEXT_H

#include "decoder/values/object_place.h"

enum { VALUE_TEXT_MAX = 240 };

/* Puts the value into text; a NUL ends it. type NULL: it has none. */
void value_text(char text[VALUE_TEXT_MAX], const struct known_memory *k, Dwarf_Die *type,
		const struct object *o);

/* Whether it is one value, and no array or structure, but for strings. */
bool value_is_plain(Dwarf_Die *type);

#endif
