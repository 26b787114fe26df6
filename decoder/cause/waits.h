/* SPDX-License-Identifier: MIT */
/* The waits of a moment's threads: the system call that each is in; of a lock, which it is and who
 * holds it; and threads that wait for each other in a ring. Used by the explanation of a hang, the
 * report, the JSON and the viewer. It borrows from model and symbols.
 *
 * A lock's kind is told by the libc function that waits on the stack, its owner by the lock's own
 * memory, as glibc for x86-64 lays it out (sysdeps/nptl/bits/struct_mutex.h, struct_rwlock.h and
 * thread-shared-types.h, 2.25 to 2.42). The recorder keeps that memory: a register of the waiting
 * thread holds its address. Of other libraries' locks no owner is told.
 *
 * A wait is called a deadlock only where nothing that POSIX defines can end it:
 * - It has no time limit. A ring of which one wait has one is none.
 * - It is for a lock that its owner alone may unlock, or for the end of a thread. A wait that
 *   anybody may end, for a semaphore or a condition variable, is part of no ring.
 * - The owner is in the ring, or is nobody any more. Of a robust lock the kernel ends the wait when
 *   the owner ends; but the owners in a ring do not end.
 * - A signal handler returns to a wait for a lock or a thread's end: both go on (signal(7)).
 * - pthread_cancel(3) ends no wait for a lock, but a pthread_join(3), and who joined may then
 *   unlock what it held. A ring with a join is a deadlock only where no thread can go on that could
 *   cancel: each other one waits for the ring, or for another that is dead.
 * Behaviour that POSIX leaves undefined is not looked at: another's mutex unlocked, a handler that
 * jumps out of a lock function, a cancellation that is asynchronous there. */
#ifndef BT_WAITS_H
#define BT_WAITS_H

#include "decoder/model/model.h"
#include "decoder/symbols/symbols.h"

enum {
	WAIT_TEXT_MAX = 400,
};

enum wait_kind {
	WAIT_NONE,    /* it is in no system call */
	WAIT_CALL,    /* a system call that is no futex */
	WAIT_FUTEX,   /* a futex whose use is not known */
	WAIT_LOCK,    /* a lock of a kind that has an owner */
	WAIT_REFUSED, /* a refused lock: glibc waits for ever then, on a variable of its own
			 (nptl/pthread_mutex_lock.c: "Delay the thread indefinitely") */
	WAIT_OBJECT,  /* something without an owner: a condition variable, a semaphore */
	WAIT_PRIVATE, /* a lock of libc itself; its owner is not known */
	WAIT_JOIN,    /* the end of a thread */
};

enum owner_state {
	OWNER_UNKNOWN,
	OWNER_LIVES,
	OWNER_ENDED,     /* while it held the lock */
	OWNER_ELSEWHERE, /* another process's: the lock was held when this process was forked, and
			    nobody here holds its copy, but perhaps the waiting thread */
};

struct wait {
	const struct bt_record_thread *thread;
	enum wait_kind kind;
	const char *what; /* "mutex", "condition variable"; of a private lock the function that
			     takes it, "malloc"; "" */
	uint64_t object;  /* address of the lock or other object; 0 unknown */
	uint32_t slack;   /* the object's symbol begins at most so many bytes before */
	bool is_timed;    /* it ends by itself at some time */
	enum owner_state owner_state;
	uint32_t owner; /* thread id of the lock's holder, or of the thread that is joined; 0
			   unknown */
	const struct model_task *owner_task; /* NULL: not in the trace */
	uint32_t ring;           /* number of the ring of threads that it is part of; 0: of none */
	bool may_be_cancelled;   /* a thread that can go on may end the ring: it has a join */
	const char *interrupted; /* if a signal handler waits: the interrupted function, as the
				    program called it; "" */
};

struct waits {
	struct wait *at; /* of each of the moment's threads, by task number */
	size_t count;
	uint32_t rings;
};

/* Finds them. Errors: BT_E_NO_MEMORY. Release it in any case. */
int waits_find(struct waits *w, const struct model *m, struct symbols *s,
	       const struct model_snapshot *snap, struct bt_error *err) BT_MUST_USE;
void waits_release(struct waits *w);

/* Whether nothing can end the wait: it is in a ring that nobody can cancel, or its lock's owner has
 * ended, or was left behind by fork(2). */
bool wait_is_dead(const struct wait *wait);

/* "waits for mutex b, which task 3 holds"; "is in read(0, 0x7ffe0, 100)"; "runs". It has names from
 * outside: escape it. Returns out. */
const char *wait_text(char out[WAIT_TEXT_MAX], const struct wait *wait, struct symbols *s,
		      const struct model_snapshot *snap);

/* Why threads can never go on: "deadlock: tasks 2 and 3 wait for each other"; of several reasons
 * that of the first such thread, which *first becomes. Escape it. Returns how many threads that
 * are; 0: none is known to, *out is "", *first NULL. */
size_t waits_deadlock_text(char out[WAIT_TEXT_MAX], const struct waits *w, struct symbols *s,
			   const struct model_snapshot *snap, const struct wait **first);

/* "tasks 1 and 2 wait for each other, unless one is cancelled", of the first ring that is no
 * deadlock only because of that; "": there is none. Returns how many threads it has. */
size_t waits_ring_text(char out[WAIT_TEXT_MAX], const struct waits *w);

#endif
