/* SPDX-License-Identifier: MIT */
#include "lib/regs.h"

const struct bt_reg_info bt_reg_info[BT_REG_COUNT] = {
#define BT_REG(reg, number) {.name = #reg, .dwarf = number},
#include "lib/regs.def"
#undef BT_REG
};
