/* SPDX-License-Identifier: MIT */
#include "collector/backend/engine/cache/logged_calls.h"

#include <stdbool.h>

#include "collector/backend/engine/cache/syscall_policy.h"
#include "syscalls/syscall_ranges.h"

_Static_assert((int)BT_LOGGED_DATA == (int)SYSCALL_PLAIN_OUTPUTS, "a piece for each output");

/* A call that waits for something but a descriptor: a signal ends most of these, and they have
 * forms of their own of going on. */
static bool waits_for_more(uint32_t policy)
{
	return policy & POLICY_WAIT &&
	       !(policy & (POLICY_OPENS | POLICY_DESCRIPTORS | POLICY_GIVES));
}

uint32_t logged_call_policy(uint64_t nr)
{
	const unsigned seen = SYSCALL_CHANGES_MAPS | SYSCALL_CHANGES_TASKS |
			      SYSCALL_CHANGES_REGISTERS | SYSCALL_CHANGES_LATER |
			      SYSCALL_CHANGES_OTHERS;
	struct syscall_plain_output outputs[SYSCALL_PLAIN_OUTPUTS];
	const struct syscall_facts *facts = syscall_facts(nr);
	uint32_t policy = syscall_policy(nr);

	if (!facts || facts->changes & seen || facts->again & SYSCALL_AGAIN_BLOCK ||
	    waits_for_more(policy) || syscall_plain_outputs(nr, outputs) < 0)
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
					   (outputs[i].is_ever ? LOGGED_EVER : 0)),
			.unit = outputs[i].unit};
	return row;
}
