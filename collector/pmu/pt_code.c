/* SPDX-License-Identifier: MIT */
#include "collector/pmu/pt_code.h"

#include <string.h>

#include "collector/recorder.h"
#include "collector/tracee.h"

/* The page as it was when the item was decoded. */
static struct pt_page *find(struct pt_code *c, uint64_t addr)
{
	struct pt_page *best = NULL;

	for (struct pt_page *p = c->pages; p < c->pages + PT_PAGES; p++)
		if (p->len && p->addr == addr && p->item <= c->item && (!best || p->item >= best->item))
			best = p;
	return best;
}

/* The page as it is now; known is what it was. NULL: it cannot be read. */
static struct pt_page *read_now(struct pt_code *c, uint64_t addr, struct pt_page *known)
{
	uint8_t now[PT_PAGE], code[BT_INSN_MAX];
	size_t len = tracee_read(c->task->tid, addr, now, sizeof now);
	struct bt_insn insn;

	/* The trace holds the page, too. */
	(void)!address_space_fetch(c->task->process->space, c->p->writer, c->task->tid, addr, false, code, &insn);
	if (!len)
		return NULL;
	if (!known || known->len != len || memcmp(c->bytes[known - c->pages], now, len) != 0) {
		if (!known || known->item != c->item)
			known = &c->pages[c->next++ % PT_PAGES];
		memcpy(c->bytes[known - c->pages], now, len);
		*known = (struct pt_page){.addr = addr, .item = c->item, .len = len};
	}
	known->look = c->look;
	return known;
}

static size_t read_page(struct pt_code *c, uint64_t addr, uint8_t *out, size_t n)
{
	uint64_t start = addr & ~(uint64_t)(PT_PAGE - 1);
	size_t at = (size_t)(addr - start);
	struct pt_page *p = find(c, start);

	if (!p || (!c->again && p->look != c->look))
		p = read_now(c, start, p);
	if (!p || at >= p->len)
		return 0;
	n = n < p->len - at ? n : p->len - at;
	memcpy(out, c->bytes[p - c->pages] + at, n);
	return n;
}

size_t pt_code_read(void *arg, uint64_t addr, uint8_t *bytes, size_t n)
{
	size_t got = read_page(arg, addr, bytes, n);

	return got && got < n && (addr + got) % PT_PAGE == 0 ? got + read_page(arg, addr + got, bytes + got, n - got) : got;
}

void pt_code_clear(struct pt_code *c)
{
	memset(c->pages, 0, sizeof c->pages);
	c->next = 0;
	c->item = 0;
	c->again = false;
}
