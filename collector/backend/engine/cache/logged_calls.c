/* SPDX-License-Identifier: MIT */
#include "collector/backend/engine/cache/logged_calls.h"

#include <stdbool.h>
#include <sys/syscall.h>

#include "collector/backend/engine/cache/syscall_policy.h"
#include "lib/array_size.h"
#include "syscalls/syscall_ranges.h"

_Static_assert((int)BT_LOGGED_DATA == (int)SYSCALL_PLAIN_OUTPUTS, "a piece for each output");

/* A call that a signal may break off: the log has to see how it ends. One of a descriptor whose
 * calls may wait is made at a stop (routine_syscalls.c); of the others open(2) alone waits, as a
 * whole, for a FIFO. */
static bool may_be_broken_off(uint32_t policy, const struct syscall_facts *facts)
{
	return (policy & POLICY_WAIT || facts->again) &&
	       !(policy & (POLICY_OPENS | POLICY_DESCRIPTORS | POLICY_GIVES));
}

static size_t read_nothing(void *arg, uint64_t at, void *bytes, size_t n)
{
	(void)arg;
	(void)at;
	(void)bytes;
	(void)n;
	return 0;
}

/* Whether none of the call's operations that may run in the cache writes anything. */
static bool operations_are_plain(uint64_t nr)
{
	const struct syscall_memory nothing = {.read = read_nothing};
	bool some = false;

	for (size_t i = 0; i < policy_operations_count; i++) {
		const struct policy_operation *o = &policy_operations[i];
		const unsigned at = o->need & POLICY_FIRST ? 0 : 1;
		struct syscall_range room[4];
		struct syscall_ranges ranges = {.room = 4, .ranges = room};
		/* Addresses, for one that is given none writes nothing there. */
		uint64_t args[SYSCALL_ARGS] = {1, 1, 1, 1, 1, 1};

		if (o->nr != nr)
			continue;
		some = true;
		args[at] = o->value;
		syscall_ranges_enter(nr, args, &nothing, &ranges);
		if (ranges.known != SYSCALL_RANGES_KNOWN || ranges.count)
			return false;
	}
	return some;
}

static bool is_plain(uint64_t nr)
{
	struct syscall_plain_output outputs[SYSCALL_PLAIN_OUTPUTS];

	return syscall_plain_outputs(nr, outputs) >= 0 || operations_are_plain(nr);
}

/* If such a call succeeds and maps no file (routine_syscalls.c), its arguments and its result alone
 * tell how it changes mappings. If it fails, the mappings are read behind it, before the next call
 * changes them (map_call_emit_failed()). */
static bool changes_maps_plainly(uint64_t nr)
{
	static const uint16_t calls[] = {SYS_brk, SYS_mmap, SYS_munmap, SYS_mprotect};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i] == nr)
			return true;
	return false;
}

uint32_t logged_call_policy(uint64_t nr)
{
	const unsigned seen = (changes_maps_plainly(nr) ? 0 : SYSCALL_CHANGES_MAPS) |
			      SYSCALL_CHANGES_TASKS | SYSCALL_CHANGES_REGISTERS |
			      SYSCALL_CHANGES_LATER | SYSCALL_CHANGES_OTHERS;
	const struct syscall_facts *facts = syscall_facts(nr);
	uint32_t policy = syscall_policy(nr);

	if (!facts || facts->changes & seen || may_be_broken_off(policy, facts) || !is_plain(nr))
		return POLICY_STOP;
	/* Of a file that is apart. */
	return facts->changes & SYSCALL_CHANGES_OBJECTS ? policy & ~(uint32_t)POLICY_ANY : policy;
}

struct logged_row logged_call_row(uint64_t nr)
{
	struct syscall_plain_output outputs[SYSCALL_PLAIN_OUTPUTS];
	int count = syscall_plain_outputs(nr, outputs);
	struct logged_row row = {.pieces = {{.arg = 0}}};

	for (int i = 0; i < count; i++)
		row.pieces[i] = (struct logged_piece){
			.arg = (uint8_t)(outputs[i].argument + 1),
			.by = outputs[i].is_counted ? (uint8_t)(outputs[i].by + 1) : 0,
			.flags = (uint8_t)((outputs[i].is_cut ? LOGGED_CUT : 0) |
					   (outputs[i].is_ever ? LOGGED_EVER : 0) |
					   (outputs[i].has_more ? LOGGED_MORE : 0)),
			.unit = outputs[i].unit};
	return row;
}

const uint16_t logged_stream_calls[LOGGED_STREAM_CALLS] = {SYS_write, SYS_pwrite64};

struct logged_row logged_stream_row(void)
{
	return (struct logged_row){.pieces = {{.arg = 2, .by = 3, .flags = LOGGED_CUT, .unit = 1}}};
}
