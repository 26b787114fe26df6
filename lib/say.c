/* SPDX-License-Identifier: MIT */
#include "lib/say.h"

#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

enum {
	TEXT_MOST = 5000,
	TEXT_WITHOUT_MEMORY = 500,
};

void say(const char *format, ...)
{
	char little[5 * TEXT_WITHOUT_MEMORY], *room = malloc(5 * TEXT_MOST),
					      *text = room ? room : little;
	size_t size = room ? TEXT_MOST : TEXT_WITHOUT_MEMORY;
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, size, format, ap);
	va_end(ap);
	fprintf(stderr, "btrec: %s\n",
		say_safely(text + size, 4 * size, text)); /* each byte may become four */
	free(room);
}
