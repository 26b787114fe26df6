/* SPDX-License-Identifier: MIT */
#include "lib/regs.h"

#include <string.h>

const struct bt_reg_info bt_reg_info[BT_REG_COUNT] = {
#define BT_REG(reg, number) {.name = #reg, .dwarf = number},
#include "lib/regs.def"
#undef BT_REG
};

#define NUMBER(reg) (offsetof(struct bt_regs, reg) / sizeof(uint64_t))

const uint8_t bt_regs_shown[BT_REGS_SHOWN] = {
	NUMBER(rax), NUMBER(rbx), NUMBER(rcx),    NUMBER(rdx),     NUMBER(rsi),
	NUMBER(rdi), NUMBER(rbp), NUMBER(rsp),    NUMBER(r8),      NUMBER(r9),
	NUMBER(r10), NUMBER(r11), NUMBER(r12),    NUMBER(r13),     NUMBER(r14),
	NUMBER(r15), NUMBER(rip), NUMBER(eflags), NUMBER(fs_base), NUMBER(gs_base)};

int bt_reg_find(const char *name, size_t len)
{
	for (int i = 0; i < BT_REG_COUNT; i++)
		if (strlen(bt_reg_info[i].name) == len && !memcmp(bt_reg_info[i].name, name, len))
			return i;
	return -1;
}
