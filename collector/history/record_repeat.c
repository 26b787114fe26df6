/* SPDX-License-Identifier: MIT */
#include "collector/history/record_repeat.h"

#include <string.h>

enum {
	PERIOD_MAX = 64, /* looked for in each block of a log: a small part of what it takes to copy
			    that */
	TIMES_LEAST = 4,
	RECORDS_LEAST = 32, /* in all: fewer are copied as fast */
	AT_ONCE = 64,       /* compared */
};

static bool same_records(const struct branch_log_record *a, const struct branch_log_record *b,
			 size_t n)
{
	return !memcmp(a, b, n * sizeof *a);
}

/* How many of n records are the same as those `period` behind them. */
static size_t same_behind(const struct branch_log_record *records, size_t n, size_t period)
{
	size_t i = 0;

	while (i + AT_ONCE <= n && same_records(records + i, records + i + period, AT_ONCE))
		i += AT_ONCE;
	while (i < n && same_records(records + i, records + i + period, 1))
		i++;
	return i;
}

struct record_repeat record_repeat_find(const struct branch_log_record *records, size_t n,
					size_t most)
{
	most = most < PERIOD_MAX ? most : PERIOD_MAX;
	for (size_t period = 1; period <= most && period * (1 + TIMES_LEAST) <= n; period++) {
		size_t times;

		if (!same_records(records, records + period, 1))
			continue;
		times = same_behind(records, n - period, period) / period;
		if (times >= TIMES_LEAST && times * period >= RECORDS_LEAST)
			return (struct record_repeat){period, times};
	}
	return (struct record_repeat){0};
}
