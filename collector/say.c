/* SPDX-License-Identifier: MIT */
#include "collector/say.h"

#include <langinfo.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/escape.h"

bool say_utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

void say(const char *format, ...)
{
	char text[5000], safe[4 * sizeof text]; /* each byte may become four */
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	bt_escape_str(safe, sizeof safe, text, say_utf8());
	fprintf(stderr, "btrec: %s\n", safe);
}
