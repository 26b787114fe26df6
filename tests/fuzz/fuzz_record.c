/* SPDX-License-Identifier: MIT */
/* Records of a block: decode, print, and encode again what was decoded. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>

#include "format/record.h"

static void encode(struct buf *out, const struct bt_record *rec)
{
	switch (rec->kind) {
#define R(number, NAME, name, text)                                    \
	case number:                                                   \
		bt_record_encode(out, BT_RECORD_##NAME, &rec->u.name); \
		break;
		BT_RECORDS(R)
#undef R
	}
}

/* What was decoded from any bytes is encoded in full; decoded and encoded again it is the same. */
static void encode_twice(const struct bt_record *rec)
{
	struct buf once = {0}, twice = {0};
	struct bt_record again;
	struct slice s;

	encode(&once, rec);
	s = slice_of(once.data, once.len);
	MUST(bt_record_decode(&s, &again) == 1 && again.kind == rec->kind && s.len == 0);
	encode(&twice, &again);
	MUST(once.len == twice.len && !memcmp(once.data, twice.data, once.len));
	buf_release(&once);
	buf_release(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = slice_of(data, size);
	struct bt_record rec;
	FILE *nowhere = fopen("/dev/null", "w");
	int rc;

	MUST(nowhere);
	for (;;) {
		size_t before = in.len;

		rc = bt_record_decode(&in, &rec);
		if (rc <= 0)
			break;
		MUST(in.len < before);
		bt_record_print(nowhere, &rec);
		if (bt_record_name(rec.kind))
			encode_twice(&rec);
	}
	MUST(in.len == 0);
	fclose(nowhere);
	return 0;
}
