/* SPDX-License-Identifier: MIT */
/* The process in which a recorded address space is made anew. It is a traced process of ours, whose
 * memory is taken away; then only what the log says is there. The program in it makes no system
 * call: those made here are all. Used by the session that replays. */
#ifndef BT_HOST_H
#define BT_HOST_H

#include <stdbool.h>
#include <sys/types.h>

#include "format/record.h"
#include "lib/error.h"
#include "lib/logged_call.h"

/* The memory that this machine has, with its swap, in bytes. 0: unknown. */
uint64_t host_usual_memory(void);

/* Of so many bytes of addresses, 0: without a limit, those that a process may have here: the hard
 * limits (RLIMIT_AS, RLIMIT_DATA) stay. */
uint64_t host_allowed_memory(uint64_t wanted);

/* Takes all memory and all descriptors from the thread's process, for good: limits and a system
 * call filter (host_filter.h) hold it from here on. memory: the bytes of addresses that it may
 * have, 0: no limit. The thread is at the exit of an execve or of a call that was not made, here
 * and below. Errors: BT_E_GONE, BT_E_IO; BT_E_UNSUPPORTED: the kernel has no such filters. */
int host_confine(pid_t tid, uint64_t memory, struct bt_error *err) BT_MUST_USE;

/* The bytes of addresses that the thread's process, which is confined, may have (tid 0: a host that
 * is made now would have): `memory` (0: any number), or less by a hard limit under which btrec
 * itself is. *by: text about that limit; "" for `memory`. */
uint64_t host_room(pid_t tid, uint64_t memory, const char **by);

enum host_result {
	HOST_DONE,
	HOST_REFUSES, /* it is no range of the program's, or the kernel refuses */
	HOST_FULL,    /* the process may have no more memory, or no more mappings */
};

/* Makes pages as the effect says. */
enum host_result host_shape(pid_t tid, const struct bt_record_log_shape *shape);

/* The call by which a task of the host, running, does what host_shape() would do. False: that is
 * not one call, or code may come of it. */
bool host_change(const struct bt_record_log_shape *shape, struct bt_logged_change *change);

/* From now on the task's stack may grow up to so many bytes, UINT64_MAX: without a limit. False
 * where only a smaller one could be set: without CAP_SYS_RESOURCE the hard limit stays. */
bool host_limit_growth(pid_t tid, uint64_t size);

/* Whether n bytes from addr on may be the program's: they are neither ours nor the kernel's. */
bool host_may_write(uint64_t addr, size_t n);

/* Writes bytes that the kernel wrote. False where nothing is mapped. */
bool host_write(pid_t tid, uint64_t addr, struct slice bytes);

/* Where an instruction of that form ends that begins at rip, with whatever prefixes; 0: none does.
 * It may be one that this processor lacks, or that is forbidden. */
uint64_t host_instruction_end(pid_t tid, uint64_t rip, enum bt_logged_form form);

/* Whether the instruction before rip may be one. */
bool host_instruction_ends(pid_t tid, uint64_t rip, enum bt_logged_form form);

/* Whether rcx counts iterations of the instruction at rip. Of a task that was killed within a
 * sequence of the cache's it may be a guess. */
bool host_repeats(pid_t tid, uint64_t rip);

#endif
