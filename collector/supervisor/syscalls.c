/* SPDX-License-Identifier: MIT */
/* System calls: their consequences, and those that mean something to the supervisor itself.
 *
 * At an entry the session is told first. Then the modules that hide the recorder from the program
 * get their say, each for its own calls: limits, affinity, the prctl of btrec.h, calls that are
 * refused, a clone that would escape. supervisor_make_syscall() makes the call when the scheduler
 * lets it be.
 *
 * At an exit the same modules put back what they had changed. A call that returned only because of
 * us (QUIRK(interrupt-eintr), QUIRK(short-transfer)) is made again (redo_interrupted()). The
 * session is told of the exit in any case. At last come the consequences: mappings, dispositions, a
 * new program. */
#include "collector/supervisor/supervisor_private.h"

#include <errno.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "collector/space/map_syscalls.h"
#include "collector/space/world.h"
#include "collector/supervisor/detach.h"
#include "collector/supervisor/lazy_free.h"
#include "collector/supervisor/terminal.h"
#include "collector/task/cut_transfer.h"
#include "collector/task/last_words.h"
#include "collector/task/memory_lock.h"
#include "collector/task/syscall_filter.h"
#include "collector/task/syscall_timeout.h"
#include "collector/tracee/tracee.h"
#include "include/btrec.h"
#include "lib/array_size.h"
#include "lib/page.h"

#ifndef MAP_DROPPABLE
#define MAP_DROPPABLE 0x08 /* linux/mman.h since Linux 6.11 */
#endif

enum {
	ENABLE_SHADOW_STACK = 0x5001, /* ARCH_SHSTK_ENABLE of arch_prctl(2), Linux 6.6 */
	MAP_VDSO_FIRST = 0x2001,      /* ARCH_MAP_VDSO_X32, asm/prctl.h */
	MAP_VDSO_LAST = 0x2003,       /* ARCH_MAP_VDSO_64 */
	USERFAULTFD_NEW = 0xaa00,     /* USERFAULTFD_IOC_NEW, linux/userfaultfd.h */
};

static bool is_syscall(const struct task *task, long nr) { return syscall_is(&task->syscall, nr); }

void supervisor_follow_mappings(struct supervisor *sup, struct task *task)
{
	struct address_space *space = task->process->space;

	/* With --from there may be threads whose calls are not seen. */
	space->later.all |=
		space->later.count && (sup->options.tests->whole_maps || sup->options.late_start);
	address_space_catch_up(space, task->host_tid);
}

static void follow_syscall(struct supervisor *sup, struct task *task)
{
	struct map_change change;

	if (!map_syscall_changes(task->process->space, &task->syscall, task->regs.rax, &change))
		return;
	address_space_change_later(task->process->space, &change);
	supervisor_follow_mappings(sup, task);
}

/* The prctl of btrec.h: harmless in the kernel (EINVAL), a request here. */
static void answer_request(struct supervisor *sup, struct task *task)
{
	char label[128] = "";

	task->supervised->request =
		is_syscall(task, SYS_prctl) && task->syscall.args[0] == BTREC_PRCTL;
	if (!task->supervised->request)
		return;
	if (task->syscall.args[1])
		tracee_read(task->host_tid, task->syscall.args[1], label, sizeof label - 1);
	sup->session->ops->on_request(sup->session, sup, task, label);
}

/* QUIRK(rseq): a restartable sequence relies on being aborted when another thread of the process
 * may have run on its processor. The kernel does not know when translated code is in one, so
 * rseq(2) is refused: programs and C libraries fall back, as on kernels without it (before
 * Linux 4.18). With
 * --from the program may have it already, and glibc aborts when a thread does not get what the
 * first one got. Native code keeps it. */
static bool is_rseq(const struct supervisor *sup, const struct task *task)
{
	return is_syscall(task, SYS_rseq) && !sup->options.late_start;
}

/* QUIRK(shadow-stack): calls and returns of translated code are jumps, which a shadow stack does
 * not see. Programs that could have one run without, as on processors that have none. */
static bool is_shadow_stack(const struct task *task)
{
	return is_syscall(task, SYS_arch_prctl) &&
	       (uint32_t)task->syscall.args[0] == ENABLE_SHADOW_STACK;
}

/* Whether memory of the program is written because of this call while no call of it ends: by the
 * kernel (rings) or by who serves its page faults. No log of calls can say when. Or whether nobody
 * but the program can read what calls write there (memfd_secret(2), Linux 5.14). Programs do
 * without: kernels are built, or set up, without them (kernel.io_uring_disabled). */
