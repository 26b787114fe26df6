/* SPDX-License-Identifier: MIT */
/* Intel PT packets as a processor writes them, one behind the other into a buffer, by libipt's
 * encoder. */
#ifndef BT_PT_WRITER_H
#define BT_PT_WRITER_H

#include <stdbool.h>

#include "lib/buf.h"

struct pt_writer {
	struct buf out;
	bool on; /* user code is traced now */
	uint64_t clock;
	uint64_t last_ip; /* the address that the next one is compressed against */
	/* TNT bits that wait, and how many a packet takes: 6 or up to 47. */
	uint64_t bits;
	unsigned bit_count, bit_max;
};

void pt_writer_init(struct pt_writer *w);
void pt_writer_release(struct pt_writer *w);

void pt_writer_bit(struct pt_writer *w, bool taken);
void pt_writer_flush(struct pt_writer *w);
void pt_writer_tip(struct pt_writer *w, uint64_t to);
void pt_writer_fup(struct pt_writer *w, uint64_t at);
void pt_writer_overflow(struct pt_writer *w);

/* A synchronization point; execution stands at ip. */
void pt_writer_sync(struct pt_writer *w, uint64_t ip);

/* User code is entered at ip; it is left, by an instruction of its own or (behind a FUP) not. */
void pt_writer_on(struct pt_writer *w, uint64_t ip);
void pt_writer_off(struct pt_writer *w);

#endif
