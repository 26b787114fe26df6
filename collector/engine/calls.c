/* SPDX-License-Identifier: MIT */
#include "collector/engine/calls.h"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>

/* Short names for the rows. */
enum {
	PLAIN = CALLS_CACHE,
	FILLS = CALLS_CACHE | CALLS_WRITE, /* memory of the program */
	PATH = CALLS_CACHE | CALLS_PATHS,
	PATH_FILLS = PATH | CALLS_WRITE,
	FILE_ = CALLS_CACHE | CALLS_DESCRIPTORS,
	FILE_FILLS = FILE_ | CALLS_WRITE,
};

/* Not here, though they never block: what changes mappings, tasks, signal masks or actions (SIGTRAP is ours), credentials, limits, segment
 * bases, or installs a descriptor of which nobody knows what it is. */
static const uint8_t classes[CALLS_NUMBERS] = {
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
	[SYS_sched_getaffinity] = FILLS,
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
	[SYS_futex] = PLAIN | CALLS_OPERATION,

	[SYS_stat] = PATH_FILLS,
	[SYS_lstat] = PATH_FILLS,
	[SYS_newfstatat] = PATH_FILLS,
	[SYS_statx] = PATH_FILLS,
	[SYS_readlink] = PATH_FILLS,
	[SYS_readlinkat] = PATH_FILLS,
	[SYS_access] = PATH,
	[SYS_faccessat] = PATH,
	[SYS_faccessat2] = PATH,

	[SYS_fstat] = FILE_FILLS,
	[SYS_lseek] = FILE_,
	[SYS_read] = FILE_FILLS,
	[SYS_readv] = FILE_FILLS,
	[SYS_pread64] = FILE_FILLS,
	[SYS_preadv] = FILE_FILLS,
	[SYS_preadv2] = FILE_FILLS,
	[SYS_write] = FILE_,
	[SYS_writev] = FILE_,
	[SYS_pwrite64] = FILE_,
	[SYS_pwritev] = FILE_,
	[SYS_pwritev2] = FILE_,
	[SYS_getdents] = FILE_FILLS,
	[SYS_getdents64] = FILE_FILLS,
	[SYS_ftruncate] = FILE_,
	[SYS_fadvise64] = FILE_,
	[SYS_readahead] = FILE_,
	[SYS_fstatfs] = FILE_FILLS,
	[SYS_fchmod] = FILE_,
	[SYS_fcntl] = FILE_ | CALLS_OPERATION,
	[SYS_ioctl] = FILE_ | CALLS_OPERATION,
	[SYS_close] = FILE_ | CALLS_CLOSE,
	[SYS_dup] = FILE_ | CALLS_COPY,
};

uint8_t calls_class(uint64_t nr)
{
	return nr < CALLS_NUMBERS && classes[nr] ? classes[nr] : CALLS_STOP;
}

const struct calls_operation calls_operations[] = {
	{SYS_futex, 4, 0, {FUTEX_WAKE, FUTEX_WAKE_PRIVATE, FUTEX_WAKE_BITSET, FUTEX_WAKE_BITSET_PRIVATE}},
	{SYS_fcntl, 6, 2, {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL}},
	/* Of a file that is no terminal: an error. isatty() asks so. */
	{SYS_ioctl, 2, 0, {TCGETS, TIOCGWINSZ}},
};
const size_t calls_operations_count = sizeof calls_operations / sizeof calls_operations[0];
