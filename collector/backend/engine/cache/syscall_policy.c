/* SPDX-License-Identifier: MIT */
#include "collector/backend/engine/cache/syscall_policy.h"

#include <asm/ioctls.h>
#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "lib/array_size.h"

/* Short names for the rows. */
enum {
	PLAIN = POLICY_CACHE,
	FILLS = POLICY_CACHE | POLICY_WRITE, /* memory of the program */
	PATH = POLICY_CACHE | POLICY_PATHS,
	PATH_FILLS = PATH | POLICY_WRITE,
	FILE_ = POLICY_CACHE | POLICY_DESCRIPTORS,
	FILE_FILLS = FILE_ | POLICY_WRITE,
	ANY = FILE_ | POLICY_ANY,
	ANY_FILLS = ANY | POLICY_WRITE,
	WAITS = POLICY_CACHE | POLICY_WAIT,
	WAITS_FILLS = WAITS | POLICY_WRITE,
	MAPS = POLICY_CACHE | POLICY_MAPS,
};

/* Not here: what changes mappings that may hold code, tasks, masks or actions of signals that are
 * ours, credentials, limits, the base of gs, where the kernel writes at a task's end
 * (set_tid_address), or installs a descriptor in the place of another. Calls that only a unit of
 * one task can make here are those that may wait, and those that are there for others: in a larger
 * one sched_yield() gives up the turn. */
static const uint32_t classes[POLICY_NUMBERS] = {
	[SYS_getpid] = PLAIN,
	[SYS_gettid] = PLAIN,
	[SYS_getppid] = PLAIN,
	[SYS_getuid] = PLAIN,
	[SYS_geteuid] = PLAIN,
	[SYS_getgid] = PLAIN,
	[SYS_getegid] = PLAIN,
	[SYS_getresuid] = FILLS,
	[SYS_getresgid] = FILLS,
	[SYS_getgroups] = FILLS,
	[SYS_getpgrp] = PLAIN,
	[SYS_getpgid] = PLAIN,
	[SYS_getsid] = PLAIN,
	[SYS_getpriority] = PLAIN,
	[SYS_ioprio_get] = PLAIN,
	[SYS_sched_getscheduler] = PLAIN,
	[SYS_sched_get_priority_max] = PLAIN,
	[SYS_sched_get_priority_min] = PLAIN,
	[SYS_sched_getparam] = FILLS,
	[SYS_sched_yield] = WAITS,
	[SYS_getcpu] = FILLS,
	[SYS_getrusage] = FILLS,
	[SYS_times] = FILLS,
	[SYS_time] = FILLS,
	[SYS_gettimeofday] = FILLS,
	[SYS_clock_gettime] = FILLS,
	[SYS_clock_getres] = FILLS,
	[SYS_getitimer] = FILLS,
	[SYS_uname] = FILLS,
	[SYS_sysinfo] = FILLS,
	[SYS_getcwd] = FILLS,
	[SYS_getrandom] = FILLS,
	[SYS_umask] = PLAIN,
	[SYS_set_robust_list] = PLAIN,
	[SYS_futex] = PLAIN | POLICY_OPERATION,
	[SYS_rt_sigaction] = FILLS | POLICY_ACTION,
	[SYS_rt_sigprocmask] = FILLS | POLICY_MASKS,
	[SYS_prlimit64] = FILLS | POLICY_OPERATION,
	[SYS_arch_prctl] = PLAIN | POLICY_OPERATION,

	[SYS_stat] = PATH_FILLS,
	[SYS_lstat] = PATH_FILLS,
	[SYS_newfstatat] = PATH_FILLS,
	[SYS_statx] = PATH_FILLS,
	[SYS_readlink] = PATH_FILLS,
	[SYS_readlinkat] = PATH_FILLS,
	[SYS_open] = PATH | POLICY_WAIT | POLICY_OPENS,
	[SYS_openat] = PATH | POLICY_WAIT | POLICY_OPENS,
	[SYS_access] = PATH,
	[SYS_faccessat] = PATH,
	[SYS_faccessat2] = PATH,
	[SYS_statfs] = PATH_FILLS,
	[SYS_chdir] = PATH,
	[SYS_mkdir] = PATH,
	[SYS_rmdir] = PATH,
	[SYS_unlink] = PATH,
	[SYS_unlinkat] = PATH,
	[SYS_rename] = PATH,
	[SYS_chmod] = PATH,
	[SYS_utimensat] = PATH,

	[SYS_fstat] = ANY_FILLS,
	[SYS_lseek] = ANY,
	[SYS_read] = FILE_FILLS,
	[SYS_readv] = FILE_FILLS,
	[SYS_pread64] = FILE_FILLS,
	[SYS_preadv] = FILE_FILLS,
	[SYS_preadv2] = FILE_FILLS,
	[SYS_write] = FILE_ | POLICY_TELLS,
	[SYS_writev] = FILE_ | POLICY_TELLS,
	[SYS_pwrite64] = FILE_,
	[SYS_pwritev] = FILE_,
	[SYS_pwritev2] = FILE_,
	[SYS_getdents] = ANY_FILLS,
	[SYS_getdents64] = ANY_FILLS,
	[SYS_ftruncate] = ANY,
	[SYS_fadvise64] = ANY,
	[SYS_readahead] = ANY,
	[SYS_fstatfs] = ANY_FILLS,
	[SYS_fchmod] = ANY,
	[SYS_fchdir] = ANY,
	[SYS_fsync] = ANY | POLICY_WAIT,
	[SYS_fdatasync] = ANY | POLICY_WAIT,
	[SYS_flock] = ANY | POLICY_WAIT,
	[SYS_fcntl] = ANY | POLICY_OPERATION,
	[SYS_ioctl] = ANY_FILLS | POLICY_OPERATION,
	[SYS_close] = ANY | POLICY_CLOSE,
	[SYS_dup] = ANY | POLICY_COPY,

	[SYS_mmap] = MAPS,
	[SYS_munmap] = MAPS,
	[SYS_mprotect] = MAPS,
	[SYS_madvise] = MAPS,
	[SYS_mremap] = MAPS,
	[SYS_brk] = MAPS,

	[SYS_poll] = WAITS_FILLS,
	[SYS_ppoll] = WAITS_FILLS,
	[SYS_select] = WAITS_FILLS,
	[SYS_pselect6] = WAITS_FILLS,
	[SYS_epoll_wait] = WAITS_FILLS,
	[SYS_epoll_pwait] = WAITS_FILLS,
	[SYS_epoll_ctl] = PLAIN,
	[SYS_nanosleep] = WAITS_FILLS,
	[SYS_clock_nanosleep] = WAITS_FILLS,
	[SYS_pause] = WAITS,
	[SYS_rt_sigsuspend] = WAITS,
	[SYS_rt_sigtimedwait] = WAITS_FILLS,
	[SYS_rt_sigpending] = WAITS_FILLS,
	[SYS_wait4] = WAITS_FILLS,
	[SYS_waitid] = WAITS_FILLS,
	[SYS_semop] = WAITS,
	[SYS_msgsnd] = WAITS,
	[SYS_msgrcv] = WAITS_FILLS,

	[SYS_pipe] = WAITS_FILLS,
	[SYS_pipe2] = WAITS_FILLS,
	[SYS_eventfd2] = WAITS | POLICY_GIVES,
	[SYS_timerfd_create] = WAITS | POLICY_GIVES,
	[SYS_timerfd_settime] = FILLS,
	[SYS_epoll_create1] = WAITS | POLICY_GIVES,
	[SYS_socket] = WAITS | POLICY_GIVES,
	[SYS_socketpair] = WAITS_FILLS,
	[SYS_bind] = WAITS,
	[SYS_listen] = PLAIN,
	[SYS_connect] = WAITS,
	[SYS_accept] = WAITS_FILLS | POLICY_GIVES,
	[SYS_accept4] = WAITS_FILLS | POLICY_GIVES,
	[SYS_shutdown] = PLAIN,
	[SYS_getsockname] = FILLS,
	[SYS_getpeername] = FILLS,
	[SYS_getsockopt] = FILLS,
	[SYS_setsockopt] = PLAIN,
	[SYS_sendto] = WAITS,
	[SYS_sendmsg] = WAITS,
	[SYS_recvfrom] = WAITS_FILLS,
	[SYS_recvmsg] = WAITS_FILLS,
};

