/* SPDX-License-Identifier: MIT */
/* The state that btrec replay shows of its destination: registers, and memory that was asked for.
 * It is copied there, and printed when the program's output has been repeated. */
#ifndef BT_REPLAY_LOOK_H
#define BT_REPLAY_LOOK_H

#include <stdbool.h>
#include <stdio.h>

#include "lib/buf.h"
#include "lib/error.h"
#include "lib/point.h"
#include "lib/regs.h"

struct task;

enum {
	LOOK_RANGES = 64,
	LOOK_BYTES = 1 << 20, /* of a range at most */
};

/* Memory that was asked for. */
struct look_range {
	int base; /* number of the register whose value is added to offset; negative: none */
	uint64_t offset;
	uint64_t length;

	/* Once it was looked at: */
	uint64_t addr;
	struct buf bytes; /* fewer than length: the byte behind them is not mapped */
};

struct replay_look {
	bool registers;
	struct look_range ranges[LOOK_RANGES];
	size_t range_count;

	/* Once the replay was there: */
	uint32_t task;
	struct bt_point point;
	struct bt_regs regs;
};

/* Adds a range: ADDR,LEN, where ADDR is a number, a register, or a register + or - a number, and
 * numbers are decimal or begin with 0x. Returns 0 or -BT_E_MISUSE. */
int replay_look_add(struct replay_look *look, const char *text, struct bt_error *err) BT_MUST_USE;

/* Keeps what the stopped task has. False without memory. */
bool replay_look_take(struct replay_look *look, const struct task *task);

/* Print the state that was asked for: as text; or point, registers and memory as a JSON object,
 * without the braces (doc/replay.schema.json). */
void replay_look_print(const struct replay_look *look, FILE *to);
void replay_look_print_json(const struct replay_look *look, FILE *to);

void replay_look_release(struct replay_look *look);

#endif
