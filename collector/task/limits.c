/* SPDX-License-Identifier: MIT */
/* The kernel's limit of a process is `own` + share: `own` is what the program knows and sets, the
 * share is the backend's memory. struct limit holds both for each of the limited resources.
 *
 * limits_raise() adds the share before a backend maps its memory. Before each change
 * refresh_limit() reads the limit again: where another process has changed it, the new limit is the
 * program's own.
 *
 * getrlimit, setrlimit and prlimit64 are changed at both ends. At the entry a new limit is read,
 * the share is added, and the call's argument points to the sum, below the thread's stack. At the
 * exit argument and memory are put back; an old limit that the kernel has written is replaced by
 * the program's own. The process that the call is about may be another one, in the caller's pid
 * namespace.
 *
 * An execve begins with an address space without the backend's memory, so the share is set aside
 * until the call returns. A process with other threads keeps it: they need it until then.
 *
 * The recorder's own limits are a matter apart: it raises what it can of its own before the program
 * starts, and the program gets the old ones. */
#include "collector/task/limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "collector/task/task.h"
#include "collector/tracee/tracee.h"
#include "lib/array_size.h"

static const __rlimit_resource_t resources[LIMITED] = {
	[LIMITED_AS] = RLIMIT_AS, [LIMITED_DATA] = RLIMIT_DATA};

static bool same_limit(const struct rlimit *a, const struct rlimit *b)
{
	return a->rlim_cur == b->rlim_cur && a->rlim_max == b->rlim_max;
}

static rlim_t smaller_limit(rlim_t a, rlim_t b) { return a < b ? a : b; }

/* RLIM_INFINITY stays so; a finite limit stays finite. */
static rlim_t limit_plus(rlim_t own, uint64_t share)
{
	if (own == RLIM_INFINITY)
		return own;
	return own < RLIM_INFINITY - 1 - share ? own + share : RLIM_INFINITY - 1;
}

/* QUIRK(data-limit-zero): with a soft RLIMIT_DATA of 0 mappings may go up to the hard one
 * (may_expand_vm, Linux 4.6), and brk fails. */
static rlim_t plus_soft(enum limited which, rlim_t own, uint64_t share)
{
	return which == LIMITED_DATA && !own ? own : limit_plus(own, share);
}

static rlim_t limit_number(const char *text)
{
	return strncmp(text, "unlimited", 9) ? strtoull(text, NULL, 10) : RLIM_INFINITY;
}

/* Reads a limit from /proc/PID/limits (proc(5)): two columns behind its name. prlimit(2) needs
 * CAP_SYS_RESOURCE for a process that has changed its user. */
static bool read_limits_file(pid_t pid, const char *name, struct rlimit *now)
{
	char line[TRACEE_LINE], soft[32], hard[32];

	if (!tracee_file_line(pid, "limits", name, line) ||
	    sscanf(line, "%31s %31s", soft, hard) != 2)
		return false;
	*now = (struct rlimit){limit_number(soft), limit_number(hard)};
	return true;
}

bool limits_get(pid_t pid, int resource, struct rlimit *now)
{
	static const char *const names[RLIM_NLIMITS] = {
		[RLIMIT_AS] = "Max address space",
		[RLIMIT_DATA] = "Max data size",
		[RLIMIT_MEMLOCK] = "Max locked memory",
		[RLIMIT_STACK] = "Max stack size",
	};

	if (!prlimit(pid, (__rlimit_resource_t)resource, NULL, now))
		return true;
	return errno == EPERM && names[resource] && read_limits_file(pid, names[resource], now);
}

/* ---- The recorder's own ---- */

void limits_lift_own(struct rlimit were[RLIM_NLIMITS])
{
	static const __rlimit_resource_t lifted[] = {RLIMIT_AS, RLIMIT_DATA, RLIMIT_NOFILE,
						     RLIMIT_FSIZE, RLIMIT_CPU};

	for (int i = 0; i < RLIM_NLIMITS; i++)
		getrlimit((__rlimit_resource_t)i, &were[i]);
	for (size_t i = 0; i < ARRAY_SIZE(lifted); i++) {
		struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY},
			      most = {were[lifted[i]].rlim_max, were[lifted[i]].rlim_max};

		if (setrlimit(lifted[i], &all))
			setrlimit(lifted[i], &most);
	}
}

