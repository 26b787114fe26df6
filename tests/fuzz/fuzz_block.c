/* SPDX-License-Identifier: MIT */
/* A file header, if there is one, and blocks behind it. */
#include "tests/fuzz/fuzz.h"

#include "format/block.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = slice_of(data, size);
	struct bt_file_header h;
	struct bt_error err;
	struct buf raw = {0};
	uint64_t ordinal;
	int rc = bt_file_header_decode(&in, &h, &err);

	MUST(rc == 0 ? in.len == size - BT_FILE_HEADER_SIZE : in.len == size);
	for (;;) {
		size_t before = in.len;

		rc = bt_block_decode(&in, size - before, &raw, &ordinal, &err);
		if (!rc)
			break;
		MUST(in.len < before && in.at + in.len == data + size);
		MUST(rc > 0 || raw.len == 0);
		MUST(rc > 0 || err.offset == size - before);
	}
	MUST(in.len == 0);
	buf_release(&raw);
	return 0;
}
