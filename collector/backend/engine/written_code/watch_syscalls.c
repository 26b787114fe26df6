/* SPDX-License-Identifier: MIT */
/* The memory that the kernel may write for a call, the pages whose mapping it changes, and the file
 * that it writes to are views of its row (syscalls/syscall_writes.def). A table of this file
 * (own_ways) has a function for each call that changes mappings in a way of its own. They give the
 * ranges by a callback. They may give too much, never too little.
 *
 * A call, or an operation of it, that no row knows is taken for one that may write at each of its
 * arguments, as far as the largest number among them says (any_argument()), and where addresses in
 * the memory that they point to lead (show_structures()). Calls of 32-bit code may write
 * everywhere.
 *
 * The other functions answer one question each about a call, by a switch over its number: whether
 * watching ends with it, whether contents change without a write, which memory is never to be
 * watched. */
#include "collector/backend/engine/written_code/watch_syscalls.h"

#include <linux/prctl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/backend/engine/cache/descriptors.h"
#include "collector/space/map_syscalls.h"
#include "collector/tracee/tracee.h"
#include "lib/array_size.h"
#include "lib/call_result.h"
#include "lib/page.h"
#include "syscalls/syscall_ranges.h"

enum {
	SCAN_MAX = 4096,   /* bytes of an unknown structure that are searched for addresses */
	REACH_MIN = 65536, /* bytes that a call without a length may write */
	REACH_FACTOR = 32, /* bytes of the largest element that is counted by an argument */
	REACH_COUNT = 65536,
	RANGES_MAX = 256,        /* of one call: with more it is taken to write everywhere */
	IOVECS_MAX = 1024,       /* UIO_MAXIOV */
	LENGTH_MAX = 0x7ffff000, /* MAX_RW_COUNT */
	FRAME_STACK = 16, /* of the ucontext that rsp points to in a handler's return: uc_stack */
	PRCTL_MDWE =
		65, /* PR_SET_MDWE, Linux 6.3: nothing becomes writable and executable any more */
	SYSCALL_MSEAL = 462, /* Linux 6.10: protections can no longer be changed */
	UFFD_NEW = 0xaa00,   /* USERFAULTFD_IOC_NEW, of /dev/userfaultfd, Linux 6.1 */
};

struct shower {
	const struct task *task;
	void (*range)(void *arg, uint64_t start, uint64_t end);
	void *arg;
};

/* Gives a range, also a low one: it may begin below all mappings and reach into them. */
static void show_range(const struct shower *s, uint64_t start, uint64_t n)
{
	if (n)
		s->range(s->arg, start, start + n < start ? UINT64_MAX : start + n);
}

/* Gives a range at a number that may be an address. */
static void show_if_address(const struct shower *s, uint64_t start, uint64_t n)
{
	if (start >= WATCH_LOWEST)
		show_range(s, start, n);
}

/* A call whose arguments are unknown: each may be an address, of memory as long as the largest of
 * the others says. */
static void any_argument(const struct shower *s)
{
	uint64_t most = 0, reach;

	for (int i = 0; i < 6; i++)
		if (s->task->syscall.args[i] <= LENGTH_MAX && s->task->syscall.args[i] > most)
			most = s->task->syscall.args[i];
	reach = REACH_MIN + most + REACH_FACTOR * (most < REACH_COUNT ? most : REACH_COUNT);
	for (int i = 0; i < 6; i++)
		show_if_address(s, s->task->syscall.args[i], reach);
}

static void show_iovecs(const struct shower *s, uint64_t at, uint64_t n)
{
	uint64_t v[2 * 64];

	for (uint64_t done = 0, now; done < n && done < IOVECS_MAX; done += now) {
		now = n - done < 64 ? n - done : 64;
		if (tracee_read(s->task->host_tid, at + done * 16, v, now * 16) != now * 16)
			return;
		for (uint64_t i = 0; i < now; i++)
			show_range(s, v[2 * i], v[2 * i + 1]);
	}
}

