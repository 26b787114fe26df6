/* SPDX-License-Identifier: MIT */
#include "syscalls/syscall_ranges.h"

#include <errno.h>

#include "lib/call_result.h"
#include "syscalls/syscall_outputs.h"

/* Results that only a tracer sees (the kernel's include/linux/errno.h). */
enum {
	KERNEL_ERESTARTSYS = 512,
	KERNEL_ERESTART_RESTARTBLOCK = 516,
};

void syscall_ranges_enter(uint64_t nr, const uint64_t args[SYSCALL_ARGS],
			  const struct syscall_memory *memory, struct syscall_ranges *out)
{
	const struct syscall_evaluation e = {nr, args, memory, out};

	out->known = SYSCALL_RANGES_KNOWN;
	out->count = 0;
	syscall_outputs(&e);
}

static bool is_interrupted(uint64_t result)
{
	return result == (uint64_t)-EINTR || (result <= (uint64_t)-KERNEL_ERESTARTSYS &&
					      result >= (uint64_t)-KERNEL_ERESTART_RESTARTBLOCK);
}

/* Whether a call with this result may have copied a part of its output: memory that cannot be
 * written begins in the midst of it, a device or a peer failed behind it, or a part had room
 * (lsm_get_self_attr(2), by one security module of several: security_getselfattr(),
 * security/security.c, Linux 6.8). */
static bool may_be_partial(uint64_t result)
{
	return result == (uint64_t)-EFAULT || result == (uint64_t)-EIO ||
	       result == (uint64_t)-EBADMSG || result == (uint64_t)-E2BIG;
}

/* Whether the call was not made: no row needs to know it then. */
static bool is_refused(uint64_t result)
{
	return result == (uint64_t)-ENOSYS || result == (uint64_t)-ENOTTY ||
	       result == (uint64_t)-EBADF;
}

static bool is_written(const struct syscall_range *r, uint64_t result)
{
	if (r->when == WHEN_EVER)
		return true;
	if (r->when == WHEN_INTERRUPTED)
		return is_interrupted(result);
	return !call_has_failed(result);
}

static bool is_length_word(const struct syscall_range *r)
{
	return r->unit == UNIT_LENGTH && (r->bound == BOUND_NONE || r->bound == BOUND_MESSAGE);
}

/* Whether the call may write other things over the length at an address: the length is not to be
 * believed then. */
static bool is_overwritten(const struct syscall_ranges *s, uint64_t at)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct syscall_range *r = &s->ranges[i];

		if (is_length_word(r) && r->start == at)
			continue;
		if (at >= r->start ? at - r->start < r->length : r->start - at < sizeof(uint32_t))
			return true;
	}
	return false;
}

static void cut_length(uint64_t *length, uint64_t count, uint64_t unit)
{
	if (count <= *length / unit)
		*length = count * unit;
}

/* Looks at all ranges as they were at the entry, so it comes before any is changed. */
static void cut_to_lengths(const struct syscall_memory *memory, struct syscall_ranges *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct syscall_range *r = &s->ranges[i];
		uint32_t length;

		if (r->bound != BOUND_LENGTH && r->bound != BOUND_MESSAGE_LENGTH)
			continue;
		if (is_overwritten(s, r->value) ||
		    memory->read(memory->arg, r->value, &length, sizeof length) != sizeof length)
			length = UINT32_MAX;
		/* The cut itself waits, as ranges must be whole for the question above. */
		r->value = length;
	}
}

static void cut_to_result(struct syscall_range *r, uint64_t result, uint64_t *left)
{
	switch (r->bound) {
	case BOUND_RESULT:
		if (!r->value)
			cut_length(&r->length, result, r->unit);
		else if (r->length > r->value && result < r->length - r->value)
			r->length = result + r->value;
		break;
	case BOUND_VECTOR:
		if (r->length > *left)
			r->length = *left;
		*left -= r->length;
		break;
	case BOUND_LENGTH:
		cut_length(&r->length, r->value, r->unit);
		break;
	case BOUND_MESSAGE:
		if (result <= r->value)
			r->length = 0;
		break;
	case BOUND_MESSAGE_LENGTH:
		if (result < r->unit || (result == r->unit && r->when != WHEN_EVER))
			r->length = 0;
		else
			cut_length(&r->length, r->value, 1);
		break;
	default:
		break;
	}
}

void syscall_ranges_exit(uint64_t result, const struct syscall_memory *memory,
			 struct syscall_ranges *out)
{
	bool failed = call_has_failed(result), partial = may_be_partial(result);
	uint64_t left = failed ? 0 : result;
	size_t kept = 0;

	if (is_refused(result) && out->known != SYSCALL_RANGES_KNOWN) {
		out->known = SYSCALL_RANGES_KNOWN;
		out->count = 0;
		return;
	}
	if (!failed)
		cut_to_lengths(memory, out);
	for (size_t i = 0; i < out->count; i++) {
		struct syscall_range r = out->ranges[i];
		bool written = is_written(&r, result);

		if (!written && !partial)
			continue;
		r.is_partial = failed && r.when != WHEN_INTERRUPTED;
		if (!failed)
			cut_to_result(&r, result, &left);
		if (r.length)
			out->ranges[kept++] = r;
	}
	out->count = kept;
}
