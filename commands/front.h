/* SPDX-License-Identifier: MIT */
/* The two processes of `btrec run`. The user's shell sees the front: it waits, stops when the
 * program stops, passes on signals sent to it, and ends as the program ended. The recorder is its
 * child and the program's parent; it may live on when the program leaves others behind (a daemon).
 * Used by btrec run alone. The recorder sends messages over a pipe; the front sends only
 * signals. */
#ifndef BT_FRONT_H
#define BT_FRONT_H

#include <signal.h>
#include <sys/types.h>

#include "collector/supervisor/supervisor.h"

enum front_message_type {
	FRONT_FAILED,  /* the program did not start: text, exit status in value */
	FRONT_STOPPED, /* the signal in value stopped it; the front stops too, and reads a
			  FRONT_WENT_ON when it goes on */
	FRONT_WENT_ON,
	FRONT_SAYS,  /* text is an error, a line for the user; the program runs on */
	FRONT_ENDED, /* it ended: kind, value; text is what else the one line for the user says */
};

/* A message from the recorder to the front; one struct each. */
struct front_message {
	enum front_message_type type;
	enum bt_exit_kind kind;
	int value;
	bool lives_on; /* the recorder runs on: do not wait for it */
	bool lacks;    /* FRONT_ENDED: text names something that was not recorded; --quiet does not
			  hide it */
	bool dropped;  /* FRONT_ENDED: its trace is not kept */
	bool failed;   /* FRONT_ENDED: the program, or one that it started, failed: the line says
			  what happened, and where */
	bool tells;    /* FRONT_ENDED: there are moments whose symbols are to be kept */
	char text[3880]; /* a message is one write to a pipe: at most 4096 */
};

struct front_options {
	bool quiet;   /* no line at the end, unless it lacks something */
	int patience; /* ms that may pass until the line says what happened; 0: it does not, and
			 no symbols are kept */
	int keep_patience; /* then, ms until the symbols of a run that failed are kept */
	bool keep_symbols; /* with the trace */
	const char *trace; /* its path, in memory shared with the recorder; empty until the recorder
			      has begun it */
	void (*at_end)(void *arg); /* called when all is said, before this process ends */
	void *arg;
};

/* Acts on the recorder's messages until the program has ended. Then returns the exit status, or
 * ends this process by the program's signal. */
int front_wait(int pipe, pid_t recorder, const struct front_options *options);

/* Call it before the fork. The recorder ignores signals that the terminal sends to the whole job,
 * and collects those that the front forwards. The front serves its own from front_wait() on. */
void front_shield(void);

/* In the recorder: whether the front has read every message and is not stopped. To make it go on,
 * send SIGCONT until this is true: the front may read of a stop late, or be about to stop, and
 * would then stay stopped. */
bool front_goes_on(int pipe, pid_t front);

/* In the recorder: the program's process exists from now on. Earlier signals to the group did not
 * reach it. */
void front_program_born(void);

/* A signal for the recorder's timer that nobody else uses. */
int front_tick_signal(void);

/* Signals that the whole process group was sent lately. */
struct front_group {
	bool reached[NSIG];
};

/* In the recorder, when the front has ended: whether a SIGTERM asks it to detach the tasks that are
 * left. */
bool front_asked_to_end(void);

/* A signal that the front was sent. */
struct front_signal {
	pid_t to; /* the program's process, or its group if our whole group was sent it (kill(2)) */
	pid_t from; /* the sender's pid; 0: no process */
};

/* In the recorder, at each tick, called until it returns 0. Returns a signal that was sent to the
 * front and did not reach the program by itself (a signal to their common group does). A SIGCONT is
 * meant for a stopped program. */
int front_forwarded(struct front_group *group, pid_t program, struct front_signal *s);

#endif
