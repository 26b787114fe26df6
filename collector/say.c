/* SPDX-License-Identifier: MIT */
#include "collector/say.h"

#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/escape.h"

static bool is_utf8(locale_t user)
{
	bool is = user && !strcmp(nl_langinfo_l(CODESET, user), "UTF-8");

	if (user)
		freelocale(user);
	return is;
}

const char *say_safely(char *safe, size_t size, const char *text)
{
	const char *at = text;

	while (*at && !(*at & 0x80))
		at++;
	bt_escape_str(safe, size, text, *at && is_utf8(newlocale(LC_CTYPE_MASK, "", (locale_t)0)));
	return safe;
}

void say(const char *format, ...)
{
	char text[5000], safe[4 * sizeof text]; /* each byte may become four */
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	fprintf(stderr, "btrec: %s\n", say_safely(safe, sizeof safe, text));
}
