/* SPDX-License-Identifier: MIT */
/* btrec's own lines on stderr. Used by the front and the commands, after setlocale. */
#ifndef BT_SAY_H
#define BT_SAY_H

#include <stdbool.h>

/* Writes "btrec: TEXT" and a newline, in one piece; what could act on a terminal (names of programs and files hold any byte) is escaped. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether the user's locale shows UTF-8. */
bool say_utf8(void);

#endif
