/* SPDX-License-Identifier: MIT */
/* An observer that keeps nothing of what spaces and backends tell: the trace that is replayed has
 * it. */
#ifndef BT_SILENT_OBSERVER_H
#define BT_SILENT_OBSERVER_H

#include "collector/space/observer.h"

extern const struct observer_ops silent_observer_ops;

#endif
