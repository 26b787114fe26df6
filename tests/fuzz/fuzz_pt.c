/* SPDX-License-Identifier: MIT */
/* An Intel PT stream and the code that it is about: u16 how much of the input is code, at 0x400000;
 * the code; the stream. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "hardware_decoders/pt_flow.h"

enum { CODE_AT = 0x400000 };

static size_t read_code(void *arg, uint64_t addr, uint8_t *bytes, size_t n)
{
	struct slice code = *(const struct slice *)arg;

	if (addr < CODE_AT || addr - CODE_AT >= code.len)
		return 0;
	slice_take(&code, (size_t)(addr - CODE_AT));
	n = n < code.len ? n : code.len;
	memcpy(bytes, code.at, n);
	return n;
}

static void check_entry(const struct bt_branch *b)
{
	MUST(b->kind < BT_BRANCH_KINDS && (bt_branch_is_branch(b) || b->kind == BT_BRANCH_GAP));
	if (b->kind == BT_BRANCH_GAP) {
		MUST(b->to < BT_GAP_REASONS && !b->from);
	} else {
		MUST(!(b->from >> 63) && !(b->to >> 63));
		MUST(bt_branch_taken(b) || b->kind == BT_BRANCH_JCC);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = slice_of(data, size), code;
	struct pt_flow_config c = {.head = BT_GAP_OVERWRITTEN, .code = read_code, .arg = &code};
	struct flow_join join = {0};
	struct bt_error err = {0};
	struct flow_item item;
	struct pt_flow *f;
	struct bt_branch b;
	uint64_t items = 0;
	size_t n = slice_u16(&in);

	code = slice_take(&in, n < in.len ? n : in.len);
	c.bytes = in;
	if (size % 2) { /* with errata */
		c.intel = true;
		c.family = 6;
		c.model = 0x4e;
	}
	MUST(pt_flow_new(&f, &c, &err) == 0);
	while (pt_flow_next(f, &item) == 1) {
		MUST(++items < (1u << 23) + 65536 * (uint64_t)size);
		if (flow_join(&join, &item, &b))
			check_entry(&b);
	}
	MUST(!pt_flow_next(f, &item));
	pt_flow_free(f);
	return 0;
}
