/* SPDX-License-Identifier: MIT */
/* Variables and functions of the whole program by address, as the DWARF of the code that uses them
 * describes them. For the explanation of a fault. One thread (symbols.h). */
#ifndef BT_PROGRAM_OBJECT_H
#define BT_PROGRAM_OBJECT_H

#include <elfutils/libdw.h>

#include "decoder/values/known_memory.h"

enum { PROGRAM_OBJECT_NAME_MAX = 80 };

struct program_object {
	char name[PROGRAM_OBJECT_NAME_MAX]; /* "app::config", "table" */
	uint64_t addr, size;
	Dwarf_Die type; /* of a function: of what it returns */
};

/* The variable that has the byte at addr, if the unit of the code at pc describes it: one that is
 * in no function. Of one that is only declared there the symbol tells that it is this one. */
bool program_variable_at(const struct known_memory *k, uint64_t pc, uint64_t addr,
			 struct program_object *o);

/* The function that begins at addr; false: none that returns something, or without debug
 * information. */
bool program_function_at(const struct known_memory *k, uint64_t addr, struct program_object *o);

#endif
