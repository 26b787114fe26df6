/* SPDX-License-Identifier: MIT */
/* The string and sequence types of languages' libraries (std::vector, String, Go's slices): where
 * they keep their elements. Used by value_text.c. Any DWARF can be given. */
#ifndef BT_SEQUENCE_TYPE_H
#define BT_SEQUENCE_TYPE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

struct sequence_type {
	Dwarf_Die element;
	uint64_t size;   /* of an element */
	uint64_t data;   /* offset of the pointer to the first element */
	uint64_t behind; /* of the number of elements; has_end: of the pointer behind the last */
	bool has_end, is_text;
};

/* False: it is no such type. */
bool sequence_type_find(struct sequence_type *f, Dwarf_Die *type);

#endif
