/* SPDX-License-Identifier: MIT */
/* btrec's own lines on stderr. Used by the front and the commands. */
#ifndef BT_SAY_H
#define BT_SAY_H

#include <stddef.h>

/* Writes "btrec: TEXT" and a newline in one piece. Bytes that could act on a terminal are escaped:
 * names of programs and files hold any byte. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Escapes text into safe[size] for the user's locale (bt_escape_str()) and returns safe. Loads the
 * locale only if the text needs it: loading costs a recorder a hundredth of a short program's
 * run. */
const char *say_safely(char *safe, size_t size, const char *text);

#endif
