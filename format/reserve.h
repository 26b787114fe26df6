/* SPDX-License-Identifier: MIT */
/* Disk behind the end of a trace's events, so that the record which says that the disk is full
 * finds room. Used by the writer. Mostly the rest of the file's last block does, for nothing. Else
 * disk is allocated behind the end, which readers do not see; where the file system cannot do that,
 * a file holds some. One thread at a time. */
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
	off_t block; /* of the file system, where all of the file's last one is the file's; 0: not
			so */
	off_t allocated; /* the offset in events up to which disk was allocated; 0: none was */
	bool file;       /* it cannot be: there is a file */
};

/* dir is the trace, events its file of that name, open for writing; both stay open until
 * reserve_close. */
void reserve_init(struct reserve *r, int dir, int events);

/* To be called before len bytes are appended to events. Returns 0: behind them there is room; or an
 * errno: there is not, for want of disk or because no file may be as large, and they are not to be
 * written. Behind what is there already the room stays then. */
int reserve_make_room(struct reserve *r, size_t len) BT_MUST_USE;

/* The room is to be used now. */
void reserve_break(struct reserve *r);

/* Gives the file system back what was not used. */
void reserve_close(struct reserve *r);

#endif
