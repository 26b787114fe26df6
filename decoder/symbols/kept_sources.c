/* SPDX-License-Identifier: MIT */
/* Source files by lines. A small one is kept whole, so that the viewer can show all of it; of a
 * large one the lines around those that places name. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoder/symbols/kept_private.h"
#include "lib/content_hash.h"
#include "lib/grow.h"
#include "lib/regular_file.h"

enum {
	WHOLE_MAX = 128 << 10, /* bytes of a file that is kept whole */
	ALL_MAX = 4 << 20,     /* of all files */
	AROUND = 10,           /* lines before and behind one that is named */
	READ_MAX = 64 << 20,   /* no source is larger */
	LINES_MAX = 1 << 20,   /* a trace may name any line */
};

struct wanted_source {
	const struct kept *kept;
	const char *path;
};

static bool is_wanted_source(const void *arg, const struct hash_slot *slot)
{
	const struct wanted_source *w = arg;

	return !strcmp(w->kept->sources[slot->number - 1].path, w->path);
}

static uint64_t path_key(const char *path) { return content_hash(path, strlen(path)).first; }

const struct kept_source *kept_find_source(const struct kept *k, const char *path)
{
	const struct wanted_source wanted = {k, path};
	const struct hash_slot *slot =
		hash_table_find_same(&k->by_path, path_key(path), is_wanted_source, &wanted);

	return slot ? &k->sources[slot->number - 1] : NULL;
}

struct kept_source *kept_new_source(struct kept *k, const struct kept_source *source)
{
	struct kept_source *all;

	if (k->source_count == SOURCES_MAX || kept_find_source(k, source->path))
		return NULL;
	all = array_grow(k->sources, k->source_count, &k->source_cap, sizeof *all);
	if (!all)
		return NULL;
	k->sources = all;
	if (!hash_table_add(&k->by_path,
			    (struct hash_slot){path_key(source->path), {k->source_count + 1}}))
		return NULL;
	all[k->source_count] = *source;
	return &all[k->source_count++];
}

void kept_add_lines(struct kept *k, struct kept_source *source, uint32_t first, struct slice text)
{
	struct kept_lines *lines = arena_alloc(&k->arena, sizeof *lines);

	if (!lines)
		return;
	*lines = (struct kept_lines){.first = first, .text = text};
	if (source->last)
		source->last->next = lines;
	else
		source->lines = lines;
	source->last = lines;
}

