/* SPDX-License-Identifier: MIT */
/* One instant in a task's life, and the counts that identify it (GLOSSARY.md: tick, transfer,
 * point). Traces, stops and stop points share it. Pure. */
#ifndef BT_POINT_H
#define BT_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Instruction classes that count as ticks. A backend counts the same ones in all its tasks. */
enum bt_tick_class {
	BT_TICK_JCC = 1,
	BT_TICK_JRCXZ = 2,
	BT_TICK_LOOP = 4,
};

/* The tick of a task whose ticks nobody has counted. */
#define BT_TICKS_UNKNOWN UINT64_MAX

/* The instant after `tick` conditional branches and `transfers` further transfers, before the
 * instruction at rip. rcx tells iterations of a REP instruction apart. */
struct bt_point {
	uint64_t tick, transfers, rip, rcx;
};

/* Room for bt_point_print(), with the NUL. */
enum { BT_POINT_TEXT = 64 };

/* Whether they are the same instant. */
bool bt_point_is(const struct bt_point *a, const struct bt_point *b);

/* Prints it into out[BT_POINT_TEXT] as TICK+TRANSFERS@ADDRESS, without rcx; an unknown tick is
 * "?". */
void bt_point_print(const struct bt_point *p, char *out);

#endif
