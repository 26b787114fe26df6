/* SPDX-License-Identifier: MIT */
/* The ring of periodic samples: overwritten, written backward (Linux 4.7), so that its newest
 * records can be read from the head on. */
#include "collector/backend/pmu/lbr_private.h"
#include "lib/page.h"

#include <string.h>
#include <sys/mman.h>

enum {
	SAMPLES_MAX = 256, /* in a ring; the smallest possible has 40 bytes, real ones hundreds */
	BEFORE_STACK = 8,  /* of a sample's body: its instruction pointer (PERF_SAMPLE_IP) */
};

int lbr_ring_open(const struct pmu *p, struct lbr_events *e, unsigned i, struct bt_error *err)
{
	int error = 0;

	e->ring[i] =
		p->kernel->ops->map(p->kernel->arg, e->fd[i],
				    (1 + LBR_RING_PAGES) * (size_t)BT_PAGE, PROT_READ, 0, &error);
	if (e->ring[i])
		return 0;
	return bt_fail(err, BT_E_PERMISSION, error,
		       "no memory for the ring of samples: raise RLIMIT_MEMLOCK (ulimit -l) or "
		       "kernel.perf_event_mlock_kb");
}

void lbr_ring_close(const struct pmu *p, struct lbr_events *e, unsigned i)
{
	if (e->ring[i])
		p->kernel->ops->unmap(p->kernel->arg, e->ring[i],
				      (1 + LBR_RING_PAGES) * (size_t)BT_PAGE);
	e->ring[i] = NULL;
}

/* Copies n bytes of the ring at position at. */
static void copy_from_ring(const uint8_t *data, uint64_t size, uint64_t at, void *out, size_t n)
{
	size_t offset = (size_t)(at & (size - 1)),
	       first = size - offset < n ? (size_t)(size - offset) : n;

	memcpy(out, data + offset, first);
	memcpy((uint8_t *)out + first, data, n - first);
}

/* Positions of the records of [head, end), newest first, as far as they are whole. */
static size_t find_records(const uint8_t *data, uint64_t size, uint64_t head, uint64_t end,
			   uint64_t at[SAMPLES_MAX])
{
	size_t count = 0;

	while (count < SAMPLES_MAX && end - head >= sizeof(struct perf_event_header)) {
		struct perf_event_header h;

		copy_from_ring(data, size, head, &h, sizeof h);
		if (h.size < sizeof h ||
		    h.size > end - head) /* never written, or overwritten by the newest */
			break;
		if (h.type == PERF_RECORD_SAMPLE)
			at[count++] = head;
		head += h.size;
	}
	return count;
}

void lbr_ring_read(struct lbr_events *e, unsigned i, lbr_take_sample *take, void *arg)
{
	const struct perf_event_mmap_page *page = e->ring[i];
	const uint8_t *data = (const uint8_t *)e->ring[i] + (size_t)BT_PAGE;
	uint64_t size = LBR_RING_PAGES * (size_t)BT_PAGE,
		 head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t end =
		e->head[i] - head > size ? head + size : e->head[i]; /* it runs downward from 0 */
	uint64_t at[SAMPLES_MAX];
	size_t count = find_records(data, size, head, end, at);

	e->head[i] = head;
	while (count-- > 0) {
		struct lbr_entry entries[LBR_DEPTH_MAX];
		struct perf_event_header h;
		uint64_t nr = 0, body = at[count] + sizeof h + BEFORE_STACK;

		copy_from_ring(data, size, at[count], &h, sizeof h);
		if (h.size < sizeof h + BEFORE_STACK + sizeof nr)
			continue;
		copy_from_ring(data, size, body, &nr, sizeof nr);
		if (nr > LBR_DEPTH_MAX ||
		    h.size < sizeof h + BEFORE_STACK + sizeof nr + nr * sizeof *entries)
			continue;
		copy_from_ring(data, size, body + sizeof nr, entries, (size_t)nr * sizeof *entries);
		take(arg, entries, (size_t)nr);
	}
}