void limits_put_back(const struct rlimit were[RLIM_NLIMITS])
{
	for (int i = 0; i < RLIM_NLIMITS; i++)
		setrlimit((__rlimit_resource_t)i, &were[i]);
}

uint64_t limits_room_of_own(void)
{
	struct rlimit limit;
	uint64_t room = UINT64_MAX;

	for (enum limited i = 0; i < LIMITED; i++)
		if (!getrlimit(resources[i], &limit) && limit.rlim_cur != RLIM_INFINITY &&
		    limit.rlim_cur / 4 < room)
			room = limit.rlim_cur / 4;
	return room;
}

bool limits_has_spare(int fd, unsigned quarters)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_NOFILE, &limit) && (rlim_t)fd < limit.rlim_cur / 4 * quarters;
}

/* ---- A process ---- */

static bool set_limit(struct limit *l, enum limited which, pid_t pid, struct rlimit kernel)
{
	if (prlimit(pid, resources[which], &kernel, NULL))
		return false;
	l->kernel = kernel;
	return true;
}

/* Reads the kernel's limit. If another process has changed it, that is the program's own now. False
 * when the process is gone. */
static bool refresh_limit(struct limit *l, enum limited which, pid_t pid)
{
	struct rlimit now;

	if (!limits_get(pid, (int)resources[which], &now))
		return false;
	if (!same_limit(&now, &l->kernel))
		l->own = l->kernel = now;
	return true;
}

static void raise_limit(struct limit *l, enum limited which, pid_t pid, uint64_t share)
{
	struct rlimit wanted = {plus_soft(which, l->own.rlim_cur, share),
				limit_plus(l->own.rlim_max, share)};

	if (same_limit(&wanted, &l->kernel) || set_limit(l, which, pid, wanted) || errno != EPERM)
		return;
	wanted.rlim_max = l->kernel.rlim_max;
	wanted.rlim_cur = smaller_limit(wanted.rlim_cur, wanted.rlim_max);
	set_limit(l, which, pid, wanted);
}

void limits_raise(struct limits *l, pid_t pid, const struct limits_share *share)
{
	if (l->share == share && !l->set_aside)
		return;
	for (enum limited i = 0; i < LIMITED; i++) {
		if (!refresh_limit(&l->of[i], i, pid))
			return;
		raise_limit(&l->of[i], i, pid, share->bytes[i]);
	}
	l->share = share;
	l->set_aside = false;
}

bool limits_fall_short(const struct limits *l)
{
	for (enum limited i = 0; l->share && i < LIMITED; i++)
		if (l->of[i].kernel.rlim_cur <
		    plus_soft(i, l->of[i].own.rlim_cur, l->share->bytes[i]))
			return true;
	return false;
}

void limits_restore(struct limits *l, pid_t pid)
{
	bool restored = true;

	for (enum limited i = 0; l->share && i < LIMITED; i++)
		if (refresh_limit(&l->of[i], i, pid))
			restored &= set_limit(&l->of[i], i, pid, l->of[i].own);
	if (restored)
		*l = (struct limits){0};
}

/* The kernel maps the new program within the program's own limits: the new address space has no
 * memory of the backend yet. Hard limits stay raised: without CAP_SYS_RESOURCE a lowered one cannot
 * be raised again. */
static void set_aside(struct limits *l, pid_t pid)
{
	for (enum limited i = 0; i < LIMITED; i++)
		if (refresh_limit(&l->of[i], i, pid))
			set_limit(&l->of[i], i, pid,
				  (struct rlimit){l->of[i].own.rlim_cur, l->of[i].kernel.rlim_max});
	l->set_aside = true;
}

/* ---- Whose limits a call is about ---- */

/* Indices of a call's arguments; -1: it has no such argument. */
struct limit_syscall {
	uint16_t nr;
	int8_t pid, resource, new, old;
};

