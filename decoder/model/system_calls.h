/* SPDX-License-Identifier: MIT */
/* The system calls of a trace with their arguments and results, in the order in which the recorder
 * heard of them: those made at stops, and those made in the engine's cache. Used by the report, the
 * JSON and the viewer. It borrows from the model. */
#ifndef BT_SYSTEM_CALLS_H
#define BT_SYSTEM_CALLS_H

#include "decoder/model/model.h"
#include "syscalls/syscall_text.h"

struct system_call {
	uint32_t task;
	uint64_t tick; /* before it; BT_TICKS_UNKNOWN */
	uint64_t seq;  /* of the record that tells of its end, or of its beginning if it has none */
	struct syscall_known known;
};

/* Calls until a moment, of a task or of a process. */
struct system_calls_wanted {
	uint32_t task; /* 0: of all tasks of pid */
	uint32_t pid;
	uint64_t until; /* seq; UINT64_MAX: all */
	bool failed;    /* only those that have failed */
	size_t most;    /* only the newest of them */
};

struct system_calls {
	struct system_call *at; /* oldest first */
	size_t count;
	uint64_t before; /* older ones that are not in it */
};

/* Finds them. One that had not ended at that moment comes last, without a result. Errors:
 * BT_E_NO_MEMORY. Release it in any case. */
int system_calls_find(struct system_calls *c, const struct model *m,
		      const struct system_calls_wanted *wanted, struct bt_error *err) BT_MUST_USE;
void system_calls_release(struct system_calls *c);

#endif
