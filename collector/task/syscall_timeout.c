/* SPDX-License-Identifier: MIT */
#include "collector/task/syscall_timeout.h"

#include <sys/socket.h>
#include <time.h>

#include "collector/task/task.h"
#include "collector/tracee/tracee.h"
#include "syscalls/syscall_ranges.h"

#define NS_PER_S  1000000000u
#define NS_PER_MS 1000000u
#define NS_PER_US 1000u

/* The timeout of the process's descriptor `there`, in nanoseconds. UINT64_MAX: none, or unknown. */
static uint64_t timeout_of_socket(const struct task *task, int there, int option)
{
	struct timeval t = {0};
	bool known = tracee_socket_option(task->process->host_pid, there, option, &t, sizeof t) &&
		     (t.tv_sec || t.tv_usec);

	return known ? (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_usec * NS_PER_US : UINT64_MAX;
}

/* In nanoseconds, UINT64_MAX: none. */
static uint64_t timeout_of(const struct task *task, const struct syscall_wait *w)
{
	struct bt_regs regs = task->regs;
	uint64_t arg = *tracee_arg(&regs, w->argument);
	struct timespec t;

	if (w->form == SYSCALL_TIMEOUT_RECEIVE || w->form == SYSCALL_TIMEOUT_SEND)
		return timeout_of_socket(task, (int)arg,
					 w->form == SYSCALL_TIMEOUT_SEND ? SO_SNDTIMEO
									 : SO_RCVTIMEO);
	if (w->form == SYSCALL_TIMEOUT_MS)
		return (int)arg < 0 ? UINT64_MAX : (uint64_t)(int)arg * NS_PER_MS;
	if (!arg || tracee_read(task->host_tid, arg, &t, sizeof t) != sizeof t ||
	    (uint64_t)t.tv_sec > UINT64_MAX / NS_PER_S - 1)
		return UINT64_MAX;
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

void syscall_timeout_begin(struct task *task, uint64_t now)
{
	struct syscall_timeout *t = &task->timeout;
	const struct syscall_timeout first = {
		.rip = task->regs.rip, .tick = task_tick(task), .began = now};

	/* No branch lies between a call and its repetition. */
	if (!t->again || t->rip != first.rip || t->tick != first.tick)
		*t = first;
	t->again = false;
}

bool syscall_timeout_is_over(struct task *task, uint64_t now, bool unseen, int64_t *result)
{
	struct syscall_timeout *t = &task->timeout;
	struct syscall_wait wait;

	if (unseen)
		syscall_timeout_begin(task, now);
	t->again = true;
	if (task->syscall.compat || !syscall_longest_wait(task->regs.orig_rax, &wait) ||
	    now - t->began < timeout_of(task, &wait))
		return false;
	t->again = false;
	*result = wait.result;
	return true;
}
