/* SPDX-License-Identifier: MIT */
/* Events: every status that is ready is taken before any is served. */
#include "collector/recorder_private.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "collector/tracee/tracee.h"

enum {
	MANY = 64, /* tasks */
	/* Of many all are looked at when one in so many could have been found by that. */
	LOOK_SHARE = 8,
	/* Nanoseconds without a SIGCHLD before that; for each task: several times what the look
	   takes. */
	LOOK_SOON = 32,
	LOOK_LATE = 2000000,
	LOOK_ANYWAY = 100000000,
	TIDS_APART = 1 << 14,
};

/* Whether a status tells only of where the task was then. That it has become another program stays
 * true, and that it has come. */
static bool is_of_the_moment(const struct recorder *r, pid_t tid, int status)
{
	const struct task *task = task_find(&r->tasks, tid);

	return WIFSTOPPED(status) && status >> 8 != (SIGTRAP | PTRACE_EVENT_EXEC << 8) && task &&
	       task->first_stop_seen;
}

static bool is_empty(const struct recorder *r) { return r->queue_first == r->queue_end; }

/* 0 where none of them is of this tid; there may be none if not. */
static uint32_t *queued_of(const struct recorder *r, pid_t tid)
{
	return &r->queued_of[(uint32_t)tid % TIDS_APART];
}

/* The oldest event of tid at `from` or behind it, or queue_end. */
static size_t find_event(const struct recorder *r, pid_t tid, size_t from)
{
	if (r->queued_of && !*queued_of(r, tid))
		return r->queue_end;
	while (from < r->queue_end && r->queue[from].tid != tid)
		from++;
	return from;
}

static void take_out(struct recorder *r, size_t at)
{
	if (r->queued_of)
		--*queued_of(r, r->queue[at].tid);
	if (at == r->queue_first)
		r->queue_first++;
	else
		memmove(&r->queue[at], &r->queue[at + 1], (--r->queue_end - at) * sizeof *r->queue);
}

/* QUIRK(stop-left): the task has stopped again, or ended, and nobody had resumed it: it was killed.
 * Its stop before that can neither be looked at any more, nor may the task be resumed for it. */
static void drop_earlier(struct recorder *r, pid_t tid)
{
	size_t at = find_event(r, tid, r->queue_first);

	while (at < r->queue_end) {
		if (is_of_the_moment(r, tid, r->queue[at].status))
			take_out(r, at);
		else
			at++;
		at = find_event(r, tid, at > r->queue_first ? at : r->queue_first);
	}
}

/* Makes room for one more. False without memory. */
static bool make_room(struct recorder *r)
{
	size_t cap = r->queue_cap ? r->queue_cap * 2 : 64;
	struct queued_event *queue;

	if (!r->queued_of && is_empty(r))
		r->queued_of = calloc(TIDS_APART, sizeof *r->queued_of);
	if (r->queue_end < r->queue_cap)
		return true;
	if (r->queue_first > r->queue_cap / 2) {
		memmove(r->queue, r->queue + r->queue_first,
			(r->queue_end - r->queue_first) * sizeof *r->queue);
		r->queue_end -= r->queue_first;
		r->queue_first = 0;
		return true;
	}
	queue = realloc(r->queue, cap * sizeof *queue);
	if (!queue)
		return false;
	r->queue = queue;
	r->queue_cap = cap;
	return true;
}

/* False when the stop is none that anybody is to know of: another one follows. */
static bool queue_event(struct recorder *r, pid_t tid, int status)
{
	if (tracee_put_back(tid, status))
		return false;
	drop_earlier(r, tid);
	if (!make_room(r))
		return true;
	r->queue[r->queue_end++] = (struct queued_event){tid, status};
	if (r->queued_of)
		++*queued_of(r, tid);
	return true;
}

/* The oldest event of tid. False when there is none. */
static bool event_of(const struct recorder *r, pid_t tid, struct wait_event *ev)
{
	size_t at = find_event(r, tid, r->queue_first);

	if (at == r->queue_end)
		return false;
	*ev = wait_event_of(tid, r->queue[at].status);
	return true;
}

bool recorder_has_event(const struct recorder *r, pid_t tid)
{
	return find_event(r, tid, r->queue_first) < r->queue_end;
}

enum wait_type recorder_event_type(const struct recorder *r, pid_t tid)
{
	struct wait_event ev;

	return event_of(r, tid, &ev) ? ev.type : WAIT_TYPES;
}

