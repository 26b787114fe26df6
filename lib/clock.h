/* SPDX-License-Identifier: MIT */
/* The time of a recording: nanoseconds since it began, of CLOCK_MONOTONIC. The recording starts
 * the clock when it begins; all others only read it. */
#ifndef BT_CLOCK_H
#define BT_CLOCK_H

#include <stdint.h>
#include <sys/types.h>

struct bt_clock {
	uint64_t begun; /* ns of CLOCK_MONOTONIC */
};

/* A clock that begins now. */
struct bt_clock bt_clock_start(void);

/* Nanoseconds since it began. */
uint64_t bt_clock_now(const struct bt_clock *c);

/* Nanoseconds of a processor that the calling thread has used (CLOCK_THREAD_CPUTIME_ID). */
uint64_t clock_used_by_thread(void);

/* The same of all threads of a process, while they run, too (clock_getcpuclockid(3)); 0 if it is
 * unknown. */
uint64_t clock_used_by_process(pid_t pid);

/* The recording's time at an instant in nanoseconds of CLOCK_MONOTONIC; 0 before it began. */
uint64_t bt_clock_at(const struct bt_clock *c, uint64_t monotonic);

#endif
