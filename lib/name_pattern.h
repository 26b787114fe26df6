/* SPDX-License-Identifier: MIT */
/* Functions named as people write them: "Bus::emit" for app::Bus<int>::emit(char const*) const,
 * "Cart::total" for <shop::Cart as shop::Priced>::total. Used by --from of btrec and --function of
 * btview, so that both take the same names. Pure; any text can be given.
 *
 * A pattern names the last components of a qualified name. * stands for any characters, ? for one.
 * Parameters, template arguments, return types, anonymous namespaces and hashes of Rust are left
 * out, unless the pattern has a parameter list, or template arguments. A pattern that begins with
 * :: is a whole name. */
#ifndef BT_NAME_PATTERN_H
#define BT_NAME_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

enum {
	NAME_PATTERN_MAX = 1024, /* longer names are compared up to there */
};

/* Whether the pattern names the function. name: demangled, or as it is in the symbol table. */
bool name_pattern_matches(const char *pattern, const char *name);

/* The longest part of the pattern that every name of a function that it names has in it, mangled or
 * not, into out[NAME_PATTERN_MAX]; "" when there is none. */
void name_pattern_certain_part(const char *pattern, char *out);

/* Whether a pattern is a source position, "config.c:10", "src/config.c:10". Sets the length of
 * the file's name and the line. */
bool source_position_parse(const char *pattern, size_t *file_len, int *line);

/* Whether a source position names the line of a file, whose path may have more folders before. */
bool source_position_matches(const char *pattern, const char *file, int line);

#endif
