/* SPDX-License-Identifier: MIT */
#include "lib/branch.h"

const struct bt_branch_info bt_branch_info[BT_BRANCH_KINDS] = {
#define BT_BRANCH(id, json, is_transfer, description) \
	{.name = json, .transfer = is_transfer, .text = description},
#include "lib/branch.def"
#undef BT_BRANCH
};

const struct bt_branch_info bt_gap_info[BT_GAP_REASONS] = {
#define BT_GAP(id, json, description) {.name = json, .text = description},
#include "lib/gap.def"
#undef BT_GAP
};

enum {
	ENTRY_MAX = 1 + 10 + 10 + 3,
};

static uint8_t *put_leb(uint8_t *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	*p++ = (uint8_t)v;
	return p;
}

static uint8_t *put_sleb(uint8_t *p, int64_t v)
{
	return put_leb(p, (uint64_t)v << 1 ^ -(uint64_t)(v < 0));
}

void bt_branch_encode(struct bt_branch_codec *c, struct buf *out, const struct bt_branch *b)
{
	uint8_t bytes[ENTRY_MAX], *p = bytes;

	*p++ = (uint8_t)(b->kind | (b->flags & 7) << BT_BRANCH_LEAD_FLAGS |
			 (b->cycles ? BT_BRANCH_LEAD_CYCLES : 0));
	if (bt_branch_is_branch(b)) {
		p = put_sleb(p, (int64_t)(b->from - c->last));
		p = put_sleb(p, (int64_t)(b->to - b->from));
		c->last = b->to;
	} else {
		p = put_leb(p, b->from);
		p = put_leb(p, b->to);
	}
	if (b->cycles)
		p = put_leb(p, b->cycles);
	buf_put(out, bytes, (size_t)(p - bytes));
}