int recorder_event_signal(const struct recorder *r, pid_t tid)
{
	struct wait_event ev;

	return event_of(r, tid, &ev) && ev.type == WAIT_SIGNAL ? ev.value : 0;
}

bool recorder_event_holds(const struct recorder *r, pid_t tid)
{
	struct wait_event ev;

	return event_of(r, tid, &ev) && wait_event_holds(&ev);
}

void recorder_drop_event(struct recorder *r, pid_t tid)
{
	size_t at = find_event(r, tid, r->queue_first);

	if (at < r->queue_end)
		take_out(r, at);
}

bool recorder_take_event(struct recorder *r, pid_t tid, enum wait_type type, int signo,
			 struct wait_event *ev)
{
	if (!event_of(r, tid, ev) || ev->type != type || ev->value != signo)
		return false;
	recorder_drop_event(r, tid);
	return true;
}

bool recorder_await_stop(struct recorder *r, pid_t tid)
{
	static const struct timespec pause = {.tv_nsec = 100000};
	int status;
	pid_t got;

	/* Bounded: what sleeps uninterruptibly (the parent of a vfork, a hung file system) does not
	 * stop for us. */
	do {
		while (!(got = waitpid(tid, &status, __WALL | WNOHANG)) &&
		       bt_clock_now(r->clock) < r->patience)
			nanosleep(&pause, NULL);
		if (got != tid)
			return false;
	} while (!queue_event(r, tid, status));
	return WIFSTOPPED(status);
}

/* One more status of tid, or (-1) of any. Returns what waitpid(2) does. */
static pid_t take(struct recorder *r, pid_t tid, int options)
{
	int status;
	pid_t got = waitpid(tid, &status, __WALL | options);

	if (got > 0)
		(void)queue_event(r, got, status);
	return got;
}

/* Asked for a status of any, the kernel looks at each task, whether there is one or not. */
static void take_any(struct recorder *r)
{
	pid_t got;

	while (is_empty(r) || r->tasks.count > 1) {
		got = take(r, -1, is_empty(r) ? 0 : WNOHANG);
		if (got < 0 && errno == EINTR)
			recorder_serve_tick(r);
		else if (got <= 0)
			break;
	}
}

/* ---- Many tasks ----
 * A stop raises SIGCHLD, which says whose it is, and a status of that one is had without a look at
 * the others (Linux 5.14). While a SIGCHLD is pending, others are lost, and may have been for other
 * stops. */

/* Takes what the next SIGCHLD tells of, within the time. False when none came: EAGAIN, EINTR. */
static bool take_told(struct recorder *r, long nanoseconds)
{
	const struct timespec time = {.tv_sec = nanoseconds / 1000000000,
				      .tv_nsec = nanoseconds % 1000000000};
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (sigtimedwait(&set, &info, &time) != SIGCHLD)
		return false;
	r->unseen = true;
	r->told_of += take(r, info.si_pid, WNOHANG) > 0;
	return true;
}

/* All statuses that are ready. False when there is no child. Where nothing was lost, the next look
 * may be later. */
static bool look_at_all(struct recorder *r)
{
	uint64_t soon = (uint64_t)r->tasks.count * LOOK_SOON, late = 2 * r->look_after;
	size_t before = r->queue_end - r->queue_first;
	pid_t got;

	while ((got = take(r, -1, WNOHANG)) > 0)
		;
	r->look_after = r->queue_end - r->queue_first > before || late < soon ? soon
			: late < LOOK_LATE                                    ? late
									      : LOOK_LATE;
	r->unseen = false;
	r->told_of = 0;
	return !got;
}

/* Who sends us SIGCHLD without end does not keep us from looking: after as many as there are tasks
 * all are looked at. */
static void take_told_first(struct recorder *r)
{
	unsigned told = 0;

	while (told < r->tasks.count && take_told(r, 0))
		told++;
	if (r->told_of > r->tasks.count / LOOK_SHARE)
		(void)look_at_all(r);
	while (is_empty(r)) {
		if (told++ < r->tasks.count &&
		    take_told(r, r->unseen ? (long)r->look_after : LOOK_ANYWAY))
			continue;
		told = 0;
		recorder_serve_tick(r);
		if (!look_at_all(r))
			return;
	}
}

bool recorder_next_event(struct recorder *r, struct wait_event *ev)
{
	(r->tasks.count < MANY ? take_any : take_told_first)(r);
	if (is_empty(r))
		return false;
	*ev = wait_event_of(r->queue[r->queue_first].tid, r->queue[r->queue_first].status);
	take_out(r, r->queue_first);
	return true;
}
