/* SPDX-License-Identifier: MIT */
/* A path as a shell takes it: what a user copies from a message. Used by the commands. No state. */
#ifndef BT_SHELL_WORD_H
#define BT_SHELL_WORD_H

#include "lib/directories.h"

enum { SHELL_WORD_MAX = 2 * BT_PATH_MAX };

/* The path itself where a shell takes it as it is, else it in quotes, in `quoted`. One that has too
 * many quotes is cut off. */
const char *shell_word(const char *path, char quoted[SHELL_WORD_MAX]);

#endif
