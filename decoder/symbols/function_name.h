/* SPDX-License-Identifier: MIT */
/* The part of a function's name that is the same for every build of a program: namespaces, classes
 * and the name itself, without parameters, template arguments, return type, and what a compiler
 * appends to the parts and copies that it makes. Used by signatures and exports. Pure; any text can
 * be given. */
#ifndef BT_FUNCTION_NAME_H
#define BT_FUNCTION_NAME_H

#include <stddef.h>

enum { FUNCTION_NAME_MAX = 200 };

/* "ns::f" of "int ns::f<int>(char*) const [clone .isra.0]". A longer name is cut. Returns out. */
const char *function_name_plain(char out[FUNCTION_NAME_MAX], const char *name);

#endif
