/* SPDX-License-Identifier: MIT */
/* Events: every status that is ready is taken before any is served. */
#include "collector/supervisor/supervisor_private.h"

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
static bool is_of_the_moment(const struct supervisor *sup, pid_t tid, int status)
{
	const struct task *task = task_find(&sup->tasks, tid);

	return WIFSTOPPED(status) && status >> 8 != (SIGTRAP | PTRACE_EVENT_EXEC << 8) && task &&
	       task->first_stop_seen;
}

static bool is_empty(const struct supervisor *sup) { return sup->queue_first == sup->queue_end; }

/* 0 where none of them is of this tid; there may be none if not. */
static uint32_t *queued_of(const struct supervisor *sup, pid_t tid)
{
	return &sup->queued_of[(uint32_t)tid % TIDS_APART];
}

/* The oldest event of tid at `from` or behind it, or queue_end. */
static size_t find_event(const struct supervisor *sup, pid_t tid, size_t from)
{
	if (sup->queued_of && !*queued_of(sup, tid))
		return sup->queue_end;
	while (from < sup->queue_end && sup->queue[from].tid != tid)
		from++;
	return from;
}

static void take_out(struct supervisor *sup, size_t at)
{
	if (sup->queued_of)
		--*queued_of(sup, sup->queue[at].tid);
	if (at == sup->queue_first)
		sup->queue_first++;
	else
		memmove(&sup->queue[at], &sup->queue[at + 1],
			(--sup->queue_end - at) * sizeof *sup->queue);
}

/* QUIRK(stop-left): the task has stopped again, or ended, and nobody had resumed it: it was killed.
 * Its stop before that can neither be looked at any more, nor may the task be resumed for it. */
static void drop_earlier(struct supervisor *sup, pid_t tid)
{
	size_t at = find_event(sup, tid, sup->queue_first);

	while (at < sup->queue_end) {
		if (is_of_the_moment(sup, tid, sup->queue[at].status))
			take_out(sup, at);
		else
			at++;
		at = find_event(sup, tid, at > sup->queue_first ? at : sup->queue_first);
	}
}

/* Makes room for one more. False without memory. */
static bool make_room(struct supervisor *sup)
{
	size_t cap = sup->queue_cap ? sup->queue_cap * 2 : 64;
	struct queued_event *queue;

	if (!sup->queued_of && is_empty(sup))
		sup->queued_of = calloc(TIDS_APART, sizeof *sup->queued_of);
	if (sup->queue_end < sup->queue_cap)
		return true;
	if (sup->queue_first > sup->queue_cap / 2) {
		memmove(sup->queue, sup->queue + sup->queue_first,
			(sup->queue_end - sup->queue_first) * sizeof *sup->queue);
		sup->queue_end -= sup->queue_first;
		sup->queue_first = 0;
		return true;
	}
	queue = realloc(sup->queue, cap * sizeof *queue);
	if (!queue)
		return false;
	sup->queue = queue;
	sup->queue_cap = cap;
	return true;
}

/* False when the stop is none that anybody is to know of: another one follows. */
static bool queue_event(struct supervisor *sup, pid_t tid, int status)
{
	if (tracee_put_back(tid, status))
		return false;
	drop_earlier(sup, tid);
	if (!make_room(sup))
		return true;
	sup->queue[sup->queue_end++] = (struct queued_event){tid, status};
	if (sup->queued_of)
		++*queued_of(sup, tid);
	return true;
}

/* The oldest event of tid. False when there is none. */
static bool event_of(const struct supervisor *sup, pid_t tid, struct wait_event *ev)
{
	size_t at = find_event(sup, tid, sup->queue_first);

	if (at == sup->queue_end)
		return false;
	*ev = wait_event_of(tid, sup->queue[at].status);
	return true;
}

bool supervisor_has_event(const struct supervisor *sup, pid_t tid)
{
	return find_event(sup, tid, sup->queue_first) < sup->queue_end;
}

enum wait_type supervisor_event_type(const struct supervisor *sup, pid_t tid)
{
	struct wait_event ev;

	return event_of(sup, tid, &ev) ? ev.type : WAIT_TYPES;
}

int supervisor_event_signal(const struct supervisor *sup, pid_t tid)
{
	struct wait_event ev;

	return event_of(sup, tid, &ev) && ev.type == WAIT_SIGNAL ? ev.value : 0;
}

bool supervisor_event_holds(const struct supervisor *sup, pid_t tid)
{
	struct wait_event ev;

	return event_of(sup, tid, &ev) && wait_event_holds(&ev);
}

