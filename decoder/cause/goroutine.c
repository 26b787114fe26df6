/* SPDX-License-Identifier: MIT */
/* runtime/traceback.go, since Go 1.0:
 *     goroutine 1 [chan send]:
 *     main.produce(0xc00001, 0x2)
 *     	/src/app.go:13 +0x45
 *     <empty line> */
#include "decoder/cause/goroutine.h"

#include <string.h>

/* Takes a line, without its end. False: there is no whole one. */
static bool take_line(struct slice *s, struct slice *line)
{
	const uint8_t *end = s->len ? memchr(s->at, '\n', s->len) : NULL;

	if (!end)
		return false;
	*line = slice_of(s->at, (size_t)(end - s->at));
	slice_take(s, line->len + 1);
	return true;
}

static bool begins_with(struct slice s, const char *text)
{
	return s.len >= strlen(text) && !memcmp(s.at, text, strlen(text));
}

bool goroutine_find(struct goroutine *g, struct slice words)
{
	struct slice line;
	bool found = false;

	while (take_line(&words, &line))
		if (begins_with(line, "goroutine 1 [")) {
			g->rest = words;
			found = true;
		}
	return found;
}

bool goroutine_next(struct goroutine *g, struct goroutine_frame *frame)
{
	const uint8_t *arguments, *colon;
	struct slice line, place;

	if (!take_line(&g->rest, &line) || !line.len || begins_with(line, "created by ") ||
	    !take_line(&g->rest, &place) || !begins_with(place, "\t"))
		return false;
	slice_take(&place, 1);
	arguments = memrchr(line.at, '(', line.len);
	colon = place.len ? memrchr(place.at, ':', place.len) : NULL;
	frame->function = slice_of(line.at, arguments ? (size_t)(arguments - line.at) : line.len);
	frame->file = slice_of(place.at, colon ? (size_t)(colon - place.at) : place.len);
	return frame->function.len;
}