static uint64_t modified_at(const struct stat *st)
{
	return st->st_mtim.tv_sec < 0
		       ? 0
		       : (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

bool kept_source_differs(const struct kept_source *source)
{
	struct stat st;

	return stat(source->path, &st) || !S_ISREG(st.st_mode) ||
	       (uint64_t)st.st_size != source->size || modified_at(&st) != source->modified;
}

/* Takes a line with its end off the front. */
static struct slice take_line(struct slice *text)
{
	const uint8_t *end = text->len ? memchr(text->at, '\n', text->len) : NULL;

	return slice_take(text, end ? (size_t)(end + 1 - text->at) : text->len);
}

bool kept_source_line(const struct kept_source *source, uint32_t line, struct slice *text)
{
	for (const struct kept_lines *l = source->lines; l; l = l->next) {
		struct slice rest = l->text;
		uint32_t at = l->first;

		if (line < at)
			continue;
		for (; at < line && rest.len; at++)
			take_line(&rest);
		if (!rest.len)
			continue;
		*text = take_line(&rest);
		while (text->len &&
		       (text->at[text->len - 1] == '\n' || text->at[text->len - 1] == '\r'))
			text->len--;
		return true;
	}
	return false;
}

static uint32_t count_lines(struct slice text)
{
	uint32_t n = 0;

	while (text.len) {
		take_line(&text);
		n++;
	}
	return n;
}

char *kept_source_text(const struct kept_source *source, size_t *len)
{
	uint32_t next = 1;
	char *text = NULL;
	FILE *to = open_memstream(&text, len);

	if (!to)
		return NULL;
	for (const struct kept_lines *l = source->lines; l; l = l->next) {
		if (l->first < next || l->first > LINES_MAX)
			continue;
		for (; next < l->first; next++)
			fputc('\n', to);
		fwrite(l->text.at, 1, l->text.len, to);
		next += count_lines(l->text);
	}
	if (!fclose(to))
		return text;
	free(text);
	return NULL;
}

/* A line that a place names. */
struct named_line {
	const char *path;
	uint32_t line;
};

struct named_lines {
	struct named_line *at;
	size_t count, cap;
};

static void add_named(struct named_lines *all, const char *path, int line)
{
	struct named_line *at;

	if (*path != '/' || line <= 0 || line > LINES_MAX)
		return;
	at = array_grow(all->at, all->count, &all->cap, sizeof *at);
	if (!at)
		return;
	all->at = at;
	at[all->count++] = (struct named_line){path, (uint32_t)line};
}

static int compare_named(const void *a, const void *b)
{
	const struct named_line *x = a, *y = b;
	int by_path = strcmp(x->path, y->path);

	if (by_path)
		return by_path;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* The bytes of a file, in memory of its own; empty for one that cannot be read. */
static struct slice read_file(const char *path, struct stat *st)
{
	int fd = regular_file_open(AT_FDCWD, path, st);
	struct slice out = {0};
	void *at;

	if (fd < 0)
		return out;
	if (st->st_size > 0 && st->st_size <= READ_MAX) {
		at = malloc((size_t)st->st_size);
		if (at) /* not mapped: an editor may cut it short meanwhile */
			out = slice_of(at, (size_t)st->st_size);
		for (size_t done = 0; at && done < out.len;) {
			ssize_t n = read(fd, (char *)at + done, out.len - done);

			if (n <= 0)
				out.len = done;
			else
				done += (size_t)n;
		}
	}
	close(fd);
	return out;
}

static void add_copy(struct kept *k, struct kept_source *source, uint32_t first, struct slice text,
		     size_t *room)
{
	if (!text.len || text.len > *room)
		return;
	*room -= text.len;
	text = arena_slice(&k->arena, text);
	if (text.len)
		kept_add_lines(k, source, first, text);
}

/* Lines around those that are named, which are sorted. */
static void add_around(struct kept *k, struct kept_source *source, struct slice text,
		       const struct named_line *named, size_t count, size_t *room)
{
	struct slice window = {0};
	uint32_t line = 1, first = 0;

	for (size_t i = 0; text.len; line++) {
		struct slice one = take_line(&text);

		while (i < count && named[i].line + AROUND < line)
			i++;
		if (i == count)
			break;
		if (line + AROUND < named[i].line) {
			add_copy(k, source, first, window, room);
			window = (struct slice){0};
			continue;
		}
		if (!window.len) {
			window.at = one.at;
			first = line;
		}
		window.len += one.len;
	}
	add_copy(k, source, first, window, room);
}

static void add_file(struct kept *k, const struct named_line *named, size_t count, bool newer,
		     size_t *room)
{
	struct stat st;
	struct slice text = read_file(named->path, &st);
	struct kept_source *source = NULL;

	if (text.len)
		source = kept_new_source(k, &(struct kept_source){.path = named->path,
								  .size = (uint64_t)st.st_size,
								  .modified = modified_at(&st),
								  .newer = newer});
	if (source && text.len <= WHOLE_MAX)
		add_copy(k, source, 1, text, room);
	else if (source)
		add_around(k, source, text, named, count, room);
	free((void *)(uintptr_t)text.at);
}

static void name_lines(const struct kept *k, struct named_lines *all)
{
	for (size_t i = 0; i < k->place_count; i++) {
		const struct location *loc = &k->places[i].loc;

		add_named(all, loc->file, loc->line);
		for (size_t j = 0; j < loc->inlined_count; j++)
			add_named(all, loc->inlined[j].file, loc->inlined[j].line);
	}
}

void kept_add_sources(struct kept *k, bool (*is_newer)(void *arg, const char *path), void *arg)
{
	struct named_lines all = {0};
	size_t room = ALL_MAX;

	name_lines(k, &all);
	if (all.count)
		qsort(all.at, all.count, sizeof *all.at, compare_named);
	for (size_t i = 0, end; i < all.count; i = end) {
		for (end = i + 1; end < all.count && !strcmp(all.at[end].path, all.at[i].path);)
			end++;
		add_file(k, &all.at[i], end - i, is_newer(arg, all.at[i].path), &room);
	}
	free(all.at);
}
