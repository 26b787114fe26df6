/* SPDX-License-Identifier: MIT */
#include "decoder/symbols/tail_jumps.h"

#include <string.h>

#include "decoder/symbols/function_name.h"

enum { JUMPS_KNOWN = 256 };

/* Jumps that were looked at last: loops make the same ones. */
struct known_jumps {
	struct {
		uint64_t from, to;
		bool leaves;
	} at[JUMPS_KNOWN];
};

/* Whether the jump leads from a function to the beginning of another one. A compiler's parts of one
 * function are one. */
static bool leaves_function(struct symbols *s, const struct history_entry *e)
{
	char a[FUNCTION_NAME_MAX], b[FUNCTION_NAME_MAX];
	struct location from, to;

	symbols_lookup(s, e->space, e->epoch, e->to, false, &to);
	if (!*to.function || to.offset)
		return false;
	symbols_lookup(s, e->space, e->epoch, e->from, false, &from);
	return strcmp(function_name_plain(a, from.function), function_name_plain(b, to.function)) !=
	       0;
}

static bool is_tail_jump(struct known_jumps *known, struct symbols *s,
			 const struct history_entry *e)
{
	size_t i = (e->from ^ e->to << 3) % JUMPS_KNOWN;

	if (known->at[i].from != e->from || known->at[i].to != e->to) {
		known->at[i].from = e->from;
		known->at[i].to = e->to;
		known->at[i].leaves = leaves_function(s, e);
	}
	return known->at[i].leaves;
}

static bool is_jump(const struct history_entry *e)
{
	return e->kind == BT_BRANCH_JMP || e->kind == BT_BRANCH_IJMP ||
	       (e->kind == BT_BRANCH_JCC && e->flags & BT_BRANCH_TAKEN);
}

/* Goes back from the end: the entries between a call and its return belong to another frame. */
size_t tail_jumps_find(const struct history *h, struct symbols *s, size_t call, size_t end,
		       size_t *jumps, size_t max)
{
	struct known_jumps known = {0};
	size_t depth = 0, n = 0;

	for (size_t i = end; i-- > call + 1 && n < max;) {
		const struct history_entry *e = &h->entries[i];

		if (e->kind == BT_BRANCH_RET)
			depth++;
		else if ((e->kind == BT_BRANCH_CALL || e->kind == BT_BRANCH_ICALL) && depth)
			depth--;
		else if (!depth && is_jump(e) && is_tail_jump(&known, s, e))
			jumps[n++] = i;
	}
	return n;
}
