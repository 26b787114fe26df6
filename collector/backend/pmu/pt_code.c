/* SPDX-License-Identifier: MIT */
#include "collector/backend/pmu/pt_code.h"

#include <string.h>

#include "collector/space/code_pages.h"
#include "collector/tracee/tracee.h"
#include "lib/insn.h"
#include "lib/page.h"

/* The page as it was when the item was decoded. */
static struct pt_page *find_page(struct pt_code *c, uint64_t addr)
{
	struct pt_page *best = c->last;

	if (best && best->addr == addr && best->item <= c->item && c->item < c->until)
		return best;
	best = NULL;
	c->until = UINT64_MAX;
	for (struct pt_page *p = c->pages; p < c->pages + PT_PAGES; p++) {
		if (!p->len || p->addr != addr)
			continue;
		if (p->item > c->item)
			c->until = p->item < c->until ? p->item : c->until;
		else if (!best || p->item >= best->item)
			best = p;
	}
	c->last = best;
	return best;
}

/* The page as it is now; known is what it was. NULL: it cannot be read. */
static struct pt_page *read_now(struct pt_code *c, uint64_t addr, struct pt_page *known)
{
	uint8_t now[BT_PAGE] = {0};
	size_t len = tracee_read(c->task->host_tid, addr, now, sizeof now);
	const uint8_t *observed;

	if (!len)
		return NULL;
	if (!known || known->len != len ||
	    memcmp(c->bytes[known - c->pages], now, sizeof now) != 0) {
		if (!known || known->item != c->item)
			known = &c->pages[c->next++ % PT_PAGES];
		memcpy(c->bytes[known - c->pages], now, sizeof now);
		*known = (struct pt_page){.addr = addr, .item = c->item, .len = len};
		c->last = NULL;
	}
	known->look = c->look;
	observed = code_pages_find(c->task->process->space->pages, addr);
	known->told = observed && !memcmp(observed, now, sizeof now);
	return known;
}

static struct pt_page *page_of(struct pt_code *c, uint64_t addr)
{
	uint64_t start = page_down(addr);
	struct pt_page *p = find_page(c, start);

	return p && (c->again || p->look == c->look) ? p : read_now(c, start, p);
}

static size_t read_pt_page(struct pt_code *c, uint64_t addr, uint8_t *out, size_t n)
{
	struct pt_page *p = page_of(c, addr);
	size_t at = addr % BT_PAGE;

	if (!p || at >= p->len)
		return 0;
	n = n < p->len - at ? n : p->len - at;
	memcpy(out, c->bytes[p - c->pages] + at, n);
	return n;
}

/* The observer knows the n bytes of code at addr. Other bytes of their page may be data, whose
 * changes begin no epoch. */
static void tell_page(struct pt_code *c, uint64_t addr, size_t n)
{
	struct pt_page *p = n ? page_of(c, addr) : NULL;

	if (p && !p->told)
		p->told = address_space_use(c->task->process->space, p->addr,
					    c->bytes[p - c->pages], addr - p->addr, n);
}

/* Tells the instruction's bytes of the n at addr; all n, if they are no instruction. */
static void tell_insn(struct pt_code *c, uint64_t addr, const uint8_t *bytes, size_t n)
{
	size_t here = BT_PAGE - addr % BT_PAGE;
	const struct pt_page *p = page_of(c, addr);
	struct bt_insn insn;

	if (n <= here && p && p->told)
		return;
	if (!bt_insn_decode(bytes, n, &insn))
		n = insn.len;
	here = n < here ? n : here;
	tell_page(c, addr, here);
	tell_page(c, addr + here, n - here);
}

size_t pt_code_read(void *arg, uint64_t addr, uint8_t *bytes, size_t n)
{
	struct pt_code *c = arg;
	size_t got = read_pt_page(c, addr, bytes, n);

	if (got && got < n && (addr + got) % BT_PAGE == 0)
		got += read_pt_page(c, addr + got, bytes + got, n - got);
	if (got && !c->again)
		tell_insn(c, addr, bytes, got);
	return got;
}

void pt_code_clear(struct pt_code *c)
{
	memset(c->pages, 0, sizeof c->pages);
	c->next = 0;
	c->last = NULL;
	c->item = 0;
	c->again = false;
}
