/* SPDX-License-Identifier: MIT */
#include "collector/space/code_pages.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/hash_table.h"
#include "lib/page.h"

struct page_bytes {
	unsigned users; /* tables */
	uint64_t object;
	struct page_batch *batch; /* NULL: it has its own memory, bytes stand behind this */
	uint8_t *bytes;
};

struct page_batch {
	unsigned users; /* pages in use, and who has made it until it is put */
	size_t size;    /* of its memory: this, and then the bytes */
	struct page_bytes pages[];
};

struct code_pages {
	unsigned users;
	struct hash_table pages; /* struct page_bytes by address */
};

static void put_bytes(struct page_bytes *p)
{
	if (--p->users)
		return;
	if (p->batch)
		code_pages_batch_put(p->batch);
	else
		free(p);
}

/* The size of a batch's head: whole pages, in front of those with the bytes. */
static size_t batch_head(size_t count)
{
	size_t bytes = sizeof(struct page_batch) + count * sizeof(struct page_bytes);

	return page_up(bytes);
}

struct page_batch *code_pages_batch_new(size_t count, uint8_t **bytes)
{
	size_t size = batch_head(count) + count * BT_PAGE;
	struct page_batch *b = mmap(NULL, size, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (b == MAP_FAILED)
		return NULL;
	b->users = 1;
	b->size = size;
	*bytes = (uint8_t *)b + batch_head(count);
	for (size_t i = 0; i < count; i++)
		b->pages[i] = (struct page_bytes){.batch = b, .bytes = *bytes + i * BT_PAGE};
	return b;
}

void code_pages_batch_put(struct page_batch *b)
{
	if (!--b->users)
		munmap(b, b->size);
}

/* The page that begins at addr, NULL. */
static struct page_bytes *page_at(const struct code_pages *t, uint64_t addr)
{
	const struct hash_slot *s = hash_table_find(&t->pages, addr);

	return s ? s->pointer : NULL;
}

struct code_pages *code_pages_new(void)
{
	struct code_pages *t = calloc(1, sizeof *t);

	if (t)
		t->users = 1;
	return t;
}

struct code_pages *code_pages_copy(const struct code_pages *from)
{
	struct code_pages *t = code_pages_new();

	if (!t)
		return NULL;
	if (!hash_table_copy(&t->pages, &from->pages)) {
		free(t);
		return NULL;
	}
	for (struct hash_slot *s = NULL; (s = hash_table_next(&t->pages, s));)
		((struct page_bytes *)s->pointer)->users++;
	return t;
}

struct code_pages *code_pages_get(struct code_pages *t)
{
	t->users++;
	return t;
}

unsigned code_pages_users(const struct code_pages *t) { return t->users; }

void code_pages_put(struct code_pages *t)
{
	if (!t || --t->users)
		return;
	for (struct hash_slot *s = NULL; (s = hash_table_next(&t->pages, s));)
		put_bytes(s->pointer);
	hash_table_release(&t->pages);
	free(t);
}

const uint8_t *code_pages_find(const struct code_pages *t, uint64_t addr)
{
	const struct page_bytes *page = page_at(t, addr);

	return page ? page->bytes : NULL;
}

const uint8_t *code_pages_set(struct code_pages *t, uint64_t addr, const uint8_t bytes[BT_PAGE])
{
	struct hash_slot *s = hash_table_find(&t->pages, addr), new = {.key = addr};
	struct page_bytes *page = s ? s->pointer : NULL;

	if (page && page->users == 1) {
		memmove(page->bytes, bytes, BT_PAGE);
		page->object = 0;
		return page->bytes;
	}
	new.pointer = page = malloc(sizeof *page + BT_PAGE);
	if (!page || (!s && !hash_table_add(&t->pages, new))) {
		free(page);
		return NULL;
	}
	*page = (struct page_bytes){.users = 1, .bytes = (uint8_t *)(page + 1)};
	memcpy(page->bytes, bytes, BT_PAGE);
	if (s) {
		put_bytes(s->pointer);
		s->pointer = page;
	}
	return page->bytes;
}

bool code_pages_take(struct code_pages *t, uint64_t addr, struct page_batch *b, size_t i)
{
	if (!hash_table_add(&t->pages, (struct hash_slot){addr, {.pointer = &b->pages[i]}}))
		return false;
	b->users++;
	b->pages[i].users = 1;
	return true;
}

const uint8_t *code_pages_share(struct code_pages *t, uint64_t addr, const struct code_pages *other)
{
	struct page_bytes *page = page_at(other, addr);

	if (!hash_table_add(&t->pages, (struct hash_slot){addr, {.pointer = page}}))
		return NULL;
	page->users++;
	return page->bytes;
}

uint64_t *code_pages_content(const struct code_pages *t, uint64_t addr)
{
	return &page_at(t, addr)->object;
}

void code_pages_each(const struct code_pages *t, void (*page)(void *arg, uint64_t addr), void *arg)
{
	for (const struct hash_slot *s = NULL; (s = hash_table_next(&t->pages, s));)
		page(arg, s->key);
}

size_t code_pages_count(const struct code_pages *t) { return t->pages.count; }

/* Counts pages that [start, end) touches only in part, too. A program may name the last pages that
 * there are: an address behind them would be 0. */
static uint64_t pages_in(uint64_t start, uint64_t end) { return (end - 1 - start) / BT_PAGE + 1; }

bool code_pages_touch(const struct code_pages *t, uint64_t start, uint64_t end)
{
	start = page_down(start);
	if (!t->pages.count || start >= end)
		return false;
	if (pages_in(start, end) <= t->pages.cap) {
		for (uint64_t n = pages_in(start, end), at = start; n; n--, at += BT_PAGE)
			if (hash_table_find(&t->pages, at))
				return true;
		return false;
	}
	for (const struct hash_slot *s = NULL; (s = hash_table_next(&t->pages, s));)
		if (s->key >= start && s->key < end)
			return true;
	return false;
}

struct page_range {
	uint64_t start, end;
};

static bool drop_within(void *arg, struct hash_slot *s)
{
	const struct page_range *r = arg;

	if (s->key < r->start || s->key >= r->end)
		return false;
	put_bytes(s->pointer);
	return true;
}

size_t code_pages_drop(struct code_pages *t, uint64_t start, uint64_t end)
{
	struct page_range range = {page_down(start), end};
	size_t before = t->pages.count;

	if (!before || range.start >= end)
		return 0;
	if (pages_in(range.start, end) > t->pages.cap) {
		hash_table_sweep(&t->pages, drop_within, &range);
		return before - t->pages.count;
	}
	for (uint64_t n = pages_in(range.start, end), at = range.start; n; n--, at += BT_PAGE) {
		struct hash_slot *s = hash_table_find(&t->pages, at);

		if (s) {
			put_bytes(s->pointer);
			hash_table_take_out(&t->pages, s);
		}
	}
	return before - t->pages.count;
}