static void second_iovecs(const struct shower *s)
{
	any_argument(s);
	show_iovecs(s, s->task->syscall.args[1], s->task->syscall.args[2]);
}

static void remote_iovecs(const struct shower *s)
{
	second_iovecs(s);
	show_iovecs(s, s->task->syscall.args[3], s->task->syscall.args[4]);
}

/* A structure may hold addresses, with lengths behind them. */
static void show_structures(const struct shower *s)
{
	uint64_t words[SCAN_MAX / 8];
	size_t n;

	any_argument(s);
	for (int i = 0; i < 6; i++) {
		if (s->task->syscall.args[i] < WATCH_LOWEST)
			continue;
		n = tracee_read(s->task->host_tid, s->task->syscall.args[i], words, sizeof words) /
		    8;
		for (size_t k = 0; k < n; k++)
			show_if_address(s, words[k],
					REACH_MIN + (k + 1 < n && words[k + 1] <= UINT32_MAX
							     ? words[k + 1]
							     : 0));
	}
}

static void first_range(const struct shower *s)
{
	show_range(s, s->task->syscall.args[0], s->task->syscall.args[1]);
}

static void show_everything(const struct shower *s) { s->range(s->arg, 0, UINT64_MAX); }

/* With PROT_GROWSDOWN it begins where the mapping does, which may have grown by itself. */
static void protected_range(const struct shower *s)
{
	if (s->task->syscall.args[2] & PROT_GROWSDOWN)
		show_everything(s);
	else
		first_range(s);
}

static void new_mapping(const struct shower *s)
{
	if (s->task->syscall.args[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE))
		first_range(s);
}

static void moved_mapping(const struct shower *s)
{
	first_range(s);
	if (s->task->syscall.args[3] & MREMAP_FIXED)
		show_range(s, s->task->syscall.args[4], s->task->syscall.args[2]);
}

/* Memory behind the new end goes, up to the old end if that is known. It comes back as other pages.
 */
static void heap_behind(const struct shower *s)
{
	uint64_t end = s->task->process->space->heap_end, new = s->task->syscall.args[0];

	if (new && (!end || new < end))
		show_range(s, new, end ? page_up(end - new) : UINT64_MAX);
}

/* Calls that change mappings, or memory through another process, in a way of their own. */
static const struct {
	uint16_t nr;
	void (*show)(const struct shower *s);
} own_ways[] = {
	{SYS_mmap, new_mapping},
	{SYS_mprotect, protected_range},
	{SYS_pkey_mprotect, protected_range},
	{SYS_mremap, moved_mapping},
	{SYS_shmat, show_everything},
	{SYS_brk, heap_behind},
	{SYS_process_madvise, remote_iovecs},
	{SYS_process_vm_writev, remote_iovecs},
	{SYS_ptrace, show_structures},
	{SYS_clone3, show_structures},
};

static size_t read_caller(void *arg, uint64_t at, void *bytes, size_t n)
{
	const struct task *task = arg;

	return tracee_read(task->host_tid, at, bytes, n);
}

/* Shows the memory that the call's row says it writes. The row does not tell which mappings change.
 */
static void show_written(const struct shower *s)
{
	const struct syscall_facts *facts = syscall_facts(s->task->syscall.nr);
	const struct syscall_memory memory = {read_caller, (void *)(uintptr_t)s->task};
	struct syscall_range room[RANGES_MAX];
	struct syscall_ranges written = {.room = RANGES_MAX, .ranges = room};

	if (facts && facts->changes & SYSCALL_CHANGES_MAPS)
		any_argument(s);
	syscall_ranges_enter(s->task->syscall.nr, s->task->syscall.args, &memory, &written);
	for (size_t i = 0; i < written.count; i++)
		show_range(s, room[i].start, room[i].length);
	if (written.count == written.room)
		show_everything(s);
	else if (written.known != SYSCALL_RANGES_KNOWN)
		show_structures(s);
}

