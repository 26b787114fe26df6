/* SPDX-License-Identifier: MIT */
#include "collector/backend/pmu/lbr_stack.h"

#include <string.h>

enum {
	FLAG_ABORT = 1 << 3, /* struct perf_branch_entry (include/uapi/linux/perf_event.h) */
	SPEC_SHIFT = 24,
	SPEC_MASK = 3,
	SPEC_WRONG_PATH = 1, /* PERF_BR_SPEC_WRONG_PATH */
};

static bool is_zero(const struct lbr_entry *e) { return !e->from && !e->to; }

static bool is_same_branch(const struct lbr_entry *a, const struct lbr_entry *b)
{
	return a->from == b->from && a->to == b->to;
}

static bool is_kernel(uint64_t addr) { return addr >> 63; }

/* QUIRK(lbr-stale-tail): the helper gives as many entries as the record is deep. Those that the
 * kernel's filter removed (branches from the kernel) are closed up from behind, and the oldest
 * stands again behind itself, once for each. A loop of one branch looks the same: of such a tail
 * one entry is believed. */
static size_t without_repeats(const struct lbr_entry *e, size_t n)
{
	while (n > 1 && is_same_branch(&e[n - 1], &e[n - 2]) && e[n - 1].flags == e[n - 2].flags)
		n--;
	return n;
}

/* Empty slots, and those that the filter cleared, have no `from`. Nothing behind the first one is
 * believed. */
static size_t until_zero(const struct lbr_entry *e, size_t n)
{
	size_t i = 0;

	while (i < n && e[i].from)
		i++;
	return i;
}

/* QUIRK(lbr-ring): a return from the kernel ends in user code and is recorded; so may be what led
 * there, where somebody else's event asks for the kernel. QUIRK(lbr-speculative): AMD records
 * branches of a wrong path, which never retired. */
static bool is_ours(const struct lbr_entry *e)
{
	return !is_kernel(e->from) && !is_kernel(e->to) &&
	       (e->flags >> SPEC_SHIFT & SPEC_MASK) != SPEC_WRONG_PATH;
}

/* QUIRK(skl-dup0): the newest entry stands there twice. In a loop of one branch it does so, too:
 * there the code leads from its target to itself. */
static size_t without_duplicate(const struct lbr_entry *e, size_t n, lbr_leads *leads, void *arg)
{
	return n > 1 && is_same_branch(&e[0], &e[1]) && !leads(arg, e[1].to, e[0].from) ? 1 : 0;
}

/* The n newest entries, oldest first. */
static void take_entries(struct lbr_run *run, const struct lbr_entry *e, size_t n, lbr_leads *leads,
			 void *arg)
{
	size_t newest;

	run->count = 0;
	newest = without_duplicate(e, n, leads, arg);
	while (n > newest) {
		n--;
		if (is_ours(&e[n]))
			run->entries[run->count++] = e[n];
	}
}

/* QUIRK(lbr-old-tail): a record may have been full though fewer entries are valid than there are
 * slots: the filter may have left some out. Then the last valid one stands again behind itself, or
 * an address was cleared. In a window from its start the first branch is the kernel's way to user
 * code. */
static bool is_from_its_start(const struct lbr_entry *e, size_t n, size_t given)
{
	const struct lbr_entry *behind = &e[n];
	bool untouched;

	if (!n || n >= given || !is_kernel(e[n - 1].from) || is_kernel(e[n - 1].to))
		return false;
	untouched = !behind->from && !behind->to && !behind->flags;
	return untouched || (behind->from && (!is_same_branch(behind, &e[n - 1]) ||
					      behind->flags != e[n - 1].flags));
}

/* QUIRK(lbr-abort): each aborted transaction may have left one entry out, so as many slots at the
 * end are of another time. */
static size_t without_old_slots(const struct lbr_entry *e, size_t n)
{
	size_t aborts = 0;

	for (size_t i = 0; i < n; i++)
		aborts += (e[i].flags & FLAG_ABORT) != 0;
	return n - aborts;
}

/* The record was reset at the window's start. Its last slot, which the filter does not touch, is
 * empty when there were fewer branches than slots. QUIRK(lbr-abort): where a transaction aborted,
 * one entry of two may be left out, and the last slot be that of another time. */
static bool is_complete(const struct lbr_entry *e, size_t n, size_t given,
			const struct lbr_machine *m)
{
	if (!given || (m->depth && given < m->depth) || n == given)
		return false;
	for (size_t i = 0; i < n; i++)
		if (e[i].flags & FLAG_ABORT)
			return false;
	return m->tail_told ? is_zero(&e[given - 1]) : is_from_its_start(e, n, given);
}

void lbr_run_of_snapshot(struct lbr_run *run, const struct lbr_entry *entries, size_t bytes,
			 int valid, const struct lbr_machine *m, lbr_leads *leads, void *arg)
{
	size_t given = bytes / sizeof *entries, told, n;

	*run = (struct lbr_run){.count = 0};
	if (given > LBR_DEPTH_MAX)
		given = LBR_DEPTH_MAX;
	told = valid < 0               ? without_old_slots(entries, given)
	       : (size_t)valid < given ? (size_t)valid
				       : given;
	n = until_zero(entries, told);
	if (valid < 0 && n == told)
		n = without_repeats(entries, n);
	run->complete = is_complete(entries, n, given, m);
	if (run->complete && n && is_kernel(entries[n - 1].from))
		run->began = entries[n - 1].to;
	take_entries(run, entries, n, leads, arg);
}

void lbr_run_of_sample(struct lbr_run *run, const struct lbr_entry *entries, size_t count,
		       lbr_leads *leads, void *arg)
{
	size_t n = count > LBR_DEPTH_MAX ? LBR_DEPTH_MAX : count;

	run->complete = false;
	take_entries(run, entries, until_zero(entries, n), leads, arg);
}
