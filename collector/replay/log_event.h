/* SPDX-License-Identifier: MIT */
/* The event that a record of a log holds (doc/FORMAT.md, "The log"): its number, point and
 * registers, and how a replay has to treat it. Used by the session that replays. Pure. */
#ifndef BT_LOG_EVENT_H
#define BT_LOG_EVENT_H

#include <stdbool.h>

#include "format/record.h"

/* An event in words: compat: of a call, whether its number is of the 32-bit table. */
enum { LOG_EVENT_NAME = 80 };
const char *log_event_name(const struct bt_record *rec, bool compat, char out[LOG_EVENT_NAME]);

/* Its seq, 0: it has none; its point; its registers, NULL: it has none. */
uint64_t log_event_seq(const struct bt_record *rec);
const struct bt_point *log_event_point(const struct bt_record *rec);
const struct bt_regs *log_event_regs(const struct bt_record *rec);

/* Whether it is a signal that has done nothing to the task. */
bool log_event_is_nothing(const struct bt_record *rec);

/* Of a signal: whether a replay has to give it to the task at its point: what somebody sent;
 * SIGBUS, for memory of a file that is too short by now is there in a replay; SIGSYS, for the host
 * has neither the program's filter nor its dispatch; what a call of the vsyscall page raised, for
 * none is made. */
bool log_event_is_given(const struct bt_record *rec);

/* Where the instruction began in the place of whose system call the event is a signal, for the
 * program dispatches it to itself (prctl(2), PR_SET_SYSCALL_USER_DISPATCH, Linux 5.11): the
 * instruction has been executed, and no call was entered. Without prefixes in logs that do not
 * tell. 0: the event is none. */
uint64_t log_event_dispatched_from(const struct bt_record *rec);

/* Whether `behind` is where an instruction at `at` may have led, with no branch between. */
bool log_point_is_next(const struct bt_point *at, const struct bt_point *behind);

/* Whether the task has to be stopped where the event comes, as far as that does not depend on where
 * the task is when it is the next one. */
bool log_event_needs_stop(const struct bt_record *rec);

#endif
