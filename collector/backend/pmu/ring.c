/* SPDX-License-Identifier: MIT */
#include "collector/backend/pmu/ring.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>

#include "lib/page.h"

enum {
	AUX_RECORDS = 4, /* the AUX area is so many times as large as its ring of records */
};

/* Where mmap(2) fails because of a limit, half of it may do. */
static bool is_limit(int error) { return error == EPERM || error == ENOMEM || error == EAGAIN; }

int perf_ring_map(struct perf_ring *r, const struct perf_kernel *k, int fd, uint64_t wanted,
		  uint64_t least)
{
	int error = EPERM;

	*r = (struct perf_ring){.page = NULL};
	for (uint64_t size = wanted; size >= least && size >= BT_PAGE; size /= 2) {
		r->length = BT_PAGE + (size_t)size;
		r->page = k->ops->map(k->arg, fd, r->length, PROT_READ, 0, &error);
		if (r->page) {
			r->data = (uint8_t *)r->page + BT_PAGE;
			r->size = size;
			return 0;
		}
		if (!is_limit(error))
			break;
	}
	return -error;
}

/* Maps both parts, or neither. */
static int map_both(struct perf_ring *r, const struct perf_kernel *k, int fd, uint64_t size)
{
	uint64_t share = size / AUX_RECORDS;
	int error = EPERM;

	r->size = share < BT_PAGE ? BT_PAGE : share;
	r->length = BT_PAGE + (size_t)r->size;
	r->page = k->ops->map(k->arg, fd, r->length, PROT_READ | PROT_WRITE, 0, &error);
	if (!r->page)
		return error;
	r->data = (uint8_t *)r->page + BT_PAGE;
	r->page->aux_offset = r->length;
	r->page->aux_size = size;
	r->aux = k->ops->map(k->arg, fd, (size_t)size, PROT_READ, r->length, &error);
	if (r->aux) {
		r->aux_size = size;
		return 0;
	}
	perf_ring_unmap(r, k);
	return error;
}

int perf_ring_map_aux(struct perf_ring *r, const struct perf_kernel *k, int fd, uint64_t wanted,
		      uint64_t least)
{
	int error = EPERM;

	*r = (struct perf_ring){.page = NULL};
	for (uint64_t size = wanted; size >= least && size >= BT_PAGE; size /= 2) {
		error = map_both(r, k, fd, size);
		if (!error)
			return 0;
		if (!is_limit(error))
			break;
	}
	return -error;
}

int perf_ring_refused(int rc, uint64_t least, struct bt_error *err)
{
	return bt_fail(err, BT_E_PERMISSION, -rc,
		       "no ring of %" PRIu64 " KiB may be locked: raise "
		       "kernel.perf_event_mlock_kb or ulimit -l",
		       least >> 10);
}

void perf_ring_unmap(struct perf_ring *r, const struct perf_kernel *k)
{
	if (r->aux)
		k->ops->unmap(k->arg, r->aux, (size_t)r->aux_size);
	if (r->page)
		k->ops->unmap(k->arg, r->page, r->length);
	*r = (struct perf_ring){.page = NULL};
}
