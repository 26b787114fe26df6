/* SPDX-License-Identifier: MIT */
/* Which of the points of --snap-at no task came to, for the line at the end of a recording (btrec run). */
#ifndef BT_GOALS_MISSED_H
#define BT_GOALS_MISSED_H

#include "collector/goal.h"

enum {
	GOALS_MISSED_TEXT = 400, /* room for the text, with the NUL */
};

/* Writes "N of M points of --snap-at were never reached: A, B and K more". trace: whose snapshots, all of them written by now, bear the points that were
 * reached; where it cannot be read, only the numbers are told. kept: how many were. */
void goals_missed(const char *trace, const struct goal *goals, size_t count, size_t kept, char text[GOALS_MISSED_TEXT]);

#endif
