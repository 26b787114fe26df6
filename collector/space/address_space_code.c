/* SPDX-License-Identifier: MIT */
/* The code of an address space: the copies of its pages, and who is told of them. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "collector/space/address_space_private.h"
#include "collector/tracee/tracee.h"
#include "lib/page.h"

enum {
	BATCH = TRACEE_PAGES, /* pages that are read ahead get memory for so many at once */
};

/* Tells the observers of all spaces that share the page. */
static void tell_code(struct address_space *s, uint64_t addr, const uint8_t *bytes)
{
	uint64_t *content = code_pages_content(s->pages, addr);
	struct address_space *at = s;

	do {
		at->observer->ops->code(at->observer->arg, at, addr, bytes, content);
		at = at->next_same;
	} while (at != s);
}

/* Tells the extension which bytes of a page are others now. */
static void tell_changed(struct address_space *s, uint64_t addr, const uint8_t *before,
			 const uint8_t *now)
{
	size_t first = 0, end = BT_PAGE;

	while (first < BT_PAGE && before[first] == now[first])
		first++;
	while (end > first && before[end - 1] == now[end - 1])
		end--;
	if (s->extension && first < end)
		s->extension_ops->changed(s->extension, addr + first, addr + end);
}

/* The page at addr is `now`; before: as it was known, or NULL. */
static void set_page(struct address_space *s, uint64_t addr, const uint8_t *before,
		     const uint8_t *now)
{
	if (before || address_space_code_kind(s, addr) != CODE_FIXED)
		address_space_part(s);
	if (before) {
		s->epoch++;
		tell_changed(s, addr, before, now);
	}
	if (code_pages_set(s->pages, addr, now))
		tell_code(s, addr, now);
}

/* Makes the copy of the page at addr agree with the n bytes at addr + at, which are what is there
 * now. */
static void check_page(struct address_space *s, pid_t tid, uint64_t addr, size_t at,
		       const uint8_t *bytes, size_t n)
{
	const uint8_t *before = code_pages_find(s->pages, addr);
	uint8_t now[BT_PAGE] = {0};

	if (before && !memcmp(before + at, bytes, n))
		return;
	tracee_read(tid, addr, now, BT_PAGE);
	memcpy(now + at, bytes, n);
	set_page(s, addr, before, now);
}

bool address_space_use(struct address_space *s, uint64_t page, const uint8_t *bytes, size_t at,
		       size_t n)
{
	const uint8_t *before = code_pages_find(s->pages, page);

	if (before && !memcmp(before + at, bytes + at, n))
		return false;
	set_page(s, page, before, bytes);
	return true;
}

int address_space_fetch(struct address_space *s, pid_t tid, uint64_t addr, bool code_32,
			uint8_t *bytes, struct bt_insn *insn)
{
	int (*decode)(const uint8_t *, size_t, struct bt_insn *) =
		code_32 ? bt_insn_decode_32 : bt_insn_decode;
	size_t at = addr % BT_PAGE, here = BT_PAGE - at < BT_INSN_MAX ? BT_PAGE - at : BT_INSN_MAX;
	size_t got = tracee_read(tid, addr, bytes, here);
	int rc = decode(bytes, got, insn);

	if (rc == -BT_E_TRUNCATED && got == here && here < BT_INSN_MAX) {
		got += tracee_read(tid, addr + here, bytes + here, BT_INSN_MAX - here);
		rc = decode(bytes, got, insn);
	}
	if (got && rc) /* bytes that are no instruction are kept, too: the report shows them */
		check_page(s, tid, addr - at, at, bytes, got < here ? got : here);
	if (rc)
		return rc;
	check_page(s, tid, addr - at, at, bytes, insn->len < here ? insn->len : here);
	if (insn->len > here)
		check_page(s, tid, addr + here, 0, bytes + here, insn->len - here);
	return 0;
}

enum code_kind address_space_code_kind(const struct address_space *s, uint64_t addr)
{
	const struct mapping *m = address_space_map_at(s, addr);

	if (!m || !(m->prot & PROT_EXEC))
		return CODE_NONE;
	return mapping_is_mutable(m) ? CODE_MUTABLE : CODE_FIXED;
}

const uint8_t *address_space_fixed_page(struct address_space *s, pid_t tid, uint64_t addr)
{
	uint64_t page = page_down(addr);
	const uint8_t *known;
	uint8_t now[BT_PAGE];

	if (address_space_code_kind(s, page) != CODE_FIXED)
		return NULL;
	known = code_pages_find(s->pages, page);
	if (known)
		return known;
	if (tracee_read(tid, page, now, BT_PAGE) != BT_PAGE)
		return NULL;
	set_page(s, page, NULL, now);
	return code_pages_find(s->pages, page);
}

