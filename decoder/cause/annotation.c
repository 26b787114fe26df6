/* SPDX-License-Identifier: MIT */
#include "decoder/cause/annotation.h"

#include <string.h>

/* GitHub, "Workflow commands for GitHub Actions"; actions/toolkit, command.ts: %, CR and LF of a
 * message are written as %25, %0D and %0A; of a property : and , too. */
static void put_encoded(struct text *t, const struct text *plain, const char *special)
{
	for (size_t i = 0; i < plain->buf.len; i++) {
		char c = (char)plain->buf.data[i];

		if (c == '%' || c == '\r' || c == '\n' || (c && strchr(special, c)))
			text_printf(t, "%%%02X", (unsigned)(unsigned char)c);
		else
			buf_put(&t->buf, &c, 1);
	}
	t->buf.failed |= plain->buf.failed;
}

static const char *in_folder(const char *file, const char *folder)
{
	size_t len = strlen(folder);

	while (len && folder[len - 1] == '/')
		len--;
	if (len && !strncmp(file, folder, len) && file[len] == '/')
		return file + len + 1;
	return file;
}

static void put_property(struct text *t, const char *before, struct text *value)
{
	text_printf(t, "%s", before);
	put_encoded(t, value, ":,");
	buf_reset(&value->buf);
}

void annotation_put_github(const struct headline *h, const char *folder, struct text *t)
{
	struct text part = {.utf8 = t->utf8};
	const char *before = " title=";

	text_printf(t, "::error");
	if (*h->file) {
		text_outside(&part, in_folder(h->file, folder));
		put_property(t, " file=", &part);
		if (h->line > 0)
			text_printf(t, ",line=%d", h->line);
		before = ",title=";
	}
	headline_put_event(h, &part);
	put_property(t, before, &part);
	text_printf(t, "::");
	headline_put(h, &part);
	if (*h->text) {
		text_printf(&part, "\n");
		text_outside(&part, h->text);
	}
	put_encoded(t, &part, "");
	text_printf(t, "\n");
	buf_release(&part.buf);
}