static bool is_unloggable(const struct supervisor *sup, const struct task *task)
{
	static const long calls[] = {SYS_io_setup, SYS_io_uring_setup, SYS_userfaultfd,
				     SYS_memfd_secret};

	for (size_t i = 0; sup->options.logged && i < ARRAY_SIZE(calls); i++)
		if (is_syscall(task, calls[i]))
			return true;
	return false;
}

/* The same of /dev/userfaultfd (USERFAULTFD_IOC_NEW, Linux 6.1). */
static bool opens_userfaultfd(const struct supervisor *sup, const struct task *task)
{
	return sup->options.logged && is_syscall(task, SYS_ioctl) &&
	       (uint32_t)task->syscall.args[1] == USERFAULTFD_NEW;
}

/* Whether it maps pages that the kernel may take at any moment: they are zero then. No log of calls
 * can say when. Programs do without, as before Linux 6.11. */
static bool is_droppable(const struct supervisor *sup, const struct task *task)
{
	return sup->options.logged && is_syscall(task, SYS_mmap) &&
	       (task->syscall.args[3] & MAP_TYPE) == MAP_DROPPABLE;
}

/* Whether it maps the kernel's own code and data again (ARCH_MAP_VDSO_64 and its like), which
 * change by themselves. Programs do without, as where the kernel is built without
 * CONFIG_CHECKPOINT_RESTORE. */
static bool maps_vdso(const struct supervisor *sup, const struct task *task)
{
	const uint32_t operation = (uint32_t)task->syscall.args[0];

	return sup->options.logged && is_syscall(task, SYS_arch_prctl) &&
	       operation >= MAP_VDSO_FIRST && operation <= MAP_VDSO_LAST;
}

/* Whether it copies, past the program, from a file whose bytes are made when they are read (procfs,
 * sysfs): nobody could say behind it which they were. Programs do without: sendfile(2) says EINVAL
 * of files that it cannot take from, and to read and write then. */
static bool copies_made_bytes(const struct supervisor *sup, const struct task *task)
{
	static const uint32_t making[] = {PROC_SUPER_MAGIC,    SYSFS_MAGIC,   CGROUP_SUPER_MAGIC,
					  CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC};
	struct statfs system;
	struct stat file;
	char path[64];

	if (!sup->options.logged || !is_syscall(task, SYS_sendfile))
		return false;
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)task->host_tid,
		 (int)task->syscall.args[1]);
	/* Such a file has no size, or a page's. Of others the file system is not asked. */
	if (stat(path, &file) || !S_ISREG(file.st_mode) || file.st_size > BT_PAGE ||
	    statfs(path, &system))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(making); i++)
		if ((uint32_t)system.f_type == making[i])
			return true;
	return false;
}

/* The error with which a system call ends that must not be made; 0: it is made. */
static int refusal_of(const struct supervisor *sup, const struct task *task)
{
	return is_shadow_stack(task)                            ? EOPNOTSUPP
	       : is_rseq(sup, task) || is_unloggable(sup, task) ? ENOSYS
	       : is_droppable(sup, task) || maps_vdso(sup, task) || copies_made_bytes(sup, task)
		       ? EINVAL
	       : opens_userfaultfd(sup, task) ? ENOTTY
					      : 0;
}

static void refuse_syscall(struct supervisor *sup, struct task *task)
{
	int error = sup->backend.ops->native ? 0 : refusal_of(sup, task);

	if (!error)
		return;
	task->regs.orig_rax = UINT64_MAX; /* none: rax stays as it is */
	task->regs.rax = (uint64_t)-error;
	tracee_set_regs(task->host_tid, &task->regs);
	if (error == EOPNOTSUPP)
		supervisor_note(sup, task,
				"the program asked for a shadow stack (CET): it runs without");
}

/* QUIRK(clone-untraced): such a child would be unrecorded, and our memory would stay in it. So the
 * flag is taken out. */
static void trace_child(struct task *task)
{
	struct tracee_syscall *c = &task->syscall;
	uint64_t flags;

	if (c->compat || (c->nr == SYS_clone && !(c->args[0] & CLONE_UNTRACED)))
		return;
	if (c->nr == SYS_clone) {
		task->regs.rdi &= ~(uint64_t)CLONE_UNTRACED;
		task->supervised->untraced_child = !tracee_set_regs(task->host_tid, &task->regs);
	} else if (c->nr == SYS_clone3 &&
		   tracee_read(task->host_tid, c->args[0], &flags, sizeof flags) == sizeof flags &&
		   flags & CLONE_UNTRACED) {
		flags &= ~(uint64_t)CLONE_UNTRACED;
		task->supervised->untraced_child =
			tracee_write(task->host_tid, c->args[0], &flags, sizeof flags);
	}
}

