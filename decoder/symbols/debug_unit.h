/* SPDX-License-Identifier: MIT */
/* Units of DWARF, indexed: finds the function at an address, and the scope of a declaration.
 * libdw's dwarf_getscopes finds neither functions within scopes without addresses (Rust's) nor what
 * was inlined from another unit (LTO), and looks at the whole unit each time. A unit is read when
 * it is first asked for. DWARF is not to be trusted: each of its entries is looked at once. Used by
 * symbols, through images and inlined frames. One thread. */
#ifndef BT_DEBUG_UNIT_H
#define BT_DEBUG_UNIT_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>

#include "decoder/symbols/strange_time.h"

struct unit_span {
	Dwarf_Addr start, end, reach; /* reach: the highest end so far */
	size_t function;
};

/* An entry that may have declarations in it: a namespace, a class, a function that has classes of
 * its own. */
struct unit_scope {
	Dwarf_Die die;
	Dwarf_Off start, end; /* of its entries */
	size_t parent;        /* its number + 1, 0: none */
};

struct debug_unit {
	Dwarf_Die die;
	struct unit_span
		*ranges; /* of the whole unit; sorted by start, as those of its functions */
	size_t range_count;
	Dwarf_Die *functions;
	size_t function_count;
	struct unit_span *spans;
	size_t span_count;
	struct unit_scope *scopes; /* sorted by start */
	size_t scope_count;
	bool ranges_read, read;
	struct strange_time *time; /* its set's */
	Dwarf_Off last;            /* entry that was looked at */
};

/* The units of a module; zeroed: none. Those handed out live until unit_set_release. */
struct unit_set {
	struct debug_unit **units; /* sorted by their libdw unit */
	size_t count;
	struct strange_time *time; /* of a stranger's file, which may take no longer, and whose
				      .dwo is not opened; NULL: of another */
};

void unit_set_release(struct unit_set *set);

/* The unit that an entry is in; NULL without memory, or when there is none. */
struct debug_unit *unit_of(struct unit_set *set, Dwarf_Die *die);

/* The unit that has the functions of this one, which is another where debug information is split,
 * in a .dwo. *missing: it is not there, or not looked for. */
struct debug_unit *unit_with_functions(struct unit_set *set, struct debug_unit *u, bool *missing);

/* Whether an address (as in the file) is the unit's. One that tells of none, or not legibly, is
 * believed to have any. */
bool unit_covers(struct debug_unit *u, Dwarf_Addr pc);

/* The function with code at pc. */
bool unit_function_at(struct debug_unit *u, Dwarf_Addr pc, Dwarf_Die *function);

/* The innermost scope that an entry of the unit stands in; NULL: none. */
const struct unit_scope *unit_scope_of(struct debug_unit *u, Dwarf_Die *die);

/* The scope around a scope of the unit; NULL: none. */
const struct unit_scope *unit_outer_scope(const struct debug_unit *u,
					  const struct unit_scope *scope);

#endif
