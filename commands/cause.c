/* SPDX-License-Identifier: MIT */
#include "commands/cause.h"

#include <string.h>

void cause_begin(struct cause *c, const char *trace, bool keep, int patience)
{
	char path[PATH_MAX];
	const char *tell[] = {path, "--headline", "--", trace, NULL};
	const char *tell_and_keep[] = {path, "--keep-symbols", CAUSE_KEEP_MS, "--", trace, NULL};

	*c = (struct cause){.helper = {.pid = -1, .from = -1}};
	if (!helper_btview(path) || !helper_start(&c->helper, keep ? tell_and_keep : tell))
		return;
	if (patience && !helper_read(&c->helper, patience, c->text, sizeof c->text))
		*c->text = '\0';
	c->text[strcspn(c->text, "\n")] = '\0';
}

void cause_end(struct cause *c, int patience) { helper_end(&c->helper, patience); }
