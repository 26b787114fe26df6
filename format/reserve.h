/* SPDX-License-Identifier: MIT */
/* Disk reserved behind the end of a trace's events, for the record that says that the disk is full.
 * Used by the writer. Mostly the rest of the file's last block suffices. Else disk is allocated
 * behind the end, which readers do not see; if the file system cannot do that, a file holds some.
 * One thread at a time. */
#ifndef BT_RESERVE_H
#define BT_RESERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/error.h"

enum {
	RESERVE_LAST = 512, /* bytes that always find room: the block of a STOPPED record has some
			       120, and a longer text in other languages */
};

struct reserve {
	int dir, events; /* borrowed descriptors; -1: nothing is kept */
	off_t block; /* block size of the file system, if the file owns all of its last block; else
			0 */
	off_t allocated; /* disk is allocated up to this offset in events; 0: none is */
	bool file;       /* it cannot be allocated: a file holds the reserve */
};

/* dir is the trace, events its file of that name, open for writing; both stay open until
 * reserve_close. */
void reserve_init(struct reserve *r, int dir, int events);

/* Call it before len bytes are appended to events. Returns 0 if the reserve fits behind them.
 * Otherwise returns an errno (the disk is full, or the file would be too large): do not write them;
 * the reserve behind the present end stays. */
int reserve_make_room(struct reserve *r, size_t len) BT_MUST_USE;

/* Frees the reserve for use. */
void reserve_break(struct reserve *r);

/* Returns the unused reserve to the file system. */
void reserve_close(struct reserve *r);

#endif