void watch_syscall_ranges(const struct task *task,
			  void (*range)(void *arg, uint64_t start, uint64_t end), void *arg)
{
	const struct shower s = {task, range, arg};
	unsigned start, length;

	if (task->syscall.compat) {
		show_everything(&s);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(own_ways); i++)
		if (own_ways[i].nr == task->syscall.nr) {
			own_ways[i].show(&s);
			return;
		}
	if (syscall_changed_pages(task->syscall.nr, &start, &length))
		show_range(&s, task->syscall.args[start], task->syscall.args[length]);
	else
		show_written(&s);
}

void watch_syscall_replaced(const struct task *task,
			    void (*range)(void *arg, uint64_t start, uint64_t end), void *arg)
{
	const struct shower s = {task, range, arg};
	const uint64_t *args = task->syscall.args, result = task->regs.rax;
	bool mapped = !call_has_failed(result);

	if (task->syscall.compat) {
		show_everything(&s);
		return;
	}
	switch (task->syscall.nr) {
	case SYS_mmap:
		show_range(&s, result, mapped ? args[1] : 0);
		break;
	case SYS_mremap:
		show_range(&s, args[0], args[1]);
		show_range(&s, result, mapped ? args[2] : 0);
		break;
	case SYS_munmap:
	case SYS_madvise:
	case SYS_remap_file_pages:
		show_range(&s, args[0], args[1]);
		break;
	case SYS_shmat:
	case SYS_process_madvise:
		show_everything(&s);
		break;
	default:
		break;
	}
}

bool watch_syscall_output(const struct task *task, uint32_t *fd)
{
	unsigned argument;

	if ((int64_t)task->regs.rax <= 0 || task->syscall.compat ||
	    !syscall_written_fd(task->syscall.nr, &argument))
		return false;
	*fd = (uint32_t)task->syscall.args[argument];
	return true;
}

bool watch_syscall_is_memory(const struct task *task, uint32_t fd)
{
	char path[48], target[4096] = "";
	const char *name;

	snprintf(path, sizeof path, "/proc/%d/fd/%u", (int)task->host_tid, (unsigned)fd);
	if (readlink(path, target, sizeof target - 1) < 0)
		return false;
	/* procfs may be mounted anywhere, and the program may have another root. */
	name = strrchr(target, '/');
	return name && !strcmp(name, "/mem") && descriptors_is_proc(task->host_tid, fd);
}

bool watch_syscall_ignores(const struct task *task, int signo)
{
	uint64_t handler = 0;

	return !task->syscall.compat && task->syscall.nr == SYS_rt_sigaction &&
	       (int)task->syscall.args[0] == signo && task->syscall.args[1] &&
	       tracee_read(task->host_tid, task->syscall.args[1], &handler, sizeof handler) ==
		       sizeof handler &&
	       handler == (uint64_t)(uintptr_t)SIG_IGN;
}

/* clone3's are in a structure: flags, an address, that of the child's id, ... */
static bool clone_args(const struct task *task, uint64_t *flags, uint64_t *child_tid)
{
	uint64_t in[3];

	if (task->syscall.nr == SYS_clone) {
		*flags = task->syscall.args[0];
		*child_tid = task->syscall.args[3];
		return true;
	}
	if (tracee_read(task->host_tid, task->syscall.args[0], in, sizeof in) != sizeof in)
		return false;
	*flags = in[0];
	*child_tid = in[2];
	return true;
}

static bool copies_space(const struct task *task)
{
	uint64_t flags, child_tid;

	return !clone_args(task, &flags, &child_tid) || !(flags & CLONE_VM);
}

/* A protected page does not count against RLIMIT_DATA: another could take its place. */
static bool limits_data(const struct task *task)
{
	const uint64_t *args = task->syscall.args;

	return task->syscall.nr == SYS_setrlimit ? (uint32_t)args[0] == RLIMIT_DATA
						 : (uint32_t)args[1] == RLIMIT_DATA && args[2];
}

