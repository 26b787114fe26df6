/* SPDX-License-Identifier: MIT */
#include "collector/backend/engine/persist/left_caches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>

#include "collector/backend/engine/cache/cache_region.h"
#include "collector/space/code_pages.h"
#include "lib/page.h"

enum {
	MOST = 8,
	MOST_CODE = 48 << 20, /* of all of them together; with all that belongs to it that is
				 several times as much memory */
};

/* A program that is not position independent lies below that. */
#define FIXED_END (1ull << 32)

struct left_cache {
	struct left_program program;
	struct code_cache *cache;
	struct code_pages *pages;
};

/* The newest last. */
struct left_caches {
	struct left_cache list[MOST];
	size_t count;
};

struct left_caches *left_caches_new(void) { return calloc(1, sizeof(struct left_caches)); }

static void take_cache_out(struct left_caches *l, size_t i)
{
	l->count--;
	memmove(&l->list[i], &l->list[i + 1], (l->count - i) * sizeof l->list[0]);
}

static void drop_cache(struct left_caches *l, size_t i)
{
	code_cache_put(l->list[i].cache);
	code_pages_put(l->list[i].pages);
	take_cache_out(l, i);
}

void left_caches_free(struct left_caches *l)
{
	while (l && l->count)
		drop_cache(l, 0);
	free(l);
}

struct left_program left_program_of(const struct address_space *s, pid_t pid, unsigned long persona)
{
	struct left_program none = {0};
	struct stat process;
	char path[32];
	size_t i = 0;

	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	while (i < s->mappings.count && !s->mappings.maps[i].ino)
		i++;
	if (i < s->mappings.count && !stat(path, &process)) {
		const struct mapping *m = &s->mappings.maps[i];
		struct left_program p = {m->start, m->dev, m->ino, FIXED_END, process.st_uid};

		if (persona & ADDR_NO_RANDOMIZE)
			p.end = UINT64_MAX;
		return m->end <= p.end ? p : none;
	}
	return none;
}

struct code_pages *left_pages_of(const struct left_program *program, const struct address_space *s)
{
	struct code_pages *pages = code_pages_copy(s->pages);

	if (pages)
		code_pages_drop(pages, program->end, UINT64_MAX);
	return pages;
}

static size_t code_bytes(const struct left_caches *l)
{
	size_t sum = 0;

	for (size_t i = 0; i < l->count; i++)
		sum += l->list[i].cache->code_len;
	return sum;
}

static bool same_program(const struct left_program *a, const struct left_program *b)
{
	return a->start == b->start && a->dev == b->dev && a->ino == b->ino && a->end == b->end &&
	       a->user == b->user;
}

/* Which one gives way: processes that leave much must not cost all others theirs. */
static size_t least_wanted(const struct left_caches *l, const struct left_program *program)
{
	size_t found = 0, same = 0;

	for (size_t i = l->count; i--;)
		if (same_program(&l->list[i].program, program)) {
			found = i;
			same++;
		}
	return same > 1 ? found : 0;
}

void left_caches_put(struct left_caches *l, const struct left_program *program,
		     struct code_cache *c, struct code_pages *pages)
{
	if (!c->fragment_count || c->full || code_cache_is_stale(c) || c->code_len > MOST_CODE) {
		code_cache_put(c);
		code_pages_put(pages);
		return;
	}
	while (l->count == MOST || (l->count && code_bytes(l) + c->code_len > MOST_CODE))
		drop_cache(l, least_wanted(l, program));
	cache_region_leave(c);
	l->list[l->count++] = (struct left_cache){*program, c, pages};
}

/* The addresses of pages. */
struct page_list {
	uint64_t *at;
	size_t count;
};

static void add_page(void *arg, uint64_t addr)
{
	struct page_list *l = arg;

	l->at[l->count++] = addr;
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* How many pages from number i on lie behind one another. */
static size_t page_run_length(const struct page_list *list, size_t i)
{
	size_t n = 1;

	while (n < ADDRESS_SPACE_ADOPTED && i + n < list->count &&
	       list->at[i + n] == list->at[i] + n * BT_PAGE)
		n++;
	return n;
}

/* Takes those pages out that the space has not got as they are: with the same bytes, which change
 * only with their mappings. False without memory. */
static bool drop_others(struct code_pages *pages, struct address_space *s, pid_t tid)
{
	struct page_list list = {.at = malloc((code_pages_count(pages) + 1) * sizeof *list.at)};

	if (!list.at)
		return false;
	code_pages_each(pages, add_page, &list);
	qsort(list.at, list.count, sizeof *list.at, by_address);
	for (size_t i = 0, n; i < list.count; i += n) {
		n = page_run_length(&list, i);
		address_space_adopt(s, tid, list.at[i], n, pages);
	}
	free(list.at);
	return true;
}

/* The part of a cache's code that the space has. */
struct adopted {
	const struct code_pages *pages;
	const struct function_stops *stops;
	uint64_t end; /* all of it that lies below */
};

static bool has_pages(void *arg, uint64_t start, uint64_t end)
{
	const struct adopted *a = arg;
	uint64_t page = page_down(start);

	if (function_stops_armed(a->stops, start, end))
		return false;
	for (; page < end && end > a->end; page += BT_PAGE)
		if (!code_pages_find(a->pages, page))
			return false;
	return true;
}

static uint32_t count_alive(const struct code_cache *c) { return c->fragment_count - c->dead; }

/* The one with the most in it, l->count: none. */
static size_t best_cache(const struct left_caches *l, const struct left_program *program,
			 bool ticks)
{
	size_t found = l->count;

	for (size_t i = 0; i < l->count; i++)
		if (l->list[i].cache->kind.ticks == ticks &&
		    same_program(&l->list[i].program, program) &&
		    (found == l->count ||
		     count_alive(l->list[i].cache) > count_alive(l->list[found].cache)))
			found = i;
	return found;
}

struct code_cache *left_caches_take(struct left_caches *l, const struct left_program *program,
				    bool ticks, struct address_space *s, pid_t tid)
{
	size_t i = best_cache(l, program, ticks), pages;
	struct left_cache left;

	if (i == l->count)
		return NULL;
	left = l->list[i];
	take_cache_out(l, i);
	pages = code_pages_count(left.pages);
	if (drop_others(left.pages, s, tid)) {
		bool all = code_pages_count(left.pages) == pages;

		code_cache_retain(left.cache, has_pages,
				  &(struct adopted){left.pages, &s->stops, all ? program->end : 0});
	} else {
		code_cache_put(left.cache);
		left.cache = NULL;
	}
	code_pages_put(left.pages);
	return left.cache;
}
