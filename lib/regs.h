/* SPDX-License-Identifier: MIT */
/* The general registers of a task as the application sees them. They lie as in the kernel's
 * user_regs_struct (regs.def; tracee.c proves it). Used by all that look at a task or a snapshot.
 * Pure. */
#ifndef BT_REGS_H
#define BT_REGS_H

#include <stddef.h>
#include <stdint.h>

struct bt_regs {
#define BT_REG(name, dwarf) uint64_t name;
#include "lib/regs.def"
#undef BT_REG
};

/* Bits of eflags (Intel SDM volume 1, 3.4.3). */
enum bt_eflag {
	EFLAGS_CF = 1,
	EFLAGS_PF = 4,
	EFLAGS_ZF = 0x40,
	EFLAGS_SF = 0x80,
	EFLAGS_TF = 0x100,
	EFLAGS_OF = 0x800,
	EFLAGS_RF = 0x10000,
	EFLAGS_AC = 0x40000,
};

enum { BT_REG_COUNT = sizeof(struct bt_regs) / sizeof(uint64_t) };

/* Register i in regs.def order, 0 <= i < BT_REG_COUNT. */
static inline uint64_t bt_regs_get(const struct bt_regs *r, unsigned i)
{
	return ((const uint64_t *)r)[i];
}
static inline void bt_regs_set(struct bt_regs *r, unsigned i, uint64_t v)
{
	((uint64_t *)r)[i] = v;
}

struct bt_reg_info {
	const char *name;
	int dwarf; /* DWARF register number, or -1 */
};

extern const struct bt_reg_info bt_reg_info[BT_REG_COUNT];

/* The registers that text about a moment shows, by number, in its order. The rest of regs.def
 * (segments, orig_rax) says nothing about a program. */
enum { BT_REGS_SHOWN = 20 };
extern const uint8_t bt_regs_shown[BT_REGS_SHOWN];

/* The number of the register with this name, which has len bytes; negative: there is none. */
int bt_reg_find(const char *name, size_t len);

#endif
