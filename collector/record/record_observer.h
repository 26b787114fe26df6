/* SPDX-License-Identifier: MIT */
/* The observer of a recording session: writes what spaces and backends tell (observer.h) as records
 * of a trace, which hold each code page's bytes once. Used by the recorder. */
#ifndef BT_RECORD_OBSERVER_H
#define BT_RECORD_OBSERVER_H

#include "collector/space/observer.h"
#include "format/trace_writer.h"

/* The writer, which is not taken over, stays open as long as something is observed. */
struct observer record_observer(struct trace_writer *w);

/* How many system calls of the task were told of that are not in the trace yet. */
uint64_t record_syscalls(const struct task *task);

/* Writes these. To be called before any other event of the task is written. */
void record_write_syscalls(struct trace_writer *w, struct task *task);

/* The task is about to be freed: frees task->record. What is not written is lost. */
void record_forget(struct task *task);

#endif
