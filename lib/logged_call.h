/* SPDX-License-Identifier: MIT */
/* A system call that was made without a stop while a log is kept, or an instruction with a result
 * of its own: what a replay needs to answer it again. In backends, records and replays alike
 * (FORMAT.md, "LOG_CALLS"). */
#ifndef BT_LOGGED_CALL_H
#define BT_LOGGED_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/slice.h"
#include "lib/syscall.h"

enum {
	BT_LOGGED_DATA = 2, /* pieces of memory that such a call writes, at most */
};

enum bt_logged_form {
	BT_LOGGED_CALL, /* a system call */
	/* An instruction: result is edx and eax; */
	BT_LOGGED_RDTSC,
	BT_LOGGED_RDTSCP, /* ... ecx is another (Intel SDM volume 2, RDTSCP) */
	BT_LOGGED_XGETBV,
	BT_LOGGED_CPUID, /* ecx and ebx are others */
	BT_LOGGED_FORMS,
};

/* The output of a call for the user. */
struct bt_logged_output {
	unsigned stream; /* descriptor 1 or 2, as the program was given it; 0: no output */
	uint64_t addr;
	struct slice bytes;
};

/* In a replay: the system call that does to the mappings of the process what the answered call did
 * to those of the program, with these arguments; its fifth is -1, and its sixth 0. */
struct bt_logged_change {
	uint64_t nr; /* 0: there is none: the call changes no mappings */
	uint64_t args[4];
	uint64_t gives; /* any other result: it is not made */
};

struct bt_logged_call {
	uint64_t tick; /* of its task, before it */
	enum bt_logged_form form;
	uint32_t ecx, ebx; /* of an instruction, which has no field below but result */
	uint64_t nr;
	uint64_t result;    /* rax after it */
	bool again;         /* a signal interrupted it (LOG_CALL) */
	bool told;          /* its output has as many bytes as result says (LOG_CALL) */
	unsigned arg_count; /* the number of its arguments: */
	uint64_t args[BT_SYSCALL_ARGS];
	unsigned data_count; /* the pieces of memory that the kernel wrote: */
	struct {
		uint64_t addr;
		struct slice bytes;
	} data[BT_LOGGED_DATA];
	struct bt_logged_output output; /* not in LOG_CALLS: a LOG_OUTPUT before it */
	struct bt_logged_change change; /* nor is that: a LOG_SHAPE before it */
};

#endif
