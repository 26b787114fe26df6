/* SPDX-License-Identifier: MIT */
#include "syscalls/output_ranges.h"

void output_add(const struct syscall_evaluation *e, struct syscall_range r)
{
	struct syscall_ranges *out = e->out;

	if (!r.start || !r.length)
		return;
	if (out->count == out->room) {
		out->known = SYSCALL_RANGES_UNKNOWN;
		return;
	}
	if (r.length > UINT64_MAX - r.start)
		r.length = UINT64_MAX - r.start;
	out->ranges[out->count++] = r;
}

void output_add_fixed(const struct syscall_evaluation *e, uint64_t at, uint64_t n,
		      enum syscall_when when)
{
	output_add(e, (struct syscall_range){.start = at, .length = n, .when = (uint8_t)when});
}

void output_add_length_word(const struct syscall_evaluation *e, uint64_t at, uint64_t n,
			    enum syscall_when when)
{
	output_add(e,
		   (struct syscall_range){
			   .start = at, .length = n, .when = (uint8_t)when, .unit = UNIT_LENGTH});
}

uint64_t output_units(uint64_t n, uint64_t unit)
{
	return n > UINT64_MAX / unit ? UINT64_MAX : n * unit;
}

bool output_read(const struct syscall_evaluation *e, uint64_t at, void *bytes, size_t n)
{
	return at && e->memory->read(e->memory->arg, at, bytes, n) == n;
}

void output_set_unknown(const struct syscall_evaluation *e)
{
	e->out->known = SYSCALL_RANGES_UNKNOWN;
}

/* The kernel refuses more vectors, and those whose lengths are negative. */
void output_add_vectors(const struct syscall_evaluation *e, uint64_t at, uint64_t n,
			struct syscall_range range)
{
	uint64_t v[2 * 32], left = OUTPUT_MOVED_MAX;

	if (n > OUTPUT_VECTORS_MAX)
		return;
	for (uint64_t done = 0, now; done < n; done += now) {
		now = n - done < 32 ? n - done : 32;
		if (!output_read(e, at + done * 16, v, now * 16))
			return;
		for (uint64_t i = 0; i < now; i++) {
			range.start = v[2 * i];
			range.length = v[2 * i + 1] < left ? v[2 * i + 1] : left;
			left -= range.length;
			output_add(e, range);
		}
	}
}

void output_add_length(const struct syscall_evaluation *e, uint64_t at, uint64_t length_at,
		       uint32_t unit)
{
	uint32_t length;

	output_add_length_word(e, length_at, sizeof length, WHEN_EVER);
	if (output_read(e, length_at, &length, sizeof length))
		output_add(e, (struct syscall_range){.start = at,
						     .length = output_units(length, unit),
						     .bound = BOUND_LENGTH,
						     .unit = unit,
						     .value = length_at});
}
