/* SPDX-License-Identifier: MIT */
#include "collector/record/pointed_memory.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "collector/tracee/tracee.h"
#include "lib/page.h"

enum {
	RED_ZONE = 128,
	OVERFLOW_MAX = 1 << 20, /* bytes below its stack in which rsp is looked for: the kernel's
				   stack guard gap */
	NEAR_BEFORE = 64,       /* bytes kept before and behind an address that a register holds */
	NEAR_AFTER = 192,
	WORD_BEFORE = 16, /* the same of a word in memory */
	WORD_AFTER = 112,
	OBJECT_WORDS = 8,  /* looked at where a register points to */
	STACK_WORDS = 512, /* of the stack: the newest frames' */
};

/* The mapping that sp lies in; after an overflow, which leaves it in no writable memory, the one
 * above. */
static const struct mapping *find_stack(const struct address_space *space, uint64_t sp)
{
	for (uint64_t addr = sp; addr - sp <= OVERFLOW_MAX; addr += BT_PAGE) {
		const struct mapping *m = address_space_map_at(space, addr);

		if (m && m->prot & PROT_WRITE)
			return m;
	}
	return NULL;
}

struct memory_range pointed_stack(const struct task *task, uint64_t sp, uint64_t most)
{
	const struct mapping *m = find_stack(task->process->space, sp);
	struct memory_range stack = {0};

	if (!m)
		return stack;
	stack.start = sp < m->start + RED_ZONE ? m->start : sp - RED_ZONE;
	stack.end = m->end - stack.start < most ? m->end : stack.start + most;
	return stack;
}

struct gathering {
	const struct task *task;
	struct memory_range stack;
	struct memory_range *ranges;
	size_t count;
};

/* Adds what is around an address. writable: only memory that the program may change; the rest is in
 * files. Returns whether anything is mapped there outside of the stack. */
static bool add_near(struct gathering *g, uint64_t addr, uint64_t before, uint64_t after,
		     bool writable)
{
	const struct mapping *m = address_space_map_at(g->task->process->space, addr);
	struct memory_range r;

	if (!m || (writable && !(m->prot & PROT_WRITE)) ||
	    (addr >= g->stack.start && addr < g->stack.end) || g->count == POINTED_RANGES_MAX)
		return false;
	r.start = addr - m->start < before ? m->start : addr - before;
	r.end = m->end - addr < after ? m->end : addr + after;
	for (size_t i = 0; i < g->count; i++)
		if (r.start >= g->ranges[i].start && r.end <= g->ranges[i].end)
			return true;
	g->ranges[g->count++] = r;
	return true;
}

/* An object may begin with a pointer to its virtual table, which was relocated and is no more as
 * the file has it: the functions there tell what the object can do. */
static void add_virtual_table(struct gathering *g, uint64_t object)
{
	uint64_t table;

	if (tracee_read(g->task->host_tid, object, &table, sizeof table) == sizeof table)
		add_near(g, table, WORD_BEFORE, WORD_AFTER, false);
}

static void add_words_at(struct gathering *g, uint64_t addr, size_t count)
{
	uint64_t words[STACK_WORDS];
	size_t n =
		tracee_read(g->task->host_tid, addr, words, count * sizeof *words) / sizeof *words;

	for (size_t i = 0; i < n; i++)
		add_near(g, words[i], WORD_BEFORE, WORD_AFTER, true);
}

static int compare_ranges(const void *a, const void *b)
{
	const struct memory_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static size_t merge_ranges(struct memory_range *ranges, size_t count)
{
	size_t n = 0;

	if (count)
		qsort(ranges, count, sizeof *ranges, compare_ranges);
	for (size_t i = 0; i < count; i++) {
		if (n && ranges[i].start <= ranges[n - 1].end) {
			if (ranges[i].end > ranges[n - 1].end)
				ranges[n - 1].end = ranges[i].end;
		} else {
			ranges[n++] = ranges[i];
		}
	}
	return n;
}

size_t pointed_memory(const struct task *task, struct memory_range stack, bool with_words,
		      struct memory_range ranges[POINTED_RANGES_MAX])
{
	struct gathering g = {.task = task, .stack = stack, .ranges = ranges};
	uint64_t objects[BT_REG_COUNT];
	size_t object_count = 0;

	for (unsigned i = 0; i < BT_REG_COUNT; i++) {
		uint64_t addr = bt_regs_get(&task->regs, i);

		if (bt_reg_info[i].dwarf >= 0 && add_near(&g, addr, NEAR_BEFORE, NEAR_AFTER, false))
			objects[object_count++] = addr & ~(uint64_t)7;
	}
	for (size_t i = 0; with_words && i < object_count; i++)
		if (objects[i] != (task->regs.rip & ~(uint64_t)7)) {
			add_virtual_table(&g, objects[i]);
			add_words_at(&g, objects[i], OBJECT_WORDS);
		}
	if (with_words && stack.end - stack.start > 8)
		add_words_at(&g, (task->regs.rsp + 7) & ~(uint64_t)7, STACK_WORDS);
	return merge_ranges(ranges, g.count);
}