enum watch_syscall watch_syscall_kind(const struct task *task)
{
	if (task->syscall.compat)
		return WATCH_SYSCALL_ENDS;
	switch (task->syscall.nr) {
	case SYS_seccomp:
	case SYS_io_uring_setup:
	case SYS_io_setup:
	case SYS_userfaultfd:
	case SYSCALL_MSEAL:
		return WATCH_SYSCALL_ENDS;
	case SYS_setrlimit:
	case SYS_prlimit64:
		return limits_data(task) ? WATCH_SYSCALL_ENDS : WATCH_SYSCALL_PLAIN;
	case SYS_ioctl:
		return (uint32_t)task->syscall.args[1] == UFFD_NEW ? WATCH_SYSCALL_ENDS
								   : WATCH_SYSCALL_PLAIN;
	case SYS_prctl:
		if ((int)task->syscall.args[0] == PR_SET_SYSCALL_USER_DISPATCH &&
		    task->syscall.args[1]) /* calls of ours would be dispatched */
			return WATCH_SYSCALL_ENDS;
		return (int)task->syscall.args[0] == PR_SET_SECCOMP ||
				       (int)task->syscall.args[0] == PRCTL_MDWE
			       ? WATCH_SYSCALL_ENDS
			       : WATCH_SYSCALL_PLAIN;
	case SYS_rt_sigaction:
		return watch_syscall_ignores(task, SIGSEGV)
			       ? WATCH_SYSCALL_ENDS
			       : WATCH_SYSCALL_PLAIN; /* the kernel would undo that at a fault of
							 ours */
	case SYS_fork:
		return WATCH_SYSCALL_FORKS;
	case SYS_clone:
	case SYS_clone3:
		return copies_space(task) ? WATCH_SYSCALL_FORKS : WATCH_SYSCALL_PLAIN;
	default:
		return WATCH_SYSCALL_PLAIN;
	}
}

/* The signal stack that the stack_t at this address describes. */
static bool signal_stack(const struct task *task, uint64_t at, struct watch_range *range)
{
	uint64_t s[3]; /* its address, flags, size */

	if (tracee_read(task->host_tid, at, s, sizeof s) != sizeof s || !s[2] || s[0] + s[2] < s[0])
		return false;
	*range = (struct watch_range){s[0], s[0] + s[2]};
	return true;
}

/* The word where the kernel writes a task's id when it first runs, or clears it when it ends, which
 * may be by SIGKILL. */
static bool id_word(uint64_t addr, struct watch_range *range)
{
	*range = (struct watch_range){addr, addr + sizeof(pid_t)};
	return addr >= WATCH_LOWEST && range->end > addr;
}

bool watch_syscall_spared(const struct task *task, struct watch_range *range)
{
	const uint64_t *args = task->syscall.args;
	uint64_t flags, child_tid;

	if (task->syscall.compat)
		return false;
	switch (task->syscall.nr) {
	case SYS_sigaltstack:
		return args[0] && signal_stack(task, args[0], range);
	case SYS_rt_sigreturn: /* a handler may have put another one into its frame
				  (restore_altstack in arch/x86/kernel/signal_64.c) */
		return signal_stack(task, task->regs.rsp + FRAME_STACK, range);
	case SYS_madvise:
		*range = (struct watch_range){args[0], args[0] + args[1]};
		return map_syscall_leaves_out(&task->syscall) && range->end > range->start &&
		       address_space_code_kind(task->process->space, args[0]) == CODE_MUTABLE;
	case SYS_set_tid_address:
		return id_word(args[0], range);
	case SYS_clone:
	case SYS_clone3:
		return clone_args(task, &flags, &child_tid) &&
		       flags & (CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID) &&
		       id_word(child_tid, range);
	default:
		return false;
	}
}
