/* SPDX-License-Identifier: MIT */
/* The session that replays (session.h): runs the code of a recorded task in a process of ours
 * (host.h) and answers for the kernel from the log. At each event it compares where the task is
 * with where it was, and applies what the event did. The first difference ends it.
 *
 * It knows no system calls, but that exit(2) and exit_group(2) end the host, too. */
#ifndef BT_REPLAYING_H
#define BT_REPLAYING_H

#include "collector/replay/destination.h"
#include "collector/replay/divergence.h"
#include "collector/replay/log_reader.h"
#include "collector/supervisor/supervisor.h"

struct replaying_options {
	uint64_t memory; /* bytes of addresses that the host may have; 0: no limit */
	bool output;     /* the program's output for its user is written again */

	/* In the order in which the task comes to them: on_destination is called at each, and at
	 * the last one the replay ends. They have been found (destination_find()), and stay as long
	 * as the replay. DESTINATION_END can only be the last. */
	const struct destination *destinations;
	size_t destination_count;

	/* The task has come to destinations[i]. It is stopped there, before anything that comes
	 * there is compared or has an effect: memory, registers and history can be looked at. */
	void (*on_destination)(void *arg, struct supervisor *sup, struct task *task, size_t i);

	/* The task has met an event, and has its effects: memory and registers can be looked at.
	 * seq: 0 where the event has no number. NULL: it is no matter. */
	void (*on_event)(void *arg, struct task *task, uint64_t seq);

	/* The task has stopped, and has not come to anything that is compared yet. NULL: it is no
	 * matter. */
	void (*on_stop)(void *arg, struct supervisor *sup, struct task *task);
	void *arg;

	/* Ticks after which a task that is behind its first destination is stopped again, at least:
	 * its history grows. 0: it is not. */
	uint64_t pause;

	/* It is told of spaces, code and branches. NULL: nobody listens. */
	const struct observer *observer;

	/* Another session that has parts of processes and tasks. Its operations on_new_process,
	 * on_forget_process, on_new and on_forget are called, and no others. NULL: there is none.
	 */
	struct session *keeper;
};

struct replaying {
	struct session session; /* first: a replay is one */
	struct observer observer;
	struct replaying_options options;
	struct log_reader log;
	struct processor_offer here; /* of this processor, if the log has that of the recording's */
	bool begun,
		done; /* the host is as the program was at its beginning; nothing more is to come */
	bool tells_saved_parts; /* the log has what xsave and its like stored */
	bool delivers; /* the present event is a signal, for which a handler may be entered */
	bool stops;    /* the task is stopped where the event comes */
	struct stop_point next;  /* of the event that is to come, or far behind it */
	struct stop_point pause; /* options.pause */
	uint64_t events;         /* met */
	uint64_t met;            /* seq of the last of them that has one */
	size_t destination;      /* index of the next one; destination_count: all were reached */
	bool passed;             /* the task was never at that one */
	int unwritten;   /* errno of the first output that could not be repeated; 0: all was */
	uint64_t unseen; /* bytes of output that the log does not have */
	int signo;       /* of a synchronous signal that has come unexpected; 0: none has */
	uint64_t stack_wanted; /* size up to which the stack could grow in the recording, and cannot
				  here; 0: it can */
	uint64_t shared_at; /* address of memory that others may have written to in the recording;
			       0: none */
	struct divergence divergence;
	struct bt_error failure; /* reason why the replay could not go on; code 0: none */
	struct task_end end;     /* the end of the recorded task; kind BT_EXIT_UNKNOWN: the log ends
				    before it */
};

/* Errors: BT_E_UNSUPPORTED: the trace cannot be replayed, and why. The trace must live as long as
 * the replay. */
int replaying_init(struct replaying *r, const struct trace *t,
		   const struct replaying_options *options, struct bt_error *err) BT_MUST_USE;
void replaying_release(struct replaying *r);

#endif
