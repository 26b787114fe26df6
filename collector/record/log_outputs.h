/* SPDX-License-Identifier: MIT */
/* The output of a recorded program that its user sees: writes to the files that it was given as
 * descriptors 1 and 2, through any descriptor. Used by the replay log. */
#ifndef BT_LOG_OUTPUTS_H
#define BT_LOG_OUTPUTS_H

#include "collector/record/log_sink.h"
#include "collector/tracee/output_files.h"
#include "collector/tracee/tracee.h"
#include "lib/buf.h"

struct log_outputs {
	struct log_sink sink;
	struct output_file files[OUTPUT_FILES];
	struct buf peeked; /* at the entry of a call that may take it away: what was in the pipe */
	uint64_t told;     /* bytes, of the call */
};

/* The program of the stopped tid begins. */
void log_outputs_begin(struct log_outputs *o, pid_t tid);
void log_outputs_release(struct log_outputs *o);

/* tid is at the entry of the call. */
void log_outputs_enter(struct log_outputs *o, pid_t tid, const struct tracee_syscall *call);

/* tid has left the call: logs its output that the user has seen, and its writes past the program's
 * own rights (/proc/PID/mem). Returns how many bytes the user has seen. */
uint64_t log_outputs_put(struct log_outputs *o, pid_t tid, const struct tracee_syscall *call,
			 uint64_t result);

#endif
