/* SPDX-License-Identifier: MIT */
#include "commands/cause.h"

#include <string.h>

#include "commands/helper.h"

bool cause_tell(const char *trace, int patience, char text[CAUSE_TEXT_MAX])
{
	char path[PATH_MAX];
	const char *argv[] = {path, "--headline", "--", trace, NULL};

	*text = '\0';
	if (!helper_btview(path) || !helper_ask(argv, patience, text, CAUSE_TEXT_MAX))
		*text = '\0';
	text[strcspn(text, "\n")] = '\0';
	return *text;
}