/* Puts the flag back in the caller. The child sees the changed flags. */
static void restore_clone_flags(struct task *task)
{
	const struct tracee_syscall *c = &task->syscall;
	uint64_t flags;

	if (!task->supervised->untraced_child)
		return;
	task->supervised->untraced_child = false;
	if (c->nr == SYS_clone) {
		task->regs.rdi |= CLONE_UNTRACED;
		tracee_set_regs(task->host_tid, &task->regs);
	} else if (tracee_read(task->host_tid, c->args[0], &flags, sizeof flags) == sizeof flags) {
		flags |= CLONE_UNTRACED;
		tracee_write(task->host_tid, c->args[0], &flags, sizeof flags);
	}
}

/* Whether the session answers the call. Then the kernel makes none. */
static bool is_answered(struct supervisor *sup, struct task *task)
{
	const struct session_ops *ops = sup->session->ops;

	task->supervised->answered =
		ops->answers_call && ops->answers_call(sup->session, sup, task);
	if (!task->supervised->answered)
		return false;
	task->regs.orig_rax = UINT64_MAX;
	tracee_set_regs(task->host_tid, &task->regs);
	return true;
}

static void answered_left(struct supervisor *sup, struct task *task, const struct bt_point *at)
{
	task->supervised->answered = task->in_syscall = task->syscall_restarts = false;
	sup->session->ops->on_syscall_exit(sup->session, sup, task, at, task->regs.rax);
	supervisor_follow_mappings(sup, task);
	supervisor_make_ready(sup, task);
}

void supervisor_syscall_entered(struct supervisor *sup, struct task *task)
{
	task->in_syscall = true;
	task->syscall_restarts = false;
	task->supervised->stopped_in_syscall = false;
	task->supervised->ignored_before = task->process->signals_ignored;
	cut_transfer_begun(task);
	syscall_timeout_begin(task, bt_clock_now(sup->clock));
	sup->session->ops->on_syscall_enter(sup->session, sup, task);
	if (is_answered(sup, task)) {
		supervisor_make_syscall(sup, task);
		return;
	}
	last_words_entered(task);
	answer_request(sup, task);
	if (detach_before_exec(sup, task))
		return;
	refuse_syscall(sup, task);
	trace_child(task);
	if (sup->options.logged)
		lazy_free_entered(task);
	limits_syscall_entered(&sup->tasks, task);
	affinity_syscall_entered(&sup->affinity, &sup->tasks, task);
	supervisor_make_syscall(sup, task);
}

/* Whether another task of the process has got a signal for which the kernel may have woken this
 * one, and which the program does not notice: it ignores the signal, or blocks it
 * (hidden_signals.h). */
static bool taken_by_another(const struct supervisor *sup, const struct task *task)
{
	siginfo_t info;

	if (task->process->signals_ignored != task->supervised->ignored_before)
		return true;
	for (const struct task *other = task->process->members; other; other = other->member_next)
		if (other != task &&
		    event_queue_type(&sup->events, other->host_tid) == WAIT_SIGNAL &&
		    !tracee_get_siginfo(other->host_tid, &info) &&
		    (supervisor_is_ignored(other, &info) ||
		     ((info.si_signo == SIGTRAP || info.si_signo == SIGSEGV) && info.si_code <= 0)))
			return true;
	return task->process->signals_held;
}

/* Whether the call was ended by a signal that another thread has then taken. Otherwise a short
 * transfer may have its own reasons, and EINTR can only come from a filter of the program. */
static bool woken_in_vain(const struct supervisor *sup, const struct task *task, bool cut)
{
	if (!cut)
		return taken_by_another(sup, task);
	return !task->supervised->stopped_in_syscall &&
	       (task->process->tasks > 1 || taken_by_another(sup, task)) &&
	       !syscall_filter_answers(task);
}

/* QUIRK(interrupt-eintr): some calls (epoll_wait, semop, sigtimedwait) return EINTR after a stop
 * without a handler (signal(7)). Under ptrace an ignored signal does that, too: natively the kernel
 * drops it when it is sent (sig_ignored). If no signal is pending that the program will notice,
 * such a call is made again, with its whole timeout. Returns whether it is. Else task->regs may
 * have another result: that of a timeout. */
static bool redo_interrupted(const struct supervisor *sup, struct task *task)
{
	int64_t over;
	bool ours = task->interrupted, cut = (int64_t)task->regs.rax == -EINTR, any;

	task->interrupted = false;
	/* The result of sigreturn is that of the call that its handler interrupted. close(2) has
	 * closed the descriptor even if it fails. */
	if (is_syscall(task, SYS_rt_sigreturn) || is_syscall(task, SYS_close) ||
	    (!cut && !cut_transfer_may_be_short(task)) || supervisor_signal_waits(task, &any))
		return false;
	if (!ours && !any && !woken_in_vain(sup, task, cut))
		return false;
	if (!cut && !cut_transfer_is_short(task))
		return false;
	if (cut && !task->transfer.moved &&
	    syscall_timeout_is_over(task, bt_clock_now(sup->clock), false, &over)) {
		task->regs.rax = (uint64_t)over;
		tracee_set_regs(task->host_tid, &task->regs);
		return false;
	}
	if (cut && !task->transfer.moved) {
		task->regs.rax = task->syscall.nr;
		task->regs.rip -= 2;
	} else {
		cut_transfer_again(task, true);
	}
	tracee_set_regs(task->host_tid, &task->regs);
	return true;
}

