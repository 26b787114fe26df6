/* SPDX-License-Identifier: MIT */
/* The entries of a chunk of branch history. */
#include "tests/fuzz/fuzz.h"

#include "lib/branch.h"
#include "lib/error.h"

static void encode_again(const struct bt_branch_codec *before, const struct bt_branch *b)
{
	struct bt_branch_codec enc = *before, dec = *before;
	struct buf out = {0};
	struct bt_branch got;
	struct slice s;

	bt_branch_encode(&enc, &out, b);
	s = slice_of(out.data, out.len);
	MUST(bt_branch_decode(&dec, &s, &got) == 1 && !s.len && enc.last == dec.last);
	MUST(got.from == b->from && got.to == b->to && got.kind == b->kind &&
	     got.flags == b->flags && got.cycles == b->cycles);
	buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bt_branch_codec c = {0};
	struct slice in = slice_of(data, size);
	struct bt_branch b;

	for (;;) {
		struct bt_branch_codec before = c;
		size_t len = in.len;
		int rc = bt_branch_decode(&c, &in, &b);

		if (rc <= 0) {
			MUST(rc == 0 || rc == -BT_E_CORRUPT);
			MUST(c.last == before.last);
			return 0;
		}
		MUST(in.len < len && b.kind < BT_BRANCH_KINDS);
		encode_again(&before, &b);
	}
}