void supervisor_drop_event(struct supervisor *sup, pid_t tid)
{
	size_t at = find_event(sup, tid, sup->queue_first);

	if (at < sup->queue_end)
		take_out(sup, at);
}

bool supervisor_take_event(struct supervisor *sup, pid_t tid, enum wait_type type, int signo,
			   struct wait_event *ev)
{
	if (!event_of(sup, tid, ev) || ev->type != type || ev->value != signo)
		return false;
	supervisor_drop_event(sup, tid);
	return true;
}

bool supervisor_await_stop(struct supervisor *sup, pid_t tid)
{
	static const struct timespec pause = {.tv_nsec = 100000};
	int status;
	pid_t got;

	/* Bounded: what sleeps uninterruptibly (the parent of a vfork, a hung file system) does not
	 * stop for us. */
	do {
		while (!(got = waitpid(tid, &status, __WALL | WNOHANG)) &&
		       bt_clock_now(sup->clock) < sup->patience)
			nanosleep(&pause, NULL);
		if (got != tid)
			return false;
	} while (!queue_event(sup, tid, status));
	return WIFSTOPPED(status);
}

/* One more status of tid, or (-1) of any. Returns what waitpid(2) does. */
static pid_t take(struct supervisor *sup, pid_t tid, int options)
{
	int status;
	pid_t got = waitpid(tid, &status, __WALL | options);

	if (got > 0)
		(void)queue_event(sup, got, status);
	return got;
}

/* Asked for a status of any, the kernel looks at each task, whether there is one or not. */
static void take_any(struct supervisor *sup)
{
	pid_t got;

	while (is_empty(sup) || sup->tasks.count > 1) {
		got = take(sup, -1, is_empty(sup) ? 0 : WNOHANG);
		if (got < 0 && errno == EINTR)
			supervisor_serve_tick(sup);
		else if (got <= 0)
			break;
	}
}

/* ---- Many tasks ----
 * A stop raises SIGCHLD, which says whose it is, and a status of that one is had without a look at
 * the others (Linux 5.14). While a SIGCHLD is pending, others are lost, and may have been for other
 * stops. */

/* Takes what the next SIGCHLD tells of, within the time. False when none came: EAGAIN, EINTR. */
static bool take_told(struct supervisor *sup, long nanoseconds)
{
	const struct timespec time = {.tv_sec = nanoseconds / 1000000000,
				      .tv_nsec = nanoseconds % 1000000000};
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (sigtimedwait(&set, &info, &time) != SIGCHLD)
		return false;
	sup->unseen = true;
	sup->told_of += take(sup, info.si_pid, WNOHANG) > 0;
	return true;
}

/* All statuses that are ready. False when there is no child. Where nothing was lost, the next look
 * may be later. */
static bool look_at_all(struct supervisor *sup)
{
	uint64_t soon = (uint64_t)sup->tasks.count * LOOK_SOON, late = 2 * sup->look_after;
	size_t before = sup->queue_end - sup->queue_first;
	pid_t got;

	while ((got = take(sup, -1, WNOHANG)) > 0)
		;
	sup->look_after = sup->queue_end - sup->queue_first > before || late < soon ? soon
			  : late < LOOK_LATE                                        ? late
										    : LOOK_LATE;
	sup->unseen = false;
	sup->told_of = 0;
	return !got;
}

/* Who sends us SIGCHLD without end does not keep us from looking: after as many as there are tasks
 * all are looked at. */
static void take_told_first(struct supervisor *sup)
{
	unsigned told = 0;

	while (told < sup->tasks.count && take_told(sup, 0))
		told++;
	if (sup->told_of > sup->tasks.count / LOOK_SHARE)
		(void)look_at_all(sup);
	while (is_empty(sup)) {
		if (told++ < sup->tasks.count &&
		    take_told(sup, sup->unseen ? (long)sup->look_after : LOOK_ANYWAY))
			continue;
		told = 0;
		supervisor_serve_tick(sup);
		if (!look_at_all(sup))
			return;
	}
}

bool supervisor_next_event(struct supervisor *sup, struct wait_event *ev)
{
	(sup->tasks.count < MANY ? take_any : take_told_first)(sup);
	if (is_empty(sup))
		return false;
	*ev = wait_event_of(sup->queue[sup->queue_first].tid, sup->queue[sup->queue_first].status);
	take_out(sup, sup->queue_first);
	return true;
}
