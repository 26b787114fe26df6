/* SPDX-License-Identifier: MIT */
/* The output of a recorded program that its user sees: writes to the files that it was given as
 * descriptors 1 and 2, through any descriptor. Used by the replay log. */
#ifndef BT_LOG_OUTPUTS_H
#define BT_LOG_OUTPUTS_H

#include <sys/stat.h>

#include "collector/record/log_sink.h"
#include "collector/tracee/tracee.h"

enum { LOG_STREAMS = 3 };

struct log_outputs {
	struct log_sink sink;
	struct stat streams[LOG_STREAMS]; /* the files that the program was given as 1 and 2;
					     st_mode 0: none */
	uint64_t told;                    /* bytes, of the call */
};

/* The program of the stopped tid begins. */
void log_outputs_begin(struct log_outputs *o, pid_t tid);

/* tid has left the call: logs its output that the user has seen, and its writes past the program's
 * own rights (/proc/PID/mem). Returns how many bytes the user has seen. */
uint64_t log_outputs_put(struct log_outputs *o, pid_t tid, const struct tracee_syscall *call,
			 uint64_t result);

#endif
