/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "import/perf_private.h"

static bool is_queued_before(const struct perf_queued *a, const struct perf_queued *b)
{
	return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static void swap_records(struct perf_queued *a, struct perf_queued *b)
{
	struct perf_queued t = *a;

	*a = *b;
	*b = t;
}

bool perf_queue_put(struct perf_queue *q, uint64_t time, const struct perf_record *r, bool copy)
{
	struct perf_queued item = {
		.time = time, .order = q->order++, .record = *r, .owned = copy && r->body.len};
	struct perf_queued *grown = array_grow(q->at, q->count, &q->cap, sizeof *grown);
	size_t i;

	if (!grown)
		return false;
	q->at = grown;
	if (item.owned) {
		uint8_t *body = malloc(r->body.len);

		if (!body)
			return false;
		memcpy(body, r->body.at, r->body.len);
		item.record.body.at = body;
		q->bytes += r->body.len;
	}
	i = q->count++;
	q->at[i] = item;
	for (; i && is_queued_before(&q->at[i], &q->at[(i - 1) / 2]); i = (i - 1) / 2)
		swap_records(&q->at[i], &q->at[(i - 1) / 2]);
	return true;
}

struct perf_queued perf_queue_take(struct perf_queue *q)
{
	struct perf_queued out = q->at[0];
	size_t i = 0;

	q->at[0] = q->at[--q->count];
	for (;;) {
		size_t least = 2 * i + 1;

		if (least + 1 < q->count && is_queued_before(&q->at[least + 1], &q->at[least]))
			least++;
		if (least >= q->count || !is_queued_before(&q->at[least], &q->at[i]))
			break;
		swap_records(&q->at[least], &q->at[i]);
		i = least;
	}
	if (out.owned)
		q->bytes -= out.record.body.len;
	return out;
}

void perf_queue_release(struct perf_queue *q)
{
	for (size_t i = 0; i < q->count; i++)
		if (q->at[i].owned)
			free((void *)(uintptr_t)q->at[i].record.body.at);
	free(q->at);
}
