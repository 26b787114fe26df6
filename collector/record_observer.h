/* SPDX-License-Identifier: MIT */
/* The observer of a recording session: writes what spaces and backends tell (observer.h) as records
 * of a trace, which hold each code page's bytes once. Used by the recorder. */
#ifndef BT_RECORD_OBSERVER_H
#define BT_RECORD_OBSERVER_H

#include "collector/observer.h"
#include "format/trace_writer.h"

/* The writer, which is not taken over, stays open as long as something is observed. */
struct observer record_observer(struct trace_writer *w);

#endif
