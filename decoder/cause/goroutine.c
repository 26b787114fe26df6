/* SPDX-License-Identifier: MIT */
/* runtime/traceback.go, since Go 1.0:
 *     goroutine 1 [chan send]:
 *     main.produce(0xc00001, 0x2)
 *     	/src/app.go:13 +0x45
 *     <empty line> */
#include "decoder/cause/goroutine.h"

#include <stdio.h>
#include <string.h>

#include "decoder/cause/own_code.h"
#include "lib/array_size.h"

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

/* The number at the end of "/src/app.go:13 +0x45", from the colon on. */
static int line_behind(struct slice s)
{
	int line = 0;

	for (size_t i = 0; i < s.len && s.at[i] >= '0' && s.at[i] <= '9' && line < 100000000; i++)
		line = 10 * line + (s.at[i] - '0');
	return line;
}

static void put_text(char *out, size_t cap, struct slice s)
{
	snprintf(out, cap, "%.*s", (int)(s.len < cap ? s.len : cap), (const char *)s.at);
}

/* False: the goroutine has no more. */
static bool next_frame(struct goroutine *g, struct goroutine_frame *frame)
{
	const uint8_t *arguments, *colon;
	struct slice line, place, file;

	if (!take_line(&g->rest, &line) || !line.len || begins_with(line, "created by ") ||
	    !take_line(&g->rest, &place) || !begins_with(place, "\t"))
		return false;
	slice_take(&place, 1);
	arguments = memrchr(line.at, '(', line.len);
	colon = place.len ? memrchr(place.at, ':', place.len) : NULL;
	if (arguments)
		line.len = (size_t)(arguments - line.at);
	file = slice_of(place.at, colon ? (size_t)(colon - place.at) : place.len);
	slice_take(&place, file.len + (colon != NULL));
	put_text(frame->function, sizeof frame->function, line);
	put_text(frame->file, sizeof frame->file, file);
	frame->line = line_behind(place);
	return true;
}

/* Packages of Go that programs wait in, where its sources do not tell. */
static bool is_library(const struct goroutine_frame *frame)
{
	static const char *const packages[] = {"runtime.", "sync.", "internal/", "time."};

	for (size_t i = 0; i < ARRAY_SIZE(packages); i++)
		if (!strncmp(frame->function, packages[i], strlen(packages[i])))
			return true;
	return own_code_is_library_source(frame->file);
}

bool goroutine_next_own(struct goroutine *g, struct goroutine_frame *frame)
{
	while (next_frame(g, frame))
		if (*frame->function && !is_library(frame))
			return true;
	return false;
}
