/* SPDX-License-Identifier: MIT */
#include "lib/branch.h"

#include "lib/error.h"

const struct bt_branch_info bt_branch_info[BT_BRANCH_KINDS] = {
#define BT_BRANCH(id, json, is_transfer, description) {.name = json, .transfer = is_transfer, .text = description},
#include "lib/branch.def"
#undef BT_BRANCH
};

const struct bt_branch_info bt_gap_info[BT_GAP_REASONS] = {
#define BT_GAP(id, json, description) {.name = json, .text = description},
#include "lib/gap.def"
#undef BT_GAP
};

/* The lead byte: kind in bits 0-3, flags in 4-6, bit 7 set when a cycle count follows. */
enum {
	LEAD_FLAGS_SHIFT = 4,
	LEAD_CYCLES = 0x80,
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

	*p++ = (uint8_t)(b->kind | (b->flags & 7) << LEAD_FLAGS_SHIFT | (b->cycles ? LEAD_CYCLES : 0));
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

int bt_branch_decode(struct bt_branch_codec *c, struct slice *in, struct bt_branch *b)
{
	uint8_t lead;
	uint64_t cycles;

	*b = (struct bt_branch){0};
	if (!in->len)
		return in->bad ? -BT_E_CORRUPT : 0;
	lead = slice_u8(in);
	b->kind = lead & 15;
	b->flags = lead >> LEAD_FLAGS_SHIFT & 7;
	if (b->kind >= BT_BRANCH_KINDS)
		in->bad = true;
	if (bt_branch_is_branch(b)) {
		b->from = c->last + (uint64_t)slice_sleb(in);
		b->to = b->from + (uint64_t)slice_sleb(in);
	} else {
		b->from = slice_leb(in);
		b->to = slice_leb(in);
		if (b->kind == BT_BRANCH_GAP && b->to >= BT_GAP_REASONS)
			in->bad = true;
	}
	cycles = lead & LEAD_CYCLES ? slice_leb(in) : 0;
	if (cycles > UINT16_MAX)
		in->bad = true;
	if (in->bad) {
		*b = (struct bt_branch){0};
		return -BT_E_CORRUPT;
	}
	b->cycles = (uint16_t)cycles;
	if (bt_branch_is_branch(b))
		c->last = b->to;
	return 1;
}
