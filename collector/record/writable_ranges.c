/* SPDX-License-Identifier: MIT */
#include "collector/record/writable_ranges.h"

#include <string.h>

#include "collector/tracee/tracee.h"

/* Pages behind a file's end cannot be written, nor read. */
static bool is_readable(pid_t tid, uint64_t addr)
{
	uint8_t byte;

	return tracee_read(tid, addr, &byte, sizeof byte);
}

/* Whether addr is in the mapping, or below it where it grows downward: as far as the stack has
 * grown, or will when the kernel writes there, `all` does not say. */
static bool reaches(const struct mapping *m, uint64_t addr)
{
	return m->start <= addr || !strcmp(m->path, "[stack]");
}

/* [start, start + n), which is not empty. */
static bool is_writable(pid_t tid, const struct mapping_list *all, uint64_t start, uint64_t n)
{
	const uint64_t last = start + (n - 1);

	for (size_t i = mappings_behind(all, start); i < all->count; i++) {
		const struct mapping *m = &all->maps[i];
		const bool is_end = last < m->end;

		if (!reaches(m, start) || !(m->prot & PROT_WRITE) ||
		    (m->ino && !is_readable(tid, is_end ? last : m->end - 1)))
			return false;
		if (is_end)
			return true;
		start = m->end;
	}
	return false;
}

bool ranges_are_writable(pid_t tid, const struct mapping_list *all,
			 const struct guarded_pages *guards, const struct syscall_ranges *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct syscall_range *r = &s->ranges[i];
		const uint64_t end = r->start + r->length;

		if (guarded_pages_first(guards, r->start, end).start < end ||
		    !is_writable(tid, all, r->start, r->length))
			return false;
	}
	return true;
}
