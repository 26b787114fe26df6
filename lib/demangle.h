/* SPDX-License-Identifier: MIT */
/* Names of C++, Rust and Fortran as a programmer wrote them. Used by what looks for functions by
 * name. Pure; any text can be given. */
#ifndef BT_DEMANGLE_H
#define BT_DEMANGLE_H

/* The demangled form of a linkage name (free() it), or NULL when it is none. */
char *demangle(const char *name);

#endif
