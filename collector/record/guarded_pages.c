/* SPDX-License-Identifier: MIT */
#include "collector/record/guarded_pages.h"

#include <stdlib.h>

#include "lib/canonical.h"

struct putting {
	struct guarded_pages *g;
	pid_t tid;
	void (*put)(void *arg, pid_t tid, const struct log_shape *shape);
	void *arg;
};

/* They let nobody read, not even a tracer. */
bool guarded_pages_are_at(pid_t tid, uint64_t addr)
{
	uint8_t byte;

	return tracee_read(tid, addr, &byte, sizeof byte) != sizeof byte;
}

static bool add_range(struct guarded_pages *g, uint64_t start, uint64_t end)
{
	if (start >= end)
		return true;
	if (g->count == g->room) {
		size_t room = g->room ? 2 * g->room : 16;
		void *grown = realloc(g->ranges, room * sizeof *g->ranges);

		if (!grown)
			return false;
		g->ranges = grown;
		g->room = room;
	}
	g->ranges[g->count++] = (struct guarded_range){start, end};
	return true;
}

/* Takes out the part of some range that lies in [start, end). False: there is none, or `*failed`.
 */
static bool take_range(struct guarded_pages *g, uint64_t start, uint64_t end,
		       struct guarded_range *out, bool *failed)
{
	for (size_t i = 0; i < g->count; i++) {
		struct guarded_range r = g->ranges[i];

		if (r.start >= end || start >= r.end)
			continue;
		*out = (struct guarded_range){r.start > start ? r.start : start,
					      r.end < end ? r.end : end};
		g->ranges[i] = g->ranges[--g->count];
		*failed = !add_range(g, r.start, out->start) || !add_range(g, out->end, r.end);
		return !*failed;
	}
	return false;
}

static bool forget_range(struct guarded_pages *g, uint64_t start, uint64_t end)
{
	struct guarded_range r;
	bool failed = false;

	while (take_range(g, start, end, &r, &failed))
		;
	return !failed;
}

static void put_guard(const struct putting *p, uint64_t start, uint64_t end)
{
	const struct log_shape guard = {.what = BT_SHAPE_MAP, .start = start, .end = end};

	p->put(p->arg, p->tid, &guard);
}

/* Those of [start, end) that are still there have another protection in the log by now. */
static bool put_guards(const struct putting *p, uint64_t start, uint64_t end)
{
	struct guarded_pages kept = {.ranges = NULL};
	struct guarded_range r;
	bool failed = false;

	while (take_range(p->g, start, end, &r, &failed)) {
		if (!guarded_pages_are_at(p->tid, r.start))
			continue;
		put_guard(p, r.start, r.end);
		failed |= !add_range(&kept, r.start, r.end);
	}
	for (size_t i = 0; i < kept.count; i++)
		failed |= !add_range(p->g, kept.ranges[i].start, kept.ranges[i].end);
	guarded_pages_release(&kept);
	return !failed;
}

struct guarded_range guarded_pages_first(const struct guarded_pages *g, uint64_t start,
					 uint64_t end)
{
	struct guarded_range next = {end, end};

	for (size_t i = 0; i < g->count; i++) {
		const struct guarded_range *r = &g->ranges[i];

		if (r->end > start && r->start < next.start) {
			next.start = r->start > start ? r->start : start;
			next.end = r->end < end ? r->end : end;
		}
	}
	return next;
}

/* In the log guards are mappings of their own, which before Linux 6.17 nothing moves together with
 * others. */
static bool put_move(const struct putting *p, const struct log_shape *s)
{
	const uint64_t end = s->from + (s->end - s->start), way = s->start - s->from;
	struct guarded_pages moved = {.ranges = NULL};
	bool ok = forget_range(p->g, s->start, s->end);

	for (uint64_t at = s->from; ok && at < end;) {
		const struct guarded_range r = guarded_pages_first(p->g, at, end);
		struct log_shape part = *s;

		part.from = at;
		part.start = at + way;
		part.end = r.start + way;
		if (at < r.start)
			p->put(p->arg, p->tid, &part);
		if (r.start < r.end) {
			const struct log_shape left = {
				.what = BT_SHAPE_UNMAP, .start = r.start, .end = r.end};

			put_guard(p, r.start + way, r.end + way);
			p->put(p->arg, p->tid, &left);
			ok = add_range(&moved, r.start + way, r.end + way);
		}
		at = r.end;
	}
	ok = forget_range(p->g, s->from, end) && ok;
	for (size_t i = 0; ok && i < moved.count; i++)
		ok = add_range(p->g, moved.ranges[i].start, moved.ranges[i].end);
	guarded_pages_release(&moved);
	return ok;
}

bool guarded_pages_put(struct guarded_pages *g, pid_t tid, const struct log_shape *shape,
		       void (*put)(void *arg, pid_t tid, const struct log_shape *shape), void *arg)
{
	const struct putting p = {g, tid, put, arg};
	const bool is_fresh = shape->what == BT_SHAPE_MAP && !shape->is_old && !shape->is_whole;

	if (shape->what == BT_SHAPE_MOVE && g->count)
		return put_move(&p, shape);
	put(arg, tid, shape);
	if (shape->guards)
		return forget_range(g, shape->start, shape->end) &&
		       add_range(g, shape->start, shape->end);
	if (!g->count)
		return true;
	if (is_fresh || shape->what == BT_SHAPE_UNMAP)
		return forget_range(g, shape->start, shape->end);
	/* Where the mapping begins, or ends, is not in the shape. */
	return put_guards(&p, shape->downward ? 0 : shape->start,
			  shape->is_whole ? BT_USER_END : shape->end);
}

void guarded_pages_release(struct guarded_pages *g)
{
	free(g->ranges);
	*g = (struct guarded_pages){.ranges = NULL};
}
