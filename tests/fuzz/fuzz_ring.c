/* SPDX-License-Identifier: MIT */
/* The rings that events of the processor are read from, of any contents: u8 which of two (the
 * samples of the LBR source; else the branch event of period 1), u64 head, u64 how much of it was
 * read before; then the ring, which is filled up with zeros. */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <unistd.h>

#include "collector/backend/pmu/lbr_private.h"
#include "hardware_decoders/bts_flow.h"

enum {
	RING = 4096, /* bytes, of the branch event's */
	SMALLEST_SAMPLE = 24,
};

static void take_item(void *arg, const struct flow_item *item)
{
	++*(uint64_t *)arg;
	MUST(item->kind != FLOW_GAP || item->branch.to < BT_GAP_REASONS);
	MUST(item->kind != FLOW_BRANCH ||
	     (!flow_is_kernel(item->branch.from) && !flow_is_kernel(item->branch.to)));
}

static void read_branches(struct slice in, uint64_t head, uint64_t seen)
{
	static const struct bts_code no_code;
	uint8_t *data = calloc(1, RING);
	struct bts_ring ring = {.data = data, .size = RING, .head = head, .seen = seen};
	uint64_t items = 0;

	MUST(data);
	if (in.len)
		memcpy(data, in.at, in.len < RING ? in.len : RING);
	bts_ring_read(&ring, &no_code, take_item, &items);
	MUST(items <= RING / BTS_RECORD + 2);
	free(data);
}

static void take_sample(void *arg, const struct lbr_entry *entries, size_t count)
{
	++*(uint64_t *)arg;
	MUST(count <= LBR_DEPTH_MAX);
	(void)entries;
}

static void read_samples(struct slice in, uint64_t head, uint64_t seen)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = LBR_RING_PAGES * page;
	uint8_t *ring = calloc(1, page + size);
	struct lbr_events e = {.ring = {ring}, .head = {seen}};
	uint64_t samples = 0;

	MUST(ring);
	((struct perf_event_mmap_page *)ring)->data_head = head;
	if (in.len)
		memcpy(ring + page, in.at, in.len < size ? in.len : size);
	lbr_ring_read(&e, 0, take_sample, &samples);
	MUST(e.head[0] == head && samples <= size / SMALLEST_SAMPLE);
	free(ring);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = slice_of(data, size);
	uint8_t which = slice_u8(&in);
	uint64_t head = slice_u64(&in), seen = slice_u64(&in);

	if (which & 1)
		read_samples(in, head, seen);
	else
		read_branches(in, head, head - seen); /* so many bytes are new */
	return 0;
}
