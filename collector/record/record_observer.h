/* SPDX-License-Identifier: MIT */
/* The observer of a recording: writes what spaces and backends tell (observer.h) as records of a
 * trace, which hold each code page's bytes once. Used by the recording. */
#ifndef BT_RECORD_OBSERVER_H
#define BT_RECORD_OBSERVER_H

#include "collector/space/observer.h"
#include "format/trace_writer.h"

/* The writer, which is not taken over, stays open as long as something is observed. */
struct observer record_observer(struct trace_writer *w);

/* Writes the system calls of the task that were told of and are not in the trace yet. To be called
 * before any other event of the task is written. */
void record_write_syscalls(struct trace_writer *w, struct task *task);

#endif
