/* SPDX-License-Identifier: MIT */
#include "lib/point.h"

#include <inttypes.h>
#include <stdio.h>

bool bt_point_is(const struct bt_point *a, const struct bt_point *b)
{
	return a->tick == b->tick && a->transfers == b->transfers && a->rip == b->rip &&
	       a->rcx == b->rcx;
}

void bt_point_print(const struct bt_point *p, char *out)
{
	if (p->tick == BT_TICKS_UNKNOWN)
		snprintf(out, BT_POINT_TEXT, "?+%" PRIu64 "@0x%" PRIx64, p->transfers, p->rip);
	else
		snprintf(out, BT_POINT_TEXT, "%" PRIu64 "+%" PRIu64 "@0x%" PRIx64, p->tick,
			 p->transfers, p->rip);
}
