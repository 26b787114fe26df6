/* SPDX-License-Identifier: MIT */
#include "collector/task/syscall_timeout.h"

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include "collector/task/task.h"
#include "collector/tracee/tracee.h"
#include "lib/array_size.h"

#define NS_PER_S  1000000000u
#define NS_PER_MS 1000000u
#define NS_PER_US 1000u

enum timeout_unit {
	UNIT_SPEC,    /* the address of a timespec, NULL: none */
	UNIT_MS,      /* an int, negative: none */
	UNIT_RECEIVE, /* a socket: its option SO_RCVTIMEO */
	UNIT_SEND,    /* a socket: its option SO_SNDTIMEO */
};

/* The register of a call's timeout, and what the call returns when it is over (the calls' manual
 * pages; signal(7) lists the calls that are not restarted). */
static const struct timed_syscall {
	uint16_t nr;
	enum timeout_unit unit;
	size_t timeout;
	int64_t result;
} forms[] = {
	{SYS_epoll_wait, UNIT_MS, offsetof(struct bt_regs, r10), 0},
	{SYS_epoll_pwait, UNIT_MS, offsetof(struct bt_regs, r10), 0},
	{SYS_epoll_pwait2, UNIT_SPEC, offsetof(struct bt_regs, r10), 0},
	{SYS_rt_sigtimedwait, UNIT_SPEC, offsetof(struct bt_regs, rdx), -EAGAIN},
	{SYS_semtimedop, UNIT_SPEC, offsetof(struct bt_regs, r10), -EAGAIN},
	{SYS_io_getevents, UNIT_SPEC, offsetof(struct bt_regs, r8), 0},
	{SYS_read, UNIT_RECEIVE, offsetof(struct bt_regs, rdi), -EAGAIN},
	{SYS_readv, UNIT_RECEIVE, offsetof(struct bt_regs, rdi), -EAGAIN},
	{SYS_recvfrom, UNIT_RECEIVE, offsetof(struct bt_regs, rdi), -EAGAIN},
	{SYS_recvmsg, UNIT_RECEIVE, offsetof(struct bt_regs, rdi), -EAGAIN},
	{SYS_accept, UNIT_RECEIVE, offsetof(struct bt_regs, rdi), -EAGAIN},
	{SYS_accept4, UNIT_RECEIVE, offsetof(struct bt_regs, rdi), -EAGAIN},
	{SYS_write, UNIT_SEND, offsetof(struct bt_regs, rdi), -EAGAIN},
	{SYS_writev, UNIT_SEND, offsetof(struct bt_regs, rdi), -EAGAIN},
	{SYS_sendto, UNIT_SEND, offsetof(struct bt_regs, rdi), -EAGAIN},
	{SYS_sendmsg, UNIT_SEND, offsetof(struct bt_regs, rdi), -EAGAIN},
};

static const struct timed_syscall *find_timed_syscall(const struct bt_regs *regs)
{
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (forms[i].nr == regs->orig_rax)
			return &forms[i];
	return NULL;
}

/* The timeout of the process's descriptor `there`, in nanoseconds. UINT64_MAX: none, or unknown. */
static uint64_t timeout_of_socket(const struct task *task, int there, int option)
{
	struct timeval t = {0};
	bool known = tracee_socket_option(task->process->host_pid, there, option, &t, sizeof t) &&
		     (t.tv_sec || t.tv_usec);

	return known ? (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_usec * NS_PER_US : UINT64_MAX;
}

/* In nanoseconds, UINT64_MAX: none. */
static uint64_t timeout_of(const struct task *task, const struct timed_syscall *f)
{
	uint64_t arg = *(const uint64_t *)(const void *)((const char *)&task->regs + f->timeout);
	struct timespec t;

	if (f->unit == UNIT_RECEIVE || f->unit == UNIT_SEND)
		return timeout_of_socket(task, (int)arg,
					 f->unit == UNIT_SEND ? SO_SNDTIMEO : SO_RCVTIMEO);
	if (f->unit == UNIT_MS)
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
	const struct timed_syscall *f = find_timed_syscall(&task->regs);
	struct syscall_timeout *t = &task->timeout;

	if (unseen)
		syscall_timeout_begin(task, now);
	t->again = true;
	if (!f || task->syscall.compat || now - t->began < timeout_of(task, f))
		return false;
	t->again = false;
	*result = f->result;
	return true;
}
