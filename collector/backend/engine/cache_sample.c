/* SPDX-License-Identifier: MIT */
/* A sample of where indirect branches lead where no history is kept. For a while table 1 stays
 * empty, so that each branch without a prediction is searched for, and the search notes it
 * (routines.c). */
#include <stdlib.h>

#include "collector/backend/engine/engine_private.h"
#include "lib/array_size.h"

/* As it lies in the tracee. */
struct noted_arrival {
	uint64_t from; /* a place in the code */
	uint64_t to;
};
_Static_assert(sizeof(struct noted_arrival) == RECORD_BYTES, "routines.c");

enum { NOTED_MOST = SAMPLE_BYTES / RECORD_BYTES };

bool cache_sample_is_full(const struct cache_sample *s)
{
	return s->made >= s->wanted || s->count == s->room;
}

void cache_sample_begin(struct engine_space *es, size_t wanted)
{
	struct cache_sample *s = &es->sample;

	s->room = NOTED_MOST;
	if (!s->list)
		s->list = malloc(s->room * sizeof *s->list);
	if (!s->list)
		return;
	s->count = 0;
	s->made = 0;
	s->wanted = wanted;
	tables_free_first(&es->cache->tables);
}

void cache_sample_end(struct engine_space *es) { es->sample.wanted = 0; }

uint64_t cache_sample_offset(const struct engine_space *es)
{
	const struct cache_sample *s = &es->sample;

	return s->wanted && !cache_sample_is_full(s)
		       ? -((s->room - s->count) * sizeof(struct noted_arrival))
		       : 0;
}

uint64_t cache_sample_ahead(const struct engine_space *es, uint64_t ahead)
{
	const struct cache_sample *s = &es->sample;
	uint64_t most = s->wanted + STOP_NEAR;

	return s->wanted && !cache_sample_is_full(s) && ahead > most ? most : ahead;
}

uint64_t cache_sample_transfers(const struct engine_space *es)
{
	const struct cache_sample *s = &es->sample;

	return s->wanted && !cache_sample_is_full(s) ? s->room : TICKS_TRANSFERS;
}

/* Notes that the program may have written over are believed as far as they name an indirect branch
 * of the cache. */
static void add_noted_arrivals(struct engine_space *es, const struct noted_arrival *noted, size_t n)
{
	struct cache_sample *s = &es->sample;

	for (size_t i = 0; i < n && s->count < s->room; i++) {
		const struct fragment *fragment;
		struct state_entry room;
		const struct state_entry *p =
			code_cache_state_at(es->cache, (uint32_t)noted[i].from, &fragment, &room);

		if (p)
			s->list[s->count++] = (struct indirect_visit){
				fragment->pc + (uint64_t)(int64_t)p->pc, noted[i].to};
	}
}

int cache_sample_take(const struct task *task, struct engine_space *es, const struct stretch *s,
		      uint64_t made)
{
	const struct engine_task *et = task->backend;
	struct noted_arrival noted[256];
	const size_t room = et->sample_room;
	uint64_t at = engine_window_at(task, RECORDS_END - room * sizeof noted[0]);
	size_t bytes = room * sizeof noted[0] + s->ctx.sample, count = bytes / sizeof noted[0];

	if (!room)
		return 0;
	es->sample.made += made;
	if (bytes % sizeof noted[0] || count > room) /* it is scribbled over */
		return 0;
	for (size_t done = 0, n; done < count; done += n) {
		n = count - done < ARRAY_SIZE(noted) ? count - done : ARRAY_SIZE(noted);
		if (!window_read(&es->window, task->host_tid, at + done * sizeof noted[0], noted,
				 n * sizeof noted[0]))
			return -BT_E_GONE;
		add_noted_arrivals(es, noted, n);
	}
	return 0;
}

void cache_sample_release(struct cache_sample *s)
{
	free(s->list);
	s->list = NULL;
}
