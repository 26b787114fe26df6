/* SPDX-License-Identifier: MIT */
#include "collector/supervisor/event_queue.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "collector/supervisor/supervised.h"
#include "collector/tracee/tracee.h"
#include "lib/grow.h"

/* Tasks of all kinds, and none that another supervisor's thread traces (waitpid(2)). */
#define OF_OURS (__WALL | __WNOTHREAD)

enum {
	MANY = 64, /* tasks */
	/* All tasks are looked at when one in so many has had a status since the last look. */
	LOOK_SHARE = 8,
	/* Nanoseconds without a SIGCHLD before all are looked at. LOOK_SOON is for each task:
	   several times what the look takes. */
	LOOK_SOON = 32,
	LOOK_LATE = 2000000,
	LOOK_ANYWAY = 100000000,
	TIDS_APART = 1 << 14,
};

/* Whether a status only says where the task was then. An exec stays true, and so does a first stop.
 */
static bool is_of_the_moment(const struct event_queue *q, pid_t tid, int status)
{
	const struct task *task = task_find(q->tasks, tid);

	return WIFSTOPPED(status) && status >> 8 != (SIGTRAP | PTRACE_EVENT_EXEC << 8) && task &&
	       task->supervised->first_stop_seen;
}

static bool queue_is_empty(const struct event_queue *q) { return q->first == q->end; }

/* The count for this tid's low bits. 0: no event is of this tid. */
static uint32_t *queued_of(const struct event_queue *q, pid_t tid)
{
	return &q->queued_of[(uint32_t)tid % TIDS_APART];
}

/* The oldest event of tid at `from` or behind it, or queue_end. */
static size_t find_event(const struct event_queue *q, pid_t tid, size_t from)
{
	if (q->queued_of && !*queued_of(q, tid))
		return q->end;
	while (from < q->end && q->events[from].tid != tid)
		from++;
	return from;
}

static void remove_event(struct event_queue *q, size_t at)
{
	if (q->queued_of)
		--*queued_of(q, q->events[at].tid);
	if (at == q->first)
		q->first++;
	else
		memmove(&q->events[at], &q->events[at + 1], (--q->end - at) * sizeof *q->events);
}

/* QUIRK(stop-left): the task has stopped again, or ended, although it was not resumed: it was
 * killed. Its earlier stop cannot be looked at any more, and the task must not be resumed for it.
 */
static void drop_earlier(struct event_queue *q, pid_t tid)
{
	size_t at = find_event(q, tid, q->first);

	while (at < q->end) {
		if (is_of_the_moment(q, tid, q->events[at].status))
			remove_event(q, at);
		else
			at++;
		at = find_event(q, tid, at > q->first ? at : q->first);
	}
}

/* Makes room for one more. False without memory. */
static bool make_queue_room(struct event_queue *q)
{
	struct queued_event *queue;

	if (!q->queued_of && queue_is_empty(q))
		q->queued_of = calloc(TIDS_APART, sizeof *q->queued_of);
	if (q->end == q->cap && q->first > q->cap / 2) {
		memmove(q->events, q->events + q->first, (q->end - q->first) * sizeof *q->events);
		q->end -= q->first;
		q->first = 0;
	}
	queue = array_grow(q->events, q->end, &q->cap, sizeof *queue);
	if (queue)
		q->events = queue;
	return queue;
}

/* False when the stop is not to be served: another one follows. */
static bool queue_event(struct event_queue *q, pid_t tid, int status)
{
	if (tracee_put_back(tid, status))
		return false;
	drop_earlier(q, tid);
	if (!make_queue_room(q))
		return true;
	q->events[q->end++] = (struct queued_event){tid, status};
	if (q->queued_of)
		++*queued_of(q, tid);
	return true;
}

/* The oldest event of tid. False when there is none. */
static bool event_of(const struct event_queue *q, pid_t tid, struct wait_event *ev)
{
	size_t at = find_event(q, tid, q->first);

	if (at == q->end)
		return false;
	*ev = wait_event_of(tid, q->events[at].status);
	return true;
}

bool event_queue_has(const struct event_queue *q, pid_t tid)
{
	return find_event(q, tid, q->first) < q->end;
}

enum wait_type event_queue_type(const struct event_queue *q, pid_t tid)
{
	struct wait_event ev;

	return event_of(q, tid, &ev) ? ev.type : WAIT_TYPES;
}

int event_queue_signal(const struct event_queue *q, pid_t tid)
{
	struct wait_event ev;

	return event_of(q, tid, &ev) && ev.type == WAIT_SIGNAL ? ev.value : 0;
}

bool event_queue_holds(const struct event_queue *q, pid_t tid)
{
	struct wait_event ev;

	return event_of(q, tid, &ev) && wait_event_holds(&ev);
}

void event_queue_drop(struct event_queue *q, pid_t tid)
{
	size_t at = find_event(q, tid, q->first);

	if (at < q->end)
		remove_event(q, at);
}

