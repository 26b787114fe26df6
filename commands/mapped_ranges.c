/* SPDX-License-Identifier: MIT */
#include "commands/mapped_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "format/log_values.h"
#include "lib/bisect.h"
#include "lib/canonical.h"

enum {
	MOVES_SHIFT = 32, /* 2^32 ranges moved in memory, about a second: a program with 65530
			     mappings (max_map_count, Linux 6.18) makes and removes 100000 others
			     in their midst for that */
};

/* Puts `n` ranges in the place of those from `first` up to `behind`. */
static bool replace(struct mapped_ranges *m, size_t first, size_t behind,
		    const struct mapped_range *by, size_t n)
{
	size_t count = m->count - (behind - first) + n;

	if (m->moved >> MOVES_SHIFT)
		return false;
	if (count > m->room) {
		size_t room = count + count / 2 + 16;
		void *grown = realloc(m->ranges, room * sizeof *m->ranges);

		if (!grown)
			return false;
		m->ranges = grown;
		m->room = room;
	}
	for (size_t i = first; i < behind; i++)
		m->now -= m->ranges[i].end - m->ranges[i].start;
	if (count != m->count && m->count > behind) {
		m->moved += m->count - behind;
		memmove(m->ranges + first + n, m->ranges + behind,
			(m->count - behind) * sizeof *m->ranges);
	}
	for (size_t i = 0; i < n; i++) {
		m->ranges[first + i] = by[i];
		m->now += by[i].end - by[i].start;
	}
	m->count = count;
	m->most = m->now > m->most ? m->now : m->most;
	return true;
}

/* Maps [start, end), which may lie over what is there, or takes it away. */
static bool set_range(struct mapped_ranges *m, uint64_t start, uint64_t end, bool mapped)
{
	struct mapped_range by[2];
	size_t first, behind, n = 0;

	if (start >= end || end > BT_USER_END)
		return true;
	BISECT(first, m->count, m->ranges[first].end < start);
	BISECT(behind, m->count, m->ranges[behind].start <= end);
	if (mapped) {
		by[n++] = (struct mapped_range){start, end};
		if (first < behind && m->ranges[first].start < start)
			by[0].start = m->ranges[first].start;
		if (first < behind && m->ranges[behind - 1].end > end)
			by[0].end = m->ranges[behind - 1].end;
		return replace(m, first, behind, by, n);
	}
	if (first < behind && m->ranges[first].start < start)
		by[n++] = (struct mapped_range){m->ranges[first].start, start};
	if (first < behind && m->ranges[behind - 1].end > end)
		by[n++] = (struct mapped_range){end, m->ranges[behind - 1].end};
	return replace(m, first, behind, by, n);
}

bool mapped_ranges_change(struct mapped_ranges *m, const struct bt_record_log_shape *s)
{
	switch (s->what) {
	case BT_SHAPE_MAP:
		return set_range(m, s->start, s->end, true);
	case BT_SHAPE_UNMAP:
		return set_range(m, s->start, s->end, false);
	case BT_SHAPE_MOVE:
		return s->from > BT_USER_END ||
		       (set_range(m, s->from, s->from + (s->end - s->start), false) &&
			set_range(m, s->start, s->end, true));
	default:
		return true;
	}
}

void mapped_ranges_release(struct mapped_ranges *m)
{
	free(m->ranges);
	*m = (struct mapped_ranges){0};
}
