/* SPDX-License-Identifier: MIT */
/* Checksums of a replayed task's registers and memory at its events. Two replays of a recording
 * print the same checksums, with any backend. btrec replay --checksum. */
#ifndef BT_REPLAY_CHECKSUM_H
#define BT_REPLAY_CHECKSUM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct task;

struct replay_checksum {
	uint64_t every;  /* so many events; 0: it is not asked for */
	uint64_t events; /* so far */
	bool json;
	uint8_t *room; /* owned; NULL: none yet */
};

/* The stopped task has met an event, and has its effects. seq: its number, 0: it has none. Prints a
 * line, if it is the event's turn. False without memory, or when it cannot be read. */
bool replay_checksum_event(struct replay_checksum *c, const struct task *task, uint64_t seq,
			   FILE *to);

void replay_checksum_release(struct replay_checksum *c);

#endif
