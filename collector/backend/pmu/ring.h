/* SPDX-License-Identifier: MIT */
/* An event's ring, as large as the limits on locked memory let it be. Used by source_bts.c and
 * source_pt.c. The kernel writes to it at any moment while the task runs. */
#ifndef BT_RING_H
#define BT_RING_H

#include "collector/backend/pmu/perf_ops.h"

struct perf_ring {
	struct perf_event_mmap_page *page;
	uint8_t *data;
	uint64_t size; /* bytes of data, a power of two */
	size_t length; /* of the mapping of page and data */
	uint8_t *aux;  /* the AUX area; NULL: none */
	uint64_t aux_size;
};

/* Maps the ring of the event fd: `wanted` bytes of data (a power of two), or the half, and so on
 * down to `least`, where the kernel refuses more than RLIMIT_MEMLOCK and perf_event_mlock_kb.
 * Read-only, so that the kernel overwrites the oldest. Returns 0 or -errno. */
int perf_ring_map(struct perf_ring *r, const struct perf_kernel *k, int fd, uint64_t wanted,
		  uint64_t least);

/* The same of an AUX area, with a ring of records that are not overwritten, a quarter as large. */
int perf_ring_map_aux(struct perf_ring *r, const struct perf_kernel *k, int fd, uint64_t wanted,
		      uint64_t least);

/* Says that not even `least` bytes could be mapped, which gave rc. Returns -BT_E_PERMISSION. */
int perf_ring_refused(int rc, uint64_t least, struct bt_error *err);

void perf_ring_unmap(struct perf_ring *r, const struct perf_kernel *k);

#endif
