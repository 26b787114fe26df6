/* SPDX-License-Identifier: MIT */
#include "tui/branch_row.h"

#include <inttypes.h>

#include "decoder/model/calls_made.h"
#include "syscalls/syscall_names.h"
#include "tui/label.h"

enum {
	INDENT = 2,
	INDENT_PART = 4, /* at most this part of the column */
	FROM_MIN = 24,
	KIND_WIDTH = 8,
	SEARCHED_COLUMNS = 100,
};

static const enum style kind_styles[BT_BRANCH_KINDS] = {
	[BT_BRANCH_CALL] = STYLE_CALL,      [BT_BRANCH_ICALL] = STYLE_CALL,
	[BT_BRANCH_RET] = STYLE_RETURN,     [BT_BRANCH_ASYNC] = STYLE_SYSTEM,
	[BT_BRANCH_SYSCALL] = STYLE_SYSTEM, [BT_BRANCH_GAP] = STYLE_GAP,
};

const char *branch_row_kind(const struct history_entry *e)
{
	if (e->kind == BT_BRANCH_JCC && !(e->flags & BT_BRANCH_TAKEN))
		return "jcc not";
	return bt_branch_info[e->kind].name;
}

static void put_gap(const struct history_entry *e, struct row *out)
{
	const char *why = e->to < BT_GAP_REASONS ? bt_gap_info[e->to].text : "unknown reason";

	if (e->from)
		row_put(out, STYLE_GAP, "~~~ %" PRIu64 " branches are missing: %s", e->from, why);
	else
		row_put(out, STYLE_GAP, "~~~ branches are missing: %s", why);
}

static void put_extras(const struct history_entry *e, struct row *out)
{
	if (e->flags & BT_BRANCH_PREDICTION_KNOWN && e->flags & BT_BRANCH_MISPREDICTED)
		row_put(out, STYLE_MARK, "  mispredicted");
	if (e->cycles)
		row_put(out, STYLE_DIM, "  %u cycles", e->cycles);
}

/* Deep calls share the deepest indentation: the names need room too. */
static unsigned indent_of(uint32_t depth, unsigned columns)
{
	unsigned most = columns / INDENT_PART / INDENT * INDENT;

	return depth < most / INDENT ? depth * INDENT : most;
}

/* Which system call it was, where the trace tells. */
static void put_call(struct viewer *v, const struct history_entry *e, struct row *out)
{
	char name[SYSCALL_NAME_MAX];
	uint64_t nr;
	bool compat;

	if (e->kind == BT_BRANCH_SYSCALL && calls_made_at(&v->made, e, &nr, &compat))
		row_put(out, STYLE_SYSTEM, "%s, then ",
			(compat ? syscall_name_32 : syscall_name)(nr, name));
}

void branch_row_put(struct viewer *v, struct row *out, size_t i, unsigned room, bool indented)
{
	const struct history_entry *e = &v->history.entries[i];
	unsigned indent = 0, from, columns, before;
	uint32_t space, epoch;

	if (!i && v->history.is_part) {
		row_put(out, STYLE_GAP,
			"~~~ older branches: they are read when the cursor comes here");
		return;
	}
	if (e->kind == BT_BRANCH_GAP) {
		put_gap(e, out);
		return;
	}
	before = out->width;
	row_put(out, kind_styles[e->kind], "%-*s", KIND_WIDTH, branch_row_kind(e));
	from = out->width;
	columns = room > from - before ? (room - (from - before)) / 2 : 0;
	if (columns < FROM_MIN)
		columns = FROM_MIN;
	if (indented)
		indent = indent_of(v->calls.depth[i], columns);
	row_pad(out, from + indent);
	label_code(v, out, e->space, e->epoch, e->from, false,
		   columns > indent + 2 ? columns - indent - 2 : 1);
	row_pad(out, from + columns - 1);
	row_put(out, STYLE_DIM, " -> ");
	put_call(v, e, out);
	history_target(&v->history, e, &space, &epoch);
	label_code(v, out, space, epoch, e->to, false, columns > 4 ? columns - 4 : 1);
	put_extras(e, out);
}

bool branch_row_matches(struct viewer *v, const struct search *s, size_t i)
{
	bool whole = false;
	struct row row;

	do {
		row_init(&row, v->screen.utf8);
		row.whole = whole;
		branch_row_put(v, &row, i, SEARCHED_COLUMNS, false);
		if (search_matches(s, row.text))
			return true;
		whole = !whole && row.cut;
	} while (whole);
	return false;
}
