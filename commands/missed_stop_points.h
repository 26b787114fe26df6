/* SPDX-License-Identifier: MIT */
/* The points of --snap-at that no task reached, for the line at the end of a recording. Used by
 * btrec run. No state. */
#ifndef BT_MISSED_STOP_POINTS_H
#define BT_MISSED_STOP_POINTS_H

#include "collector/task/stop_point.h"

enum {
	MISSED_STOP_POINTS_TEXT = 400, /* room for the text, with the NUL */
};

/* Writes "N of M points of --snap-at were never reached: A, B and K more". trace: its snapshots
 * name the points that were reached; all are written by now. If it cannot be read, the text has
 * only the numbers. kept: the number of points that were reached. */
void missed_stop_points(const char *trace, const struct stop_point *stop_points, size_t count,
			size_t kept, char text[MISSED_STOP_POINTS_TEXT]);

#endif