static const struct limit_syscall *find_limit_syscall(const struct tracee_syscall *call)
{
	static const struct limit_syscall forms[] = {
		{SYS_getrlimit, .pid = -1, .resource = 0, .new = -1, .old = 1},
		{SYS_setrlimit, .pid = -1, .resource = 0, .new = 1, .old = -1},
		{SYS_prlimit64, .pid = 0, .resource = 1, .new = 2, .old = 3},
	};

	for (size_t i = 0; !call->compat && i < ARRAY_SIZE(forms); i++)
		if (forms[i].nr == call->nr)
			return &forms[i];
	return NULL;
}

static enum limited limited_by(const struct limit_syscall *f, const struct tracee_syscall *call)
{
	enum limited which = 0;

	while (which < LIMITED && resources[which] != (uint32_t)call->args[f->resource])
		which++;
	return which;
}

enum {
	LEVELS = 33, /* of pid namespaces: MAX_PID_NS_LEVEL, and the first one */
};

/* Reads the thread's ids in its pid namespaces, ours first. Returns their number, 0 when the thread
 * is gone. */
static int numbers_of(pid_t tid, pid_t numbers[LEVELS])
{
	char line[TRACEE_LINE], *at = line, *end;
	int n;

	(void)tracee_file_line(tid, "status", "NSpid:", line);
	for (n = 0; n < LEVELS; at = end, n++) {
		numbers[n] = (pid_t)strtol(at, &end, 10);
		if (end == at)
			break;
	}
	return n;
}

static ino_t namespace_of(pid_t tid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)tid);
	return stat(path, &st) ? 0 : st.st_ino;
}

/* The process of the thread that has this id in the caller's pid namespace. NULL: it is not
 * recorded. */
static struct process *process_known_as(const struct task_table *t, const struct task *caller,
					pid_t number)
{
	pid_t numbers[LEVELS], others[LEVELS];
	int level = numbers_of(caller->host_tid, numbers);
	struct task *task;

	if (level <= 1) {
		task = task_find(t, number);
		return task ? task->process : NULL;
	}
	for (task = t->first; task; task = task->next)
		if (task->process && numbers_of(task->host_tid, others) == level &&
		    others[level - 1] == number &&
		    namespace_of(task->host_tid) == namespace_of(caller->host_tid))
			return task->process;
	return NULL;
}

static struct process *target_process(const struct task_table *t, const struct task *task,
				      const struct limit_syscall *f)
{
	pid_t pid = f->pid < 0 ? 0 : (pid_t)task->syscall.args[f->pid];

	return pid ? process_known_as(t, task, pid) : task->process;
}

static struct process *process_by_pid(const struct task_table *t, pid_t pid)
{
	const struct task *task = t->first;

	while (task && (!task->process || task->process->host_pid != pid))
		task = task->next;
	return task ? task->process : NULL;
}

/* ---- Calls that get and set limits ---- */

static uint64_t *syscall_argument(struct bt_regs *regs, int i)
{
	uint64_t *const at[] = {&regs->rdi, &regs->rsi, &regs->rdx, &regs->r10};

	return at[i];
}

/* Reads with the program's page protection, as the kernel will. */
static bool read_as_program(pid_t tid, uint64_t addr, void *out, size_t n)
{
	struct iovec local = {out, n}, remote = {(void *)(uintptr_t)addr, n};

	return process_vm_readv(tid, &local, 1, &remote, 1, 0) == (ssize_t)n;
}

/* The limit to ask the kernel for, so that it permits and refuses as it would without the share: a
 * limit above the program's hard one is above the kernel's, too. */
static struct rlimit with_share(const struct limit *l, enum limited which, uint64_t share,
				struct rlimit asked)
{
	struct rlimit passed = {.rlim_max = limit_plus(asked.rlim_max, share)};

	if (asked.rlim_cur > asked.rlim_max)
		return asked;
	if (asked.rlim_max <= l->own.rlim_max)
		passed.rlim_max = smaller_limit(passed.rlim_max, l->kernel.rlim_max);
	passed.rlim_cur = smaller_limit(plus_soft(which, asked.rlim_cur, share), passed.rlim_max);
	return passed;
}

