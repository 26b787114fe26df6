/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/generate_ring.h"

#include <stddef.h>

#include "lib/array_size.h"

/* Of struct perf_event_header (linux/perf_event.h): type, misc, size. */
#define SAMPLE (9 | 24ull << 48)
#define LEAVE  (14 | 1ull << 45 | 24ull << 48)
#define STACK  (9 | 72ull << 48)

enum { WORDS = 9 };

static const uint64_t branches[WORDS] = {SAMPLE, 0x401000, 0x401100, LEAVE,   1000,
					 1,      SAMPLE,   0x401110, 0x401000},
		      samples[WORDS] = {STACK, 0x401000, 2,        0x401010, 0x401020,
					2,     0x401000, 0x401008, 2};

static const struct {
	uint8_t ring;
	uint64_t head, seen;
	const uint64_t *words;
} inputs[RING_INPUTS] = {
	{0, sizeof branches, sizeof branches, branches},
	{0, 10000, 9999, branches},
	{0, sizeof branches, 0, branches},
	{1, 0, sizeof samples, samples},
	{1, (uint64_t)-72, 0, samples},
};

void ring_input(struct buf *out, unsigned which)
{
	buf_u8(out, inputs[which].ring);
	buf_u64(out, inputs[which].head);
	buf_u64(out, inputs[which].seen);
	for (size_t i = 0; i < WORDS; i++)
		buf_u64(out, inputs[which].words[i]);
}