bool event_queue_take(struct event_queue *q, pid_t tid, enum wait_type type, int signo,
		      struct wait_event *ev)
{
	if (!event_of(q, tid, ev) || ev->type != type || ev->value != signo)
		return false;
	event_queue_drop(q, tid);
	return true;
}

bool event_queue_await(struct event_queue *q, pid_t tid, uint64_t until)
{
	static const struct timespec pause = {.tv_nsec = 100000};
	int status;
	pid_t got;

	/* Bounded: a thread in an uninterruptible sleep (the parent of a vfork, a hung file system)
	 * does not stop for us. */
	do {
		while (!(got = waitpid(tid, &status, OF_OURS | WNOHANG)) &&
		       bt_clock_now(q->clock) < until)
			nanosleep(&pause, NULL);
		if (got != tid)
			return false;
	} while (!queue_event(q, tid, status));
	return WIFSTOPPED(status);
}

/* Takes one more status of tid, or (-1) of any. Returns what waitpid(2) does. */
static pid_t take_status(struct event_queue *q, pid_t tid, int options)
{
	int status;
	pid_t got = waitpid(tid, &status, OF_OURS | options);

	if (got > 0)
		(void)queue_event(q, got, status);
	return got;
}

/* How long a look may take, in nanoseconds, at most `most`. */
static long time_left(const struct event_queue *q, uint64_t most)
{
	uint64_t now, until = q->until ? *q->until : 0;

	if (!until)
		return (long)most;
	now = bt_clock_now(q->clock);
	return now >= until ? 0 : until - now < most ? (long)(until - now) : (long)most;
}

/* Waits for a SIGCHLD, another signal that is not blocked, or the time. */
static void await_signal(struct event_queue *q)
{
	const struct timespec time = {.tv_nsec = time_left(q, LOOK_ANYWAY)};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	(void)sigtimedwait(&set, NULL, &time);
	q->unseen = true;
}

/* For a status of any task the kernel looks at each of them. waitpid(2) knows no time: where there
 * is one, SIGCHLD is waited for. */
static void take_any(struct event_queue *q)
{
	pid_t got;

	while (queue_is_empty(q) || q->tasks->count > 1) {
		bool timed = queue_is_empty(q) && q->until && *q->until;

		got = take_status(q, -1, queue_is_empty(q) && !timed ? 0 : WNOHANG);
		if (!got && timed) {
			await_signal(q);
			q->on_wake(q->arg);
			continue;
		}
		if (got < 0 && errno == EINTR)
			q->on_wake(q->arg);
		else if (got <= 0)
			break;
	}
}

/* ---- Many tasks ----
 * A stop raises SIGCHLD, which says whose it is, and a status of that one is had without a look at
 * the others (Linux 5.14). While a SIGCHLD is pending, others are lost, and may have been for other
 * stops. */

/* Takes the status that the next SIGCHLD tells of, within the time. False when none came: EAGAIN,
 * EINTR. */
static bool take_told(struct event_queue *q, long nanoseconds)
{
	const struct timespec time = {.tv_sec = nanoseconds / 1000000000,
				      .tv_nsec = nanoseconds % 1000000000};
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (sigtimedwait(&set, &info, &time) != SIGCHLD)
		return false;
	q->unseen = true;
	q->told_of += take_status(q, info.si_pid, WNOHANG) > 0;
	return true;
}

/* Takes all statuses that are ready. False when there is no child. If none had been missed, the
 * next look may be later. */
static bool look_at_all(struct event_queue *q)
{
	uint64_t soon = (uint64_t)q->tasks->count * LOOK_SOON, late = 2 * q->look_after;
	size_t before = q->end - q->first;
	pid_t got;

	while ((got = take_status(q, -1, WNOHANG)) > 0)
		;
	q->look_after = q->end - q->first > before || late < soon ? soon
			: late < LOOK_LATE                        ? late
								  : LOOK_LATE;
	q->unseen = false;
	q->told_of = 0;
	return !got;
}

/* A flood of SIGCHLD from elsewhere does not keep us from looking: after as many as there are tasks
 * all are looked at. */
static void take_told_first(struct event_queue *q)
{
	unsigned told = 0;

	while (told < q->tasks->count && take_told(q, 0))
		told++;
	if (q->told_of > q->tasks->count / LOOK_SHARE)
		(void)look_at_all(q);
	while (queue_is_empty(q)) {
		if (told++ < q->tasks->count &&
		    take_told(q, time_left(q, q->unseen ? q->look_after : LOOK_ANYWAY)))
			continue;
		told = 0;
		q->on_wake(q->arg);
		if (!look_at_all(q))
			return;
	}
}

bool event_queue_next(struct event_queue *q, struct wait_event *ev)
{
	(q->tasks->count < MANY ? take_any : take_told_first)(q);
	if (queue_is_empty(q))
		return false;
	*ev = wait_event_of(q->events[q->first].tid, q->events[q->first].status);
	remove_event(q, q->first);
	return true;
}

void event_queue_release(struct event_queue *q)
{
	free(q->events);
	free(q->queued_of);
	q->events = NULL;
	q->queued_of = NULL;
}
