/* SPDX-License-Identifier: MIT */
/* The code that an Intel PT stream of a task is decoded with. It is read from the task while that
 * stands still, and kept: the end of a stream is decoded once more with what follows it
 * (source_pt.c), when the task may have other code at the same place. Used by source_pt.c, one a
 * task. Decoding again is given the bytes of the first time, as long as they are kept. */
#ifndef BT_PT_CODE_H
#define BT_PT_CODE_H

#include "collector/backend/pmu/branch_source.h"
#include "lib/page.h"

enum {
	PT_PAGES = 64, /* the oldest makes room: items decoded again without it may come out
			  otherwise, but that is noticed */
};

struct pt_code {
	struct task *task;
	uint64_t look; /* number of the present look at the task: in each a page is read once */
	uint64_t item; /* the item that is being decoded, counted from where decoding again would
			  begin */
	bool again;    /* it was decoded before: the pages are of that time */
	struct pt_page {
		uint64_t addr, item, look; /* from that item on it is this */
		size_t len;                /* 0: free */
		bool told;                 /* the observer knows it as it is */
	} pages[PT_PAGES];
	unsigned next;
	struct pt_page *last; /* the page that was found last, or NULL: it is the one there before
				 item `until`, too */
	uint64_t until;
	uint8_t bytes[PT_PAGES][BT_PAGE];
};

/* As a flow_code of hardware_decoders/flow.h; arg: struct pt_code. At addr is an instruction, which
 * the observer knows then. */
size_t pt_code_read(void *arg, uint64_t addr, uint8_t *bytes, size_t n);

/* Forgets all pages; items are counted from 0. */
void pt_code_clear(struct pt_code *c);

#endif
