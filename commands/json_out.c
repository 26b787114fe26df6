/* SPDX-License-Identifier: MIT */
#include "commands/json_out.h"

#include <stdarg.h>
#include <stdio.h>

#include "lib/escape.h"

void json_out(struct buf *b, const char *format, ...)
{
	char text[256];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	if (n < 0 || n >= (int)sizeof text)
		b->failed = true;
	else
		buf_put(b, text, (size_t)n);
}

void json_out_text(struct buf *b, struct slice text)
{
	struct buf safe = {0};

	bt_escape(&safe, text, true);
	b->failed |= safe.failed;
	buf_put(b, "\"", 1);
	for (size_t i = 0; i < safe.len; i++) {
		if (safe.data[i] == '"' || safe.data[i] == '\\')
			buf_put(b, "\\", 1);
		buf_put(b, &safe.data[i], 1);
	}
	buf_put(b, "\"", 1);
	buf_release(&safe);
}
