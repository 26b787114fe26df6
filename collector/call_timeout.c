/* SPDX-License-Identifier: MIT */
#include "collector/call_timeout.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>

#include "collector/task.h"
#include "collector/tracee.h"

#define NS_PER_S 1000000000u
#define NS_PER_MS 1000000u

/* Where a call has its timeout, and what it gives when that is over (the calls' manual pages; signal(7) has which are not made again). */
static const struct form {
	uint16_t nr;
	bool in_ms; /* an int, negative: none; else the address of a timespec, NULL: none */
	size_t timeout;
	int64_t result;
} forms[] = {
	{SYS_epoll_wait, true, offsetof(struct bt_regs, r10), 0},
	{SYS_epoll_pwait, true, offsetof(struct bt_regs, r10), 0},
	{SYS_epoll_pwait2, false, offsetof(struct bt_regs, r10), 0},
	{SYS_rt_sigtimedwait, false, offsetof(struct bt_regs, rdx), -EAGAIN},
	{SYS_semtimedop, false, offsetof(struct bt_regs, r10), -EAGAIN},
	{SYS_io_getevents, false, offsetof(struct bt_regs, r8), 0},
};

static const struct form *form_of(const struct bt_regs *regs)
{
	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
		if (forms[i].nr == regs->orig_rax)
			return &forms[i];
	return NULL;
}

/* In nanoseconds, UINT64_MAX: none. */
static uint64_t timeout_of(const struct task *task, const struct form *f)
{
	uint64_t arg = *(const uint64_t *)(const void *)((const char *)&task->regs + f->timeout);
	struct timespec t;

	if (f->in_ms)
		return (int)arg < 0 ? UINT64_MAX : (uint64_t)(int)arg * NS_PER_MS;
	if (!arg || tracee_read(task->tid, arg, &t, sizeof t) != sizeof t || (uint64_t)t.tv_sec > UINT64_MAX / NS_PER_S - 1)
		return UINT64_MAX;
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

void call_timeout_begin(struct task *task, uint64_t now)
{
	struct call_timeout *t = &task->timeout;
	const struct call_timeout first = {.rip = task->regs.rip, .tick = task_tick(task), .began = now};

	/* No branch comes between a call and the same made again. */
	if (!t->again || t->rip != first.rip || t->tick != first.tick)
		*t = first;
	t->again = false;
}

bool call_timeout_is_over(struct task *task, uint64_t now, bool unseen, int64_t *result)
{
	const struct form *f = form_of(&task->regs);
	struct call_timeout *t = &task->timeout;

	if (unseen)
		call_timeout_begin(task, now);
	t->again = true;
	if (!f || task->call.compat || now - t->began < timeout_of(task, f))
		return false;
	t->again = false;
	*result = f->result;
	return true;
}
