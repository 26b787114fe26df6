/* SPDX-License-Identifier: MIT */
/* What Zydis says of an instruction, in the terms of collector/backend/engine/x86/x86.h: what
 * that decoder is compared with. */
#ifndef BT_X86_ORACLE_H
#define BT_X86_ORACLE_H

#include "collector/backend/engine/x86/x86.h"

/* As x86_decode(), about ten times slower. */
int x86_oracle(const uint8_t *bytes, size_t n, struct x86_insn *insn);

/* The name of the first field in which the decoder's answer differs, NULL when it is right. */
const char *x86_oracle_difference(const struct x86_insn *ours, const struct x86_insn *theirs);

/* Flags that it leaves undefined: a set of enum x86_flag. */
unsigned x86_oracle_undefined(const uint8_t *bytes, size_t n);

/* The mnemonic, for a failing test's message; "invalid" when there is none. Static storage. */
const char *x86_oracle_name(const uint8_t *bytes, size_t n);

#endif
