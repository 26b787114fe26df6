/* SPDX-License-Identifier: MIT */
/* The engine's decoder at every byte: it agrees with Zydis wherever that knows an instruction, and
 * never reads past the end. */
#include "tests/fuzz/fuzz.h"

#include "lib/error.h"
#include "tests/unit/x86_oracle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (size_t at = 0; at < size; at++) {
		struct x86_insn ours, theirs;
		int rc = x86_decode(data + at, size - at, &ours),
		    oracle_rc = x86_oracle(data + at, size - at, &theirs);

		if (rc == 0) {
			MUST(ours.len >= 1 && ours.len <= BT_INSN_MAX && ours.len <= size - at &&
			     ours.class < BT_INSN_CLASSES);
			MUST(ours.opcode_at < ours.len && ours.modrm_at < ours.len);
			MUST(ours.disp_at + ours.disp_size <= ours.len &&
			     ours.imm_at + ours.imm_size <= ours.len);
			MUST(ours.displacement >= INT32_MIN && ours.displacement <= INT32_MAX);
			MUST(oracle_rc != -BT_E_TRUNCATED);
		} else {
			MUST(rc == -BT_E_CORRUPT ||
			     (rc == -BT_E_TRUNCATED && size - at < BT_INSN_MAX));
			MUST(ours.len == 0);
		}
		if (oracle_rc == 0)
			MUST(rc == 0 && !x86_oracle_difference(&ours, &theirs));
	}
	return 0;
}
