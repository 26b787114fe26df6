/* SPDX-License-Identifier: MIT */
/* The symbol of an address, as dwfl_module_addrinfo() finds it. That function looks at each symbol
 * of a module for each address: a quarter of a millisecond in an interpreter with 20,000 of them.
 * Its answer is the same for all addresses between which no symbol and no section begins or ends,
 * so it is asked once for each such range. Used by symbols.c. One thread (libdwfl). */
#ifndef BT_SYMBOL_RANGES_H
#define BT_SYMBOL_RANGES_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>

#include "lib/hash_table.h"

struct range_symbol {
	const char *name; /* the module's; NULL: there is none */
	GElf_Addr value;  /* where it begins */
};

/* All zero: nothing has been asked for. */
struct symbol_ranges {
	GElf_Addr *ends; /* where ranges begin, in order; NULL: not made yet */
	size_t count;
	struct range_symbol *symbols; /* the answers, */
	size_t symbol_count, symbol_cap;
	struct hash_table known; /* and their numbers + 1, by the number of the range */
	unsigned asked;          /* before ranges are made: addresses so far */
	bool failed;             /* they cannot be made */
};

/* The name of the symbol of an address of the module, and the address's distance from where it
 * begins; NULL: it has none. The module is always the same. The name lives as long as it. */
const char *symbol_ranges_find(struct symbol_ranges *r, Dwfl_Module *mod, GElf_Addr addr,
			       GElf_Off *offset);

void symbol_ranges_release(struct symbol_ranges *r);

#endif