/* The same for a call that was made without a stop. */
void supervisor_syscall_again(const struct supervisor *sup, struct task *task)
{
	int64_t over;
	bool any;

	if (!task->syscall_cut || supervisor_signal_waits(task, &any))
		return;
	if ((int64_t)task->regs.rax == -EINTR &&
	    syscall_timeout_is_over(task, bt_clock_now(sup->clock), true, &over)) {
		task->regs.rax = (uint64_t)over;
		tracee_set_regs(task->host_tid, &task->regs);
		return;
	}
	cut_syscall_again(task);
	tracee_set_regs(task->host_tid, &task->regs);
	task->syscall_restarts = true;
}

static void note_trap_disposition(struct task *task)
{
	struct tracee_signals s;

	if (tracee_signals(task->host_tid, &s))
		return;
	task->process->trap_ignored = s.ignored >> (SIGTRAP - 1) & 1;
	task->process->trap_known = true;
}

/* A task has one tracer, and that is us. Debuggers in the recorded tree do not work, nor do
 * programs that wait for a traced child to stop. The note comes once: some programs try again and
 * again. */
static void note_refused_tracing(struct supervisor *sup, const struct task *task)
{
	const uint64_t *args = task->syscall.args;
	bool attaches = args[0] == PTRACE_ATTACH || args[0] == PTRACE_SEIZE;
	bool of_ours =
		args[0] == PTRACE_TRACEME || (attaches && task_find(&sup->tasks, (pid_t)args[1]));

	if (!is_syscall(task, SYS_ptrace) || !of_ours || (int64_t)task->regs.rax != -EPERM ||
	    sup->tracing_refused)
		return;
	sup->tracing_refused = true;
	supervisor_note(sup, task,
			"the kernel refused a ptrace call (EPERM): what btrec records cannot be "
			"traced by another program");
}

void supervisor_syscall_left(struct supervisor *sup, struct task *task)
{
	const struct bt_point at = task_point(task);
	uint64_t result;
	bool ends;

	if (task->supervised->answered) {
		answered_left(sup, task, &at);
		return;
	}
	task->syscall_restarts = tracee_wants_restart(&task->regs);
	if (!task->in_syscall) { /* its entry was not recorded: the clone of a new task, a call from
				    before --from */
		supervisor_make_ready(sup, task);
		return;
	}
	task->in_syscall = false;
	restore_clone_flags(task);
	lazy_free_left(task);
	limits_syscall_left(&sup->tasks, task);
	affinity_syscall_left(task);
	memory_lock_syscall_left(task);
	syscall_filter_left(&sup->tasks, task);
	if (task->supervised->request) {
		task->supervised->request = false;
		task->regs.rax = 0;
		tracee_set_regs(task->host_tid, &task->regs);
	}
	result = task->regs.rax;
	ends = !task->syscall_restarts && !redo_interrupted(sup, task);
	if (ends) {
		result = task->regs.rax; /* the result of this part alone: it tells the bytes
					    written */
		cut_transfer_end(task);
	}
	sup->session->ops->on_syscall_exit(sup->session, sup, task, &at, result);
	if (ends)
		last_words_heard(task);
	note_refused_tracing(sup, task);
	if (is_syscall(task, SYS_setpgid) && task->process->initial)
		terminal_hand_on(getppid(), task->process->host_pid);
	if (is_syscall(task, SYS_rt_sigreturn) && task->depth)
		task->depth--;
	if (is_syscall(task, SYS_execve) && sup->options.deterministic &&
	    (int64_t)task->regs.rax == 0) {
		world_make_deterministic(task->host_tid);
		address_space_refresh(task->process->space, task->host_tid);
	}
	if (is_syscall(task, SYS_execve) && (int64_t)task->regs.rax == 0)
		sup->session->ops->on_program(sup->session, sup, task);
	if (task->syscall.compat || sup->options.late_start)
		task->process->trap_known = false; /* the disposition may change unseen */
	if ((is_syscall(task, SYS_execve) && !task->process->trap_known) ||
	    (is_syscall(task, SYS_rt_sigaction) && (int)task->syscall.args[0] == SIGTRAP))
		note_trap_disposition(task);
	follow_syscall(sup, task);
	supervisor_make_ready(sup, task);
}
