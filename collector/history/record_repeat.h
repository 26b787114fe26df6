/* SPDX-License-Identifier: MIT */
/* Finds records that are the same ones again and again. Used by the branch log, which keeps them
 * once, with a count. No state. */
#ifndef BT_RECORD_REPEAT_H
#define BT_RECORD_REPEAT_H

#include "collector/history/branch_log.h"

struct record_repeat {
	size_t records; /* the first so many */
	size_t times;   /* come so many times more; 0: it is not worth while */
};

/* Of n records, those at their beginning; no more than `most` that come again. Somebody may write
 * to them meanwhile. */
struct record_repeat record_repeat_find(const struct branch_log_record *records, size_t n,
					size_t most);

#endif
