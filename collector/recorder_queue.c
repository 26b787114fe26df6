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

#include "collector/tracee.h"

/* Whether a status tells only of where the task was then. That it has become another program stays true, and that it has come. */
static bool is_of_the_moment(const struct recorder *r, pid_t tid, int status)
{
	const struct task *task = task_find(&r->tasks, tid);

	return WIFSTOPPED(status) && status >> 8 != (SIGTRAP | PTRACE_EVENT_EXEC << 8) && task && task->first_stop_seen;
}

/* QUIRK(stop-left): the task has stopped again, or ended, and nobody had resumed it: it was killed. Its stop before that can neither be
 * looked at any more, nor may the task be resumed for it. */
static void drop_earlier(struct recorder *r, pid_t tid)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->queue_len; i++)
		if (r->queue[i].tid != tid || !is_of_the_moment(r, tid, r->queue[i].status))
			r->queue[kept++] = r->queue[i];
	r->queue_len = kept;
}

/* False when the stop is none that anybody is to know of: another one follows. */
static bool queue_event(struct recorder *r, pid_t tid, int status)
{
	if (tracee_put_back(tid, status))
		return false;
	drop_earlier(r, tid);
	if (r->queue_len == r->queue_cap) {
		size_t cap = r->queue_cap ? r->queue_cap * 2 : 64;
		struct queued_event *queue = realloc(r->queue, cap * sizeof *queue);

		if (!queue)
			return true;
		r->queue = queue;
		r->queue_cap = cap;
	}
	r->queue[r->queue_len++] = (struct queued_event){tid, status};
	return true;
}

bool recorder_has_event(const struct recorder *r, pid_t tid)
{
	for (size_t i = 0; i < r->queue_len; i++)
		if (r->queue[i].tid == tid)
			return true;
	return false;
}

enum wait_type recorder_event_type(const struct recorder *r, pid_t tid)
{
	for (size_t i = 0; i < r->queue_len; i++)
		if (r->queue[i].tid == tid)
			return wait_event_of(tid, r->queue[i].status).type;
	return WAIT_TYPES;
}

int recorder_event_signal(const struct recorder *r, pid_t tid)
{
	for (size_t i = 0; i < r->queue_len; i++)
		if (r->queue[i].tid == tid) {
			const struct wait_event ev = wait_event_of(tid, r->queue[i].status);

			return ev.type == WAIT_SIGNAL ? ev.value : 0;
		}
	return 0;
}

bool recorder_event_holds(const struct recorder *r, pid_t tid)
{
	struct wait_event ev;

	for (size_t i = 0; i < r->queue_len; i++)
		if (r->queue[i].tid == tid) {
			ev = wait_event_of(tid, r->queue[i].status);
			return wait_event_holds(&ev);
		}
	return false;
}

void recorder_drop_event(struct recorder *r, pid_t tid)
{
	for (size_t i = 0; i < r->queue_len; i++)
		if (r->queue[i].tid == tid) {
			memmove(&r->queue[i], &r->queue[i + 1], (--r->queue_len - i) * sizeof *r->queue);
			return;
		}
}

bool recorder_take_event(struct recorder *r, pid_t tid, enum wait_type type, int signo, struct wait_event *ev)
{
	for (size_t i = 0; i < r->queue_len; i++) {
		if (r->queue[i].tid != tid)
			continue;
		*ev = wait_event_of(tid, r->queue[i].status);
		if (ev->type != type || ev->value != signo)
			return false;
		memmove(&r->queue[i], &r->queue[i + 1], (--r->queue_len - i) * sizeof *r->queue);
		return true;
	}
	return false;
}

bool recorder_await_stop(struct recorder *r, pid_t tid)
{
	static const struct timespec pause = {.tv_nsec = 100000};
	int status;
	pid_t got;

	/* Bounded: what sleeps uninterruptibly (the parent of a vfork, a hung file system) does not stop for us. */
	do {
		while (!(got = waitpid(tid, &status, __WALL | WNOHANG)) && trace_writer_time(r->writer) < r->patience)
			nanosleep(&pause, NULL);
		if (got != tid)
			return false;
	} while (!queue_event(r, tid, status));
	return WIFSTOPPED(status);
}

/* Takes every status that is ready, so that no task is served twice before another is served once (waitpid prefers the
 * first of its list), then the oldest. False when no traced task is left. */
bool recorder_next_event(struct recorder *r, struct wait_event *ev)
{
	int status;
	pid_t tid;

	while (!r->queue_len || r->tasks.count > 1) {
		tid = waitpid(-1, &status, __WALL | (r->queue_len ? WNOHANG : 0));
		if (tid > 0)
			(void)queue_event(r, tid, status);
		else if (tid < 0 && errno == EINTR)
			recorder_serve_tick(r);
		else
			break;
	}
	if (!r->queue_len)
		return false;
	*ev = wait_event_of(r->queue[0].tid, r->queue[0].status);
	memmove(r->queue, r->queue + 1, --r->queue_len * sizeof *r->queue);
	return true;
}
