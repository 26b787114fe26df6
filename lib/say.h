/* SPDX-License-Identifier: MIT */
/* btrec's own lines on stderr. Used by the front and the commands. */
#ifndef BT_SAY_H
#define BT_SAY_H

#include <stddef.h>

/* Writes "btrec: TEXT" and a newline, in one piece; what could act on a terminal (names of programs
 * and files hold any byte) is escaped. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Escapes text as the user's locale wants it, into safe[size] (bt_escape_str()), and gives that.
 * The locale is asked for only where it matters: to load it costs a recorder a hundredth of what a
 * short program does. */
const char *say_safely(char *safe, size_t size, const char *text);

#endif