uint32_t syscall_policy(uint64_t nr)
{
	return nr < POLICY_NUMBERS && classes[nr] ? classes[nr] : (uint32_t)POLICY_STOP;
}

const struct policy_operation policy_operations[] = {
	{SYS_futex, 0, FUTEX_WAKE},
	{SYS_futex, 0, FUTEX_WAKE_PRIVATE},
	{SYS_futex, 0, FUTEX_WAKE_BITSET},
	{SYS_futex, 0, FUTEX_WAKE_BITSET_PRIVATE},
	{SYS_futex, POLICY_WAIT, FUTEX_WAIT},
	{SYS_futex, POLICY_WAIT, FUTEX_WAIT_PRIVATE},
	{SYS_futex, POLICY_WAIT, FUTEX_WAIT_BITSET},
	{SYS_futex, POLICY_WAIT, FUTEX_WAIT_BITSET_PRIVATE},
	{SYS_futex, POLICY_WAIT, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME},
	{SYS_futex, POLICY_WAIT, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME},
	{SYS_fcntl, POLICY_COPY, F_DUPFD},
	{SYS_fcntl, POLICY_COPY, F_DUPFD_CLOEXEC},
	{SYS_fcntl, 0, F_GETFD},
	{SYS_fcntl, 0, F_SETFD},
	{SYS_fcntl, 0, F_GETFL},
	{SYS_fcntl, 0, F_SETFL},
	{SYS_fcntl, POLICY_WAIT, F_SETLK},
	{SYS_fcntl, POLICY_WAIT, F_SETLKW},
	/* Of a terminal; of another file an error, as isatty() asks. The two that set something may
	   stop a background process. */
	{SYS_ioctl, 0, TCGETS},
	{SYS_ioctl, 0, TIOCGWINSZ},
	{SYS_ioctl, 0, TIOCGPGRP},
	{SYS_ioctl, 0, FIONREAD},
	{SYS_ioctl, POLICY_WAIT, TCSETS},
	{SYS_ioctl, POLICY_WAIT, TCSETSW},
	{SYS_ioctl, POLICY_WAIT, TIOCSPGRP},
	/* What programs ask for when they start. Others are not what the program has set
	   (limits.h). */
	{SYS_prlimit64, POLICY_ASKS, RLIMIT_STACK},
	{SYS_prlimit64, POLICY_ASKS, RLIMIT_NOFILE},
	{SYS_arch_prctl, POLICY_FIRST, ARCH_SET_FS},
};
const size_t policy_operations_count = ARRAY_SIZE(policy_operations);