/* Lets the call read c->passed instead of the limit at addr. It lies below the red zone of the
 * thread's stack, so that no other thread of the program sees it; without a stack it lies at addr.
 */
static bool redirect_argument(struct task *task, struct limits_syscall *c, int arg, uint64_t addr)
{
	enum {
		BELOW_STACK = 1024,
	};
	uint64_t *at = syscall_argument(&task->regs, arg);

	c->scratch = (task->regs.rsp - BELOW_STACK) & ~15ull;
	if (!read_as_program(task->host_tid, c->scratch, &c->saved, sizeof c->saved)) {
		c->scratch = addr;
		c->saved = c->asked;
	}
	if (!tracee_write(task->host_tid, c->scratch, &c->passed, sizeof c->passed))
		return false;
	*at = c->scratch;
	return !tracee_set_regs(task->host_tid, &task->regs);
}

static void undo_redirect(struct task *task, const struct limits_syscall *c, int arg)
{
	struct rlimit there = {0};

	/* Where old and new are at the same address, the kernel may have written the old one over
	 * it. */
	if (read_as_program(task->host_tid, c->scratch, &there, sizeof there) &&
	    same_limit(&there, &c->passed))
		tracee_write(task->host_tid, c->scratch, &c->saved, sizeof c->saved);
	*syscall_argument(&task->regs, arg) = task->syscall.args[arg];
	(void)!tracee_set_regs(task->host_tid, &task->regs);
}

void limits_syscall_entered(const struct task_table *t, struct task *task)
{
	const struct limit_syscall *f = find_limit_syscall(&task->syscall);
	struct limits_syscall *c = &task->limits_syscall;
	enum limited which = f ? limited_by(f, &task->syscall) : LIMITED;
	struct process *p;
	uint64_t new;

	*c = (struct limits_syscall){0};
	/* Other threads go on until the execve has succeeded: they need the share. */
	if ((syscall_is(&task->syscall, SYS_execve) || syscall_is(&task->syscall, SYS_execveat)) &&
	    task->process->limits.share && task->process->tasks == 1)
		set_aside(&task->process->limits, task->process->host_pid);
	p = which < LIMITED ? target_process(t, task, f) : NULL;
	if (!p || !p->limits.share || !refresh_limit(&p->limits.of[which], which, p->host_pid))
		return;
	c->target = p->host_pid;
	c->which = which;
	c->before = p->limits.of[which];
	new = f->new < 0 ? 0 : task->syscall.args[f->new];
	if (!new || !read_as_program(task->host_tid, new, &c->asked, sizeof c->asked))
		return;
	c->passed = with_share(&c->before, which, p->limits.share->bytes[which], c->asked);
	c->sets = redirect_argument(task, c, f->new, new);
}

/* Replaces the old limit that the kernel has written by the program's own. */
static void correct_old(const struct task *task, const struct limits_syscall *c, uint64_t addr)
{
	struct rlimit told = {0};

	if (addr && read_as_program(task->host_tid, addr, &told, sizeof told) &&
	    same_limit(&told, &c->before.kernel))
		tracee_write(task->host_tid, addr, &c->before.own, sizeof c->before.own);
}

void limits_syscall_left(const struct task_table *t, struct task *task)
{
	struct limits_syscall *c = &task->limits_syscall;
	const struct limit_syscall *f = find_limit_syscall(&task->syscall);
	int64_t result = (int64_t)task->regs.rax;
	struct process *p = c->target ? process_by_pid(t, c->target) : NULL;

	if (task->process->limits.set_aside)
		limits_raise(&task->process->limits, task->process->host_pid,
			     task->process->limits.share);
	if (!c->target || !f)
		return;
	c->target = 0;
	if (c->sets)
		undo_redirect(task, c, f->new);
	/* With EFAULT the new limit is in force, and only the old one could not be written:
	 * c->passed was readable. */
	if (p && p->limits.share && c->sets && (!result || result == -EFAULT))
		p->limits.of[c->which] = (struct limit){c->asked, c->passed};
	if (!result && f->old >= 0)
		correct_old(task, c, task->syscall.args[f->old]);
}
