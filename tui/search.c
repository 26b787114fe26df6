/* SPDX-License-Identifier: MIT */
#include "tui/search.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "lib/buf.h"

static bool has_upper(const char *text)
{
	while (*text && !isupper((unsigned char)*text))
		text++;
	return *text;
}

bool search_set(struct search *s, const char *text, char why[SEARCH_WHY_MAX])
{
	int rc;

	search_release(s);
	rc = regcomp(&s->expression, text, REG_EXTENDED | (has_upper(text) ? 0 : REG_ICASE));
	s->set = !rc;
	s->serial++;
	if (rc)
		regerror(rc, &s->expression, why, SEARCH_WHY_MAX);
	return !rc;
}

bool search_set_name(struct search *s, const char *name, char why[SEARCH_WHY_MAX])
{
	struct buf b = {0};
	bool good;

	for (; *name; name++) {
		if (strchr(".[]()*+?{}|^$\\", *name))
			buf_u8(&b, '\\');
		buf_u8(&b, (uint8_t)*name);
	}
	buf_u8(&b, 0);
	snprintf(why, SEARCH_WHY_MAX, "out of memory");
	good = !b.failed && search_set(s, (const char *)b.data, why);
	buf_release(&b);
	return good;
}

void search_release(struct search *s)
{
	if (s->set)
		regfree(&s->expression);
	s->set = false;
}

bool search_matches(const struct search *s, const char *text)
{
	return s->set && !regexec(&s->expression, text, 0, NULL, 0);
}
