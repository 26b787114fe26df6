/* SPDX-License-Identifier: MIT */
#include "hardware_decoders/flow.h"

#include "lib/insn.h"

static bool join_enter(struct flow_join *j, uint64_t to, struct bt_branch *out)
{
	bool left = j->left;

	*out = j->at;
	j->left = false;
	if (!left || (j->at.kind == BT_BRANCH_ASYNC && j->at.from == to))
		return false;
	if (j->at.kind == BT_BRANCH_GAP)
		*out = (struct bt_branch){.kind = BT_BRANCH_GAP, .to = BT_GAP_FILTERED};
	else
		out->to = to;
	return true;
}

bool flow_join(struct flow_join *j, const struct flow_item *item, struct bt_branch *out)
{
	switch (item->kind) {
	case FLOW_ENTER:
		return join_enter(j, item->branch.to, out);
	case FLOW_LEAVE:
		*j = (struct flow_join){.left = true, .at = item->branch};
		return false;
	case FLOW_BRANCH:
	case FLOW_GAP:
		j->left = false;
		*out = item->branch;
		return true;
	default:
		return false;
	}
}

enum bt_branch_kind flow_kind_at(flow_code *code, void *arg, uint64_t addr)
{
	uint8_t bytes[BT_INSN_MAX];
	size_t n = code ? code(arg, addr, bytes, sizeof bytes) : 0;
	struct bt_insn insn;
	int kind;

	if (!n || bt_insn_decode(bytes, n, &insn))
		return BT_BRANCH_BRANCH;
	kind = bt_insn_branch_kind(insn.class);
	return kind < 0 ? BT_BRANCH_ASYNC : (enum bt_branch_kind)kind;
}
