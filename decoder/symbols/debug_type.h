/* SPDX-License-Identifier: MIT */
/* Types of DWARF, as values of variables and the explanation of a failed access ask for them. DWARF
 * is not to be trusted: types that refer to one another in a circle end here. Pure. */
#ifndef BT_DEBUG_TYPE_H
#define BT_DEBUG_TYPE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DEBUG_MEMBERS_MAX = 1024 }; /* looked at of one structure */

/* The type of a variable, a member, a pointer's target, an array's element, without typedefs and
 * qualifiers. False: it has none (void), or DWARF that cannot be read. */
bool debug_type_of(Dwarf_Die *entry, Dwarf_Die *type);

/* Its size in bytes; false where that is not a constant. */
bool debug_type_size(Dwarf_Die *type, uint64_t *size);

/* A constant attribute of an entry. */
bool debug_number(Dwarf_Die *entry, unsigned name, uint64_t *value);

/* Whether entries with this tag are blocks of code in a function. */
bool debug_is_block(int tag);

bool debug_is_structure(Dwarf_Die *type);

/* Whether strings are made of it: char and its signed and unsigned forms. */
bool debug_is_character(Dwarf_Die *type);

/* The entries below one, in order. Begin with *die = {0}. Each entry is behind the one before it,
 * or the walk ends. */
bool debug_next_child(Dwarf_Die *parent, Dwarf_Die *die);

/* A member's bytes from the structure's start. False for one that has no place in it. */
bool debug_member_offset(Dwarf_Die *member, uint64_t *offset);

/* Where the `bits` bits of a member begin, from the structure's start. */
bool debug_first_bit(Dwarf_Die *member, uint64_t bits, uint64_t *bit);

/* The member of that name, also of what the structure inherits or has without a name; its type and
 * place. */
bool debug_member(Dwarf_Die *structure, const char *name, Dwarf_Die *type, uint64_t *offset);

/* Puts the member of a structure, or element of an array, that `offset` is the start of into text,
 * "inner.ports[3]", in as many steps as needed until a value that is no structure is reached, or
 * one that is `size` bytes large (0: none is); and its type. The pointer in a std::unique_ptr has
 * no name beyond that: text may be "" then. False: no member begins there. */
bool debug_member_at(Dwarf_Die *structure, uint64_t offset, uint64_t size, char *text, size_t cap,
		     Dwarf_Die *type);

/* The numbers of elements of an array by dimension, the outermost first, into counts[max]. Returns
 * the number of dimensions; 0: one has no number, or there are more. */
size_t debug_array_counts(Dwarf_Die *array, uint64_t *counts, size_t max);

#endif
