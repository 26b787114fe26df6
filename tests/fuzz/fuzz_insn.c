/* SPDX-License-Identifier: MIT */
/* Instructions, one after the other, as straight-line code is walked. */
#include "tests/fuzz/fuzz.h"

#include "lib/error.h"
#include "lib/insn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	while (size) {
		struct bt_insn insn;
		int rc = bt_insn_decode(data, size, &insn);
		size_t step = 1;

		if (rc == 0) {
			MUST(insn.len >= 1 && insn.len <= BT_INSN_MAX && insn.len <= size &&
			     insn.class < BT_INSN_CLASSES);
			MUST(insn.displacement >= INT32_MIN && insn.displacement <= INT32_MAX);
			step = insn.len;
		} else {
			MUST(rc == -BT_E_CORRUPT || (rc == -BT_E_TRUNCATED && size < BT_INSN_MAX));
			MUST(insn.len == 0);
		}
		data += step;
		size -= step;
	}
	return 0;
}
