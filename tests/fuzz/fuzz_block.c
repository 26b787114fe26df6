/* SPDX-License-Identifier: MIT */
/* A file header, if there is one, and blocks behind it. */
#include "tests/fuzz/fuzz.h"

#include "format/block.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = slice_of(data, size);
	struct bt_file_header h;
	struct file_window w;
	struct bt_error err;
	struct buf raw = {0};
	uint64_t at, ordinal;
	int rc = bt_file_header_decode(&in, &h, &err);

	MUST(rc == 0 ? in.len == size - BT_FILE_HEADER_SIZE : in.len == size);
	file_window_init_memory(&w, slice_of(data, size));
	at = size - in.len;
	for (;;) {
		uint64_t before = at;

		rc = bt_block_decode(&w, &at, &raw, &ordinal, &err);
		if (!rc)
			break;
		MUST(at > before && at <= size);
		MUST(rc > 0 || raw.len == 0);
		MUST(rc > 0 || err.offset == before);
	}
	MUST(at == size);
	file_window_release(&w);
	buf_release(&raw);
	return 0;
}
