/* SPDX-License-Identifier: MIT */
/* The stores of sgdt, sidt, smsw, sldt and str: their addresses, and the values that Linux gives
 * where UMIP keeps programs from the real ones (fixup_umip_exception() in arch/x86/kernel/umip.c,
 * Linux 6.18). A processor without UMIP, or a kernel without that function, gives other values: a
 * recording that is to be replayed has these on every machine. Also the addresses of xsave and its
 * like. Pure. */
#ifndef BT_SYSTEM_STORE_H
#define BT_SYSTEM_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/regs.h"

struct bt_system_store {
	struct bt_regs regs; /* behind the instruction */
	uint64_t addr;       /* of its operand, if that is memory */
	size_t n;            /* bytes stored there; 0: the operand is a register, in regs */
	uint8_t bytes[10];
};

/* The instruction of 64-bit code at regs->rip, with the registers before it. False: it is none of
 * these. */
bool bt_system_store_decode(const uint8_t *bytes, size_t n, const struct bt_regs *regs,
			    struct bt_system_store *out);

/* The address at which xsave, xsavec or xsaveopt, the instruction of 64-bit code at regs->rip,
 * stores. False: it is none of these. */
bool bt_saved_parts_address(const uint8_t *bytes, size_t n, const struct bt_regs *regs,
			    uint64_t *addr);

#endif