/* Whether the batch that is being filled has room for another page. */
static bool has_batch_room(struct page_ahead *a)
{
	if (a->batch && a->used < BATCH)
		return true;
	if (a->batch)
		code_pages_batch_put(a->batch);
	a->batch = code_pages_batch_new(BATCH, &a->bytes);
	a->used = 0;
	return a->batch;
}

/* Puts the next pages of addrs that are not known yet into the table, as they come to lie in the
 * batch; none is read yet. Returns how many there are, *next is behind them. */
static size_t begin_pages(struct address_space *s, uint64_t *pages, const uint64_t *addrs, size_t n,
			  size_t *next)
{
	size_t count = 0;

	if (*next >= n || !has_batch_room(&s->ahead))
		return 0;
	for (; *next < n && s->ahead.used < BATCH; (*next)++) {
		uint64_t page = page_down(addrs[*next]);

		if (code_pages_find(s->pages, page) ||
		    address_space_code_kind(s, page) != CODE_FIXED)
			continue;
		if (!code_pages_take(s->pages, page, s->ahead.batch, s->ahead.used))
			break;
		s->ahead.used++;
		pages[count++] = page;
	}
	return count;
}

void address_space_read_ahead(struct address_space *s, pid_t tid, const uint64_t *addrs, size_t n)
{
	uint64_t pages[BATCH];
	size_t next = 0, count, got;

	while ((count = begin_pages(s, pages, addrs, n, &next))) {
		uint8_t *bytes = s->ahead.bytes + (s->ahead.used - count) * BT_PAGE;

		got = tracee_read_pages(tid, pages, count, bytes);
		for (size_t i = 0; i < got; i++)
			tell_code(s, pages[i], bytes + i * BT_PAGE);
		for (size_t i = got; i < count; i++)
			code_pages_drop(s->pages, pages[i], pages[i] + BT_PAGE);
		if (got < count)
			return;
	}
}

void address_space_adopt(struct address_space *s, pid_t tid, uint64_t addr, size_t count,
			 struct code_pages *pages)
{
	uint8_t *now = malloc(count * BT_PAGE);
	size_t got = now ? tracee_read(tid, addr, now, count * BT_PAGE) / BT_PAGE : 0;

	for (size_t i = 0; i < count; i++, addr += BT_PAGE) {
		const uint8_t *known = code_pages_find(s->pages, addr),
			      *there = code_pages_find(pages, addr);
		const uint8_t *here = known ? known : i < got ? now + i * BT_PAGE : NULL;
		bool same = here && address_space_code_kind(s, addr) == CODE_FIXED &&
			    !memcmp(here, there, BT_PAGE) &&
			    (known || code_pages_share(s->pages, addr, pages));

		if (same && !known)
			tell_code(s, addr, there);
		if (!same)
			code_pages_drop(pages, addr, addr + BT_PAGE);
	}
	free(now);
}

const uint8_t *address_space_kept_page(const struct address_space *s, uint64_t addr)
{
	uint64_t page = page_down(addr);

	return address_space_code_kind(s, page) == CODE_FIXED ? code_pages_find(s->pages, page)
							      : NULL;
}

/* The bytes of one page, from its copy where that cannot be out of date. */
static bool code_of_page(struct address_space *s, pid_t tid, uint64_t page, size_t at,
			 uint8_t *bytes, size_t n)
{
	const uint8_t *fixed;

	if (address_space_code_kind(s, page) == CODE_MUTABLE) {
		if (tracee_read(tid, page + at, bytes, n) != n)
			return false;
		check_page(s, tid, page, at, bytes, n);
		return true;
	}
	fixed = address_space_fixed_page(s, tid, page);
	if (fixed)
		memcpy(bytes, fixed + at, n);
	return fixed;
}

size_t address_space_code(struct address_space *s, pid_t tid, uint64_t addr, uint8_t *bytes,
			  size_t n)
{
	size_t done = 0;

	while (done < n) {
		uint64_t page = page_down(addr + done);
		size_t at = (addr + done) % BT_PAGE,
		       here = BT_PAGE - at < n - done ? BT_PAGE - at : n - done;

		if (!code_of_page(s, tid, page, at, bytes + done, here))
			break;
		done += here;
	}
	return done;
}

void address_space_written(struct address_space *s, pid_t tid, uint64_t start, uint64_t end)
{
	if (s->extension)
		s->extension_ops->reread(s->extension, tid, start, end);
	address_space_forget(s, start, end);
}
