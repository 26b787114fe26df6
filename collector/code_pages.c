/* SPDX-License-Identifier: MIT */
#include "collector/code_pages.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/page.h"

enum {
	NO_PAGE = 1, /* not a page's address */
	FIRST_SLOTS = 64,
};

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

struct slot {
	uint64_t addr; /* NO_PAGE: empty */
	struct page_bytes *page;
};

struct code_pages {
	unsigned users;
	struct slot *slots; /* open addressing, at most half full; NULL: empty */
	size_t slot_count, count;
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

/* Whole pages, in front of those of the bytes. */
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

static size_t home_of(const struct code_pages *t, uint64_t addr)
{
	return (page_number(addr) * 0x9E3779B97F4A7C15u >> 32) & (t->slot_count - 1);
}

/* Where the page is or would be. There are slots. */
static struct slot *slot_of(const struct code_pages *t, uint64_t addr)
{
	size_t i = home_of(t, addr);

	while (t->slots[i].addr != addr && t->slots[i].addr != NO_PAGE)
		i = (i + 1) & (t->slot_count - 1);
	return &t->slots[i];
}

static bool grow(struct code_pages *t)
{
	struct slot *old = t->slots;
	size_t old_count = t->slot_count, count = old_count ? old_count * 2 : FIRST_SLOTS;

	if (t->count * 2 < old_count)
		return true;
	t->slots = malloc(count * sizeof *t->slots);
	if (!t->slots) {
		t->slots = old;
		return false;
	}
	t->slot_count = count;
	for (size_t i = 0; i < count; i++)
		t->slots[i].addr = NO_PAGE;
	for (size_t i = 0; i < old_count; i++)
		if (old[i].addr != NO_PAGE)
			*slot_of(t, old[i].addr) = old[i];
	free(old);
	return true;
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

	if (!t || !from->slot_count)
		return t;
	t->slots = malloc(from->slot_count * sizeof *t->slots);
	if (!t->slots) {
		free(t);
		return NULL;
	}
	memcpy(t->slots, from->slots, from->slot_count * sizeof *t->slots);
	t->slot_count = from->slot_count;
	t->count = from->count;
	for (size_t i = 0; i < t->slot_count; i++)
		if (t->slots[i].addr != NO_PAGE)
			t->slots[i].page->users++;
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
	for (size_t i = 0; i < t->slot_count; i++)
		if (t->slots[i].addr != NO_PAGE)
			put_bytes(t->slots[i].page);
	free(t->slots);
	free(t);
}

const uint8_t *code_pages_find(const struct code_pages *t, uint64_t addr)
{
	const struct slot *s = t->slot_count ? slot_of(t, addr) : NULL;

	return s && s->addr == addr ? s->page->bytes : NULL;
}

const uint8_t *code_pages_set(struct code_pages *t, uint64_t addr, const uint8_t bytes[BT_PAGE])
{
	struct page_bytes *page;
	struct slot *s;

	if (!grow(t))
		return NULL;
	s = slot_of(t, addr);
	if (s->addr == addr && s->page->users == 1) {
		memmove(s->page->bytes, bytes, BT_PAGE);
		s->page->object = 0;
		return s->page->bytes;
	}
	page = malloc(sizeof *page + BT_PAGE);
	if (!page)
		return NULL;
	*page = (struct page_bytes){.users = 1, .bytes = (uint8_t *)(page + 1)};
	memcpy(page->bytes, bytes, BT_PAGE);
	if (s->addr == addr)
		put_bytes(s->page);
	else
		t->count++;
	s->addr = addr;
	s->page = page;
	return page->bytes;
}

bool code_pages_take(struct code_pages *t, uint64_t addr, struct page_batch *b, size_t i)
{
	if (!grow(t))
		return false;
	b->users++;
	b->pages[i].users = 1;
	t->count++;
	*slot_of(t, addr) = (struct slot){addr, &b->pages[i]};
	return true;
}

const uint8_t *code_pages_share(struct code_pages *t, uint64_t addr, const struct code_pages *other)
{
	struct page_bytes *page = slot_of(other, addr)->page;

	if (!grow(t))
		return NULL;
	page->users++;
	t->count++;
	*slot_of(t, addr) = (struct slot){addr, page};
	return page->bytes;
}

uint64_t *code_pages_object(const struct code_pages *t, uint64_t addr)
{
	return &slot_of(t, addr)->page->object;
}

void code_pages_each(const struct code_pages *t, void (*page)(void *arg, uint64_t addr), void *arg)
{
	for (size_t i = 0; i < t->slot_count; i++)
		if (t->slots[i].addr != NO_PAGE)
			page(arg, t->slots[i].addr);
}

size_t code_pages_count(const struct code_pages *t) { return t->count; }

/* Takes a page out; those behind it that a search would not find any more move up. */
static void take_out(struct code_pages *t, struct slot *s)
{
	size_t mask = t->slot_count - 1, hole = (size_t)(s - t->slots);

	put_bytes(s->page);
	t->count--;
	for (size_t i = (hole + 1) & mask; t->slots[i].addr != NO_PAGE; i = (i + 1) & mask)
		if (((i - home_of(t, t->slots[i].addr)) & mask) >= ((i - hole) & mask)) {
			t->slots[hole] = t->slots[i];
			hole = i;
		}
	t->slots[hole] = (struct slot){.addr = NO_PAGE};
}

/* Also partly. A program may name the last pages that there are: an address behind them would be 0.
 */
static uint64_t pages_in(uint64_t start, uint64_t end) { return (end - 1 - start) / BT_PAGE + 1; }

bool code_pages_touch(const struct code_pages *t, uint64_t start, uint64_t end)
{
	start = page_down(start);
	if (!t->count || start >= end)
		return false;
	if (pages_in(start, end) <= t->slot_count) {
		for (uint64_t n = pages_in(start, end), at = start; n; n--, at += BT_PAGE)
			if (slot_of(t, at)->addr == at)
				return true;
		return false;
	}
	for (size_t i = 0; i < t->slot_count; i++)
		if (t->slots[i].addr != NO_PAGE && t->slots[i].addr >= start &&
		    t->slots[i].addr < end)
			return true;
	return false;
}

size_t code_pages_drop(struct code_pages *t, uint64_t start, uint64_t end)
{
	size_t before = t->count;

	start = page_down(start);
	if (!t->count || start >= end)
		return 0;
	if (pages_in(start, end) <= t->slot_count) {
		for (uint64_t n = pages_in(start, end), at = start; n; n--, at += BT_PAGE) {
			struct slot *s = slot_of(t, at);

			if (s->addr == at)
				take_out(t, s);
		}
		return before - t->count;
	}
	for (size_t i = 0; i < t->slot_count; i++) /* what moves up is looked at again */
		while (t->slots[i].addr != NO_PAGE && t->slots[i].addr >= start &&
		       t->slots[i].addr < end)
			take_out(t, &t->slots[i]);
	return before - t->count;
}
