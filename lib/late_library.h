/* SPDX-License-Identifier: MIT */
/* Libraries that few runs need, loaded by those that do. A linked library is loaded at each start
 * of the program, and unmapped by each process it makes: libbpf, libipt and jansson together took
 * 5 to 10 % of the time of recording true.
 *
 * A struct has pointers to the functions in use, made from one list of their names:
 *
 *	#define LIBX_FUNCTIONS(F) F(x_open) F(x_close)
 *	struct libx { LIBX_FUNCTIONS(LATE_FUNCTION) };
 *	#define LIBX_SYMBOL(name) LATE_SYMBOL(struct libx, name)
 *	static const struct late_symbol libx_symbols[] = {LIBX_FUNCTIONS(LIBX_SYMBOL)}; */
#ifndef BT_LATE_LIBRARY_H
#define BT_LATE_LIBRARY_H

#include <stddef.h>

#include "lib/error.h"

struct late_symbol {
	const char *name;
	size_t at; /* of its pointer in the struct */
};

#define LATE_FUNCTION(name)     __typeof__(name) *name;
#define LATE_SYMBOL(type, name) {#name, offsetof(type, name)},

/* Loads the library of this soname, unless it is loaded, and sets the pointers in *functions. It
 * stays loaded. Errors: BT_E_UNSUPPORTED: it is missing or lacks a function; *functions is
 * undefined then. */
int late_library_load(const char *soname, const struct late_symbol *symbols, size_t count,
		      void *functions, struct bt_error *err) BT_MUST_USE;

#endif
