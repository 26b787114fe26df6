/* SPDX-License-Identifier: MIT */
#include "commands/cause.h"

#include <stdio.h>
#include <string.h>

void cause_begin(struct cause *c, const char *trace, int keep, int patience)
{
	char path[PATH_MAX], time[16];
	const char *tell[] = {path, "--headline", "--", trace, NULL};
	const char *tell_and_keep[] = {path, "--keep-symbols", time, "--", trace, NULL};

	snprintf(time, sizeof time, "%d", keep);
	*c = (struct cause){.helper = {.pid = -1, .from = -1}};
	if (!helper_btview(path) || !helper_start(&c->helper, keep ? tell_and_keep : tell))
		return;
	if (patience && !helper_read(&c->helper, patience, c->text, sizeof c->text))
		*c->text = '\0';
	c->text[strcspn(c->text, "\n")] = '\0';
}

void cause_end(struct cause *c, int patience) { helper_end(&c->helper, patience); }
