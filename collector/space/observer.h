/* SPDX-License-Identifier: MIT */
/* The facts that address spaces and backends tell an observer of the run. They do not know what
 * becomes of a fact: a recording session writes it to a trace (record_observer.h); another session
 * may compare it with a trace, or ignore it.
 * - Each operation is one fact, told once, in the order in which the facts came to be. It returns
 *   nothing: the program runs on whatever becomes of the record.
 * - No operation touches the program, or what is told of.
 * - Arguments are valid during the call.
 * - One thread. */
#ifndef BT_OBSERVER_H
#define BT_OBSERVER_H

#include <stdint.h>

#include "lib/event.h"

struct address_space;
struct branch_run;
struct bt_logged_call;
struct bt_syscall;
struct bt_syscall_details;
struct mapping;
struct task;

/* A task arrives on a processor or departs from it. */
struct processor_change {
	uint64_t time; /* of the recording's clock */
	uint32_t cpu;
	enum bt_sched what;
	uint64_t position; /* entries of the task's branch history before it */
};

struct observer_ops {
	/* A space has come, empty or as a copy of parent as that is now. */
	void (*space)(void *arg, const struct address_space *s, const struct address_space *parent);

	/* A mapping has come, or gone, in the space's epoch. */
	void (*mapped)(void *arg, const struct address_space *s, const struct mapping *m);
	void (*unmapped)(void *arg, const struct address_space *s, const struct mapping *m);

	/* Code of the page at addr is used from the space's epoch on. *content is the observer's:
	 * 0 for bytes[BT_PAGE] that it is shown for the first time, else what it left there. */
	void (*code)(void *arg, const struct address_space *s, uint64_t addr, const uint8_t *bytes,
		     uint64_t *content);

	/* Branches of a task that nobody was told of (branch_ring.h). */
	void (*branches)(void *arg, const struct branch_run *run);

	/* The task made a system call without a stop. Called a million times a second. details:
	 * its arguments; NULL: they were not noted. */
	void (*syscall)(void *arg, struct task *task, const struct bt_syscall *call,
			const struct bt_syscall_details *details);

	/* The same if a log is kept (backend.logged): the facts that a replay needs. Comes before
	 * the other. Or an instruction with a result of its own, of which there is no other. NULL:
	 * nobody listens. */
	void (*logged)(void *arg, struct task *task, const struct bt_logged_call *call);

	/* The task has an instruction behind it that has a result of its own, and no stop was made
	 * for that (as BACKEND_INSTRUCTION, backend.h). NULL: nobody listens. */
	void (*instruction)(void *arg, const struct task *task);

	void (*processor)(void *arg, const struct task *task, const struct processor_change *c);

	/* A line about the task, for the reader of the record. */
	void (*note)(void *arg, const struct task *task, const char *text);
};

struct observer {
	const struct observer_ops *ops;
	void *arg;
};

#endif
