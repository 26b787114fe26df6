/* SPDX-License-Identifier: MIT */
/* The session that replays (session.h): runs the code of a recorded task in a process of ours
 * (host.h) and answers for the kernel from the log. At each event it compares where the task is
 * with where it was, and applies what the event did. The first difference ends it.
 *
 * It knows no system calls, but that exit(2) and exit_group(2) end the host, too. */
#ifndef BT_REPLAYING_H
#define BT_REPLAYING_H

#include "collector/replay/divergence.h"
#include "collector/replay/log_events.h"
#include "collector/supervisor/supervisor.h"

struct replaying_options {
	bool output;     /* what the program wrote for its user is written again */
	uint64_t memory; /* bytes of addresses that the host may have; 0: no limit */
};

struct replaying {
	struct session session; /* first: a replay is one */
	struct observer observer;
	struct replaying_options options;
	struct log_events log;
	struct processor_offer here; /* of this processor, where the log says what that of the
					recording had */
	bool begun,
		done; /* the host is as the program was at its beginning; nothing more is to come */
	bool delivers; /* the present event is a signal, for which a handler may be entered */
	struct stop_point next; /* of the event that is to come, or far behind it */
	uint64_t events;        /* met */
	struct divergence divergence;
	struct bt_error failure; /* code 0: none. What stood in the way */
	struct task_end end;     /* how the recorded task ended; kind BT_EXIT_UNKNOWN: the log ends
				    before that */
};

/* Errors: BT_E_UNSUPPORTED: the trace cannot be replayed, and why. The trace must live as long as
 * the replay. */
int replaying_init(struct replaying *r, const struct trace *t,
		   const struct replaying_options *options, struct bt_error *err) BT_MUST_USE;
void replaying_release(struct replaying *r);

#endif
