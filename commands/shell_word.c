/* SPDX-License-Identifier: MIT */
#include "commands/shell_word.h"

#include <string.h>

const char *shell_word(const char *path, char quoted[SHELL_WORD_MAX])
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./+:@%,=-";
	size_t n = 0;

	if (!path[strspn(path, plain)])
		return path;
	quoted[n++] = '\'';
	for (const char *c = path; *c && n < SHELL_WORD_MAX - 8; c++) {
		if (*c == '\'') {
			memcpy(quoted + n, "'\\'", 3);
			n += 3;
		}
		quoted[n++] = *c;
	}
	quoted[n++] = '\'';
	quoted[n] = '\0';
	return quoted;
}
