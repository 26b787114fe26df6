/* SPDX-License-Identifier: MIT */
/* The part of a function's name that is the same for every build of a program: namespaces, classes
 * and the name itself, without parameters, template arguments, return type, and what a compiler
 * appends to the parts and copies that it makes. Used by signatures, exports and text. Pure; any
 * text can be given. */
#ifndef BT_FUNCTION_NAME_H
#define BT_FUNCTION_NAME_H

#include <stddef.h>

enum { FUNCTION_NAME_MAX = 200 };

/* "ns::f" of "int ns::f<int>(char*) const [clone .isra.0]". A longer name is cut. Returns out. */
const char *function_name_plain(char out[FUNCTION_NAME_MAX], const char *name);

/* The length of a name without what a compiler appends to the parts and copies of a function:
 * "f" of "f.part.0.cold", "f(int)" of "f(int) [clone .isra.0]". */
size_t function_name_written(const char *name);

#endif
