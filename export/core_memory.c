/* SPDX-License-Identifier: MIT */
/* Memory of a core file: the snapshot's memory, the code that the trace has, and the dynamic
 * linker's list. Unknown memory is in no segment: a debugger would read zeros there. */
#include <stdlib.h>
#include <string.h>

#include "export/core_private.h"
#include "lib/grow.h"
#include "lib/page.h"

static bool add_range(struct core_export *c, uint64_t start, uint64_t end)
{
	struct core_extent *last = c->range_count ? &c->ranges[c->range_count - 1] : NULL, *at;

	if (last && last->end == start) {
		last->end = end;
		return true;
	}
	at = array_grow(c->ranges, c->range_count, &c->range_cap, sizeof *at);
	if (!at)
		return false;
	c->ranges = at;
	at[c->range_count++] = (struct core_extent){.start = start, .end = end};
	return true;
}

/* Code that the trace has, where it was so at the moment. Of a forked process it may be its
 * parent's. Mappings of damaged traces have any size, so the records are gone through. */
static bool add_code(struct core_export *c)
{
	uint8_t page[BT_PAGE];

	for (size_t i = 0; i < c->m->events.count; i++) {
		const struct bt_record *rec = &c->m->events.at[i]->rec;
		uint64_t addr;
		size_t n;

		if (rec->kind != BT_RECORD_CODE)
			continue;
		addr = rec->u.code.addr;
		n = trace_index_code(c->m->index, c->focus.snap->rec->space, c->focus.thread->epoch,
				     addr, page, sizeof page);
		if (n && addr <= UINT64_MAX - n && !add_range(c, addr, addr + n))
			return false;
	}
	return true;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct core_extent *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Sorted, without overlaps, each within one mapping, whose protection it has. */
static bool settle_ranges(struct core_export *c)
{
	struct core_extent *all = c->ranges;
	size_t count = c->range_count, map = 0;
	uint64_t done = 0;

	c->ranges = NULL;
	c->range_count = c->range_cap = 0;
	if (count)
		qsort(all, count, sizeof *all, compare_ranges);
	for (size_t i = 0; i < count; i++) {
		uint64_t at = all[i].start > done ? all[i].start : done;

		while (at < all[i].end) {
			uint64_t end = all[i].end;
			bool inside;

			while (map < c->map_count && c->maps[map]->end <= at)
				map++;
			inside = map < c->map_count && c->maps[map]->start <= at;
			if (map < c->map_count && !inside && c->maps[map]->start < end)
				end = c->maps[map]->start;
			if (inside && c->maps[map]->end < end)
				end = c->maps[map]->end;
			if (!add_range(c, at, end)) {
				free(all);
				return false;
			}
			c->ranges[c->range_count - 1].prot =
				inside ? c->maps[map]->prot : BT_PROT_READ;
			at = end;
		}
		done = at > done ? at : done;
	}
	free(all);
	return true;
}

int core_memory_find(struct core_export *c, struct bt_error *err)
{
	const struct model_snapshot *snap = c->focus.snap;
	bool good = true;

	for (size_t i = 0; i < snap->memory_count && good; i++)
		good = add_range(c, snap->memory[i]->addr,
				 snap->memory[i]->addr + snap->memory[i]->bytes.len);
	good = good && add_code(c);
	if (c->list.address && good)
		good = add_range(c, c->list.address, c->list.address + c->list.bytes.len) &&
		       add_range(c, c->list.pointer, c->list.pointer + 8);
	for (size_t i = 0; i < c->list.page_count && good; i++)
		good = add_range(c, c->list.pages[i].address,
				 c->list.pages[i].address + c->list.pages[i].len);
	return good && settle_ranges(c) ? 0 : bt_no_memory(err, "the core file");
}

/* The part of [start, start + len) that is at addr. */
static size_t take_part(uint64_t start, const uint8_t *bytes, size_t len, uint64_t addr,
			uint8_t *out, size_t n)
{
	size_t skip;

	if (addr < start || addr - start >= len)
		return 0;
	skip = (size_t)(addr - start);
	n = n < len - skip ? n : len - skip;
	memcpy(out, bytes + skip, n);
	return n;
}

static size_t read_known(const struct core_export *c, uint64_t addr, uint8_t *out, size_t n)
{
	size_t got = model_memory(c->m, c->focus.snap, addr, out, n);

	if (!got)
		got = trace_index_code(c->m->index, c->focus.snap->rec->space,
				       c->focus.thread->epoch, addr, out, n);
	for (size_t i = 0; i < c->list.page_count && !got; i++) {
		const struct linker_page *p = &c->list.pages[i];

		got = take_part(p->address, p->bytes, p->len, addr, out, n);
	}
	return got;
}

size_t core_memory_read(const struct core_export *c, uint64_t addr, uint8_t *out, size_t n)
{
	uint8_t pointer[8];
	size_t got;

	if (!c->list.address)
		return read_known(c, addr, out, n);
	for (unsigned i = 0; i < 8; i++)
		pointer[i] = (uint8_t)(c->list.address >> 8 * i);
	got = take_part(c->list.address, c->list.bytes.data, c->list.bytes.len, addr, out, n);
	if (!got)
		got = take_part(c->list.pointer, pointer, sizeof pointer, addr, out, n);
	if (got)
		return got;
	/* Kept memory may go on over the word. */
	if (addr < c->list.pointer && c->list.pointer - addr < n)
		n = (size_t)(c->list.pointer - addr);
	return read_known(c, addr, out, n);
}
