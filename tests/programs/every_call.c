/* SPDX-License-Identifier: MIT */
/* Makes as many system calls as it can that write memory, succeeding and failing, for the audit of
 * the rows of syscalls/ (tests/tools/audit_syscalls.c). Results do not matter: what a machine does
 * not allow fails. Memory that calls write is filled before each, so that zeros are seen, too.
 * It is run in a directory of its own. One file, however long: it is one list. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	BUFFER = 4096,
	BUFFERS = 6,
};

static _Alignas(4096) unsigned char out[BUFFERS][BUFFER];
static unsigned char *edge; /* 16 bytes before memory that is not there */
static const struct timespec no_time = {0}, short_time = {0, 2000000}, long_time = {10, 0};

static long call(long nr, const long *args)
{
	memset(out, 0xa5, sizeof out);
	return syscall(nr, args[0], args[1], args[2], args[3], args[4], args[5]);
}

/* With the buffers as they are. */
static long keep(long nr, const long *args)
{
	return syscall(nr, args[0], args[1], args[2], args[3], args[4], args[5]);
}

#define L(...)          ((long)(__VA_ARGS__))
#define CALL(nr, ...)   call(nr, (const long[6]){__VA_ARGS__})
#define KEEP(nr, ...)   keep(nr, (const long[6]){__VA_ARGS__})
#define NAME(s)         L("" s)

static long root_device(void)
{
	struct stat st = {0};

	stat("/", &st);
	return (long)st.st_dev;
}

static int make_file(const char *name, const char *text)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (write(fd, text, strlen(text)) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		exit(1);
	return fd;
}

static void alarm_in(long us)
{
	const struct itimerval t = {{0}, {0, us}};

	setitimer(ITIMER_REAL, &t, NULL);
}

static void on_alarm(int signo) { (void)signo; }

static void set_vectors(struct iovec v[3])
{
	memset(out, 0xa5, sizeof out);
	v[0] = (struct iovec){out[0], 5};
	v[1] = (struct iovec){out[1], 0};
	v[2] = (struct iovec){out[2], 100};
}

static void files(void)
{
	struct iovec v[3];
	int fd = make_file("file", "0123456789abcdef"), dir = open(".", O_RDONLY | O_DIRECTORY);
	int other = make_file("other", "");
	int64_t *offset = (int64_t *)(void *)out[3];
	struct {
		uint32_t bytes;
		int32_t type;
		unsigned char handle[128];
	} *handle = (void *)out[4];
	struct {
		uint64_t value;
		uint32_t size, flags;
	} attribute = {(uint64_t)(uintptr_t)out[0], 100, 0};

	CALL(SYS_read, fd, L(out[0]), 7);
	CALL(SYS_read, fd, L(edge), 100);
	CALL(SYS_read, -1, L(out[0]), 7);
	CALL(SYS_pread64, fd, L(out[0]), 100, 3);
	set_vectors(v);
	KEEP(SYS_preadv, fd, L(v), 3, 0, 0);
	set_vectors(v);
	KEEP(SYS_preadv2, fd, L(v), 3, 0, 0, 0);
	lseek(fd, 0, SEEK_SET);
	set_vectors(v);
	KEEP(SYS_readv, fd, L(v), 3);
	lseek(fd, 0, SEEK_SET);
	v[1] = (struct iovec){edge, 100};
	KEEP(SYS_readv, fd, L(v), 3);
	CALL(SYS_stat, NAME("file"), L(out[0]));
	CALL(SYS_lstat, NAME("file"), L(out[0]));
	CALL(SYS_fstat, fd, L(out[0]));
	CALL(SYS_fstat, -1, L(out[0]));
	CALL(SYS_fstat, fd, L(edge));
	CALL(SYS_newfstatat, AT_FDCWD, NAME("file"), L(out[0]), 0);
	CALL(SYS_newfstatat, AT_FDCWD, NAME("none"), L(out[0]), 0);
	CALL(SYS_statx, AT_FDCWD, NAME("file"), 0, 0xfff, L(out[0]));
	CALL(SYS_statfs, NAME("/"), L(out[0]));
	CALL(SYS_ustat, root_device(), L(out[0]));
	CALL(SYS_fstatfs, fd, L(out[0]));
	CALL(SYS_ustat, 0, L(out[0]));
	CALL(SYS_getdents, dir, L(out[0]), BUFFER);
	lseek(dir, 0, SEEK_SET);
	CALL(SYS_getdents64, dir, L(out[0]), BUFFER);
	lseek(dir, 0, SEEK_SET);
	CALL(SYS_getdents64, dir, L(out[0]), 8);
	CALL(SYS_getcwd, L(out[0]), BUFFER);
	CALL(SYS_getcwd, L(out[0]), 1);
	if (symlink("target of it", "link"))
		exit(1);
	CALL(SYS_readlink, NAME("link"), L(out[0]), 4);
	CALL(SYS_readlinkat, AT_FDCWD, NAME("link"), L(out[0]), BUFFER);
	CALL(SYS_setxattr, NAME("file"), NAME("user.a"), NAME("value"), 5, 0);
	CALL(SYS_getxattr, NAME("file"), NAME("user.a"), L(out[0]), 100);
	CALL(SYS_getxattr, NAME("file"), NAME("user.a"), L(out[0]), 2);
	CALL(SYS_getxattr, NAME("file"), NAME("user.a"), L(out[0]), 0);
	CALL(SYS_lgetxattr, NAME("file"), NAME("user.a"), L(out[0]), 100);
	CALL(SYS_fgetxattr, fd, NAME("user.a"), L(out[0]), 100);
	CALL(464, AT_FDCWD, NAME("file"), 0, NAME("user.a"), L(&attribute), sizeof attribute);
	CALL(SYS_listxattr, NAME("file"), L(out[0]), 100);
	CALL(SYS_llistxattr, NAME("file"), L(out[0]), 100);
	CALL(SYS_flistxattr, fd, L(out[0]), 100);
	CALL(465, AT_FDCWD, NAME("file"), 0, L(out[0]), 100);
	CALL(468, AT_FDCWD, NAME("file"), L(out[0]), 24, 0);
	memset(out, 0xa5, sizeof out);
	*offset = 2;
	KEEP(SYS_sendfile, other, fd, L(offset), 5);
	*offset = 3;
	KEEP(SYS_copy_file_range, fd, L(offset), other, 0, 4, 0);
	memset(out, 0xa5, sizeof out);
	handle->bytes = 4;
	KEEP(SYS_name_to_handle_at, AT_FDCWD, NAME("file"), L(handle), L(out[3]), 0);
	handle->bytes = 128;
	KEEP(SYS_name_to_handle_at, AT_FDCWD, NAME("file"), L(handle), L(out[3]), 0);
	CALL(451, fd, L((uint64_t[]){0, 4096}), L(out[0]), 0);
	CALL(SYS_fcntl, fd, F_GETFL);
	memset(out, 0, sizeof out);
	KEEP(SYS_fcntl, fd, F_GETLK, L(out[0]));
	KEEP(SYS_fcntl, fd, 36, L(out[0]));
	CALL(SYS_fcntl, fd, 16, L(out[0]));
	CALL(SYS_fcntl, fd, 17, L(out[0]));
	CALL(SYS_fcntl, fd, 1035, L(out[0]));
	CALL(SYS_fcntl, fd, 1037, L(out[0]));
	CALL(SYS_ioctl, fd, 0x80086601, L(out[0])); /* FS_IOC_GETFLAGS */
	CALL(SYS_ioctl, fd, 0x80087601, L(out[0]));
	CALL(SYS_ioctl, fd, 0x801c581f, L(out[0]));
	CALL(SYS_ioctl, fd, 0x81009431, L(out[0]));
	CALL(SYS_ioctl, fd, 2, L(out[0])); /* FIGETBSZ */
	CALL(SYS_ioctl, fd, 0x5460, L(out[0]));
	CALL(SYS_ioctl, fd, FIONREAD, L(out[0]));
	memset(out, 0, sizeof out); /* FS_IOC_FIEMAP: all of the file, 4 extents */
	memset(out[0] + 8, 0xff, 8);
	out[0][24] = 4;
	KEEP(SYS_ioctl, fd, 0xc020660bL, L(out[0]));
	close(fd);
	close(dir);
	close(other);
}

static void pipes(void)
{
	int p[2], q[2];
	int64_t *offset = (int64_t *)(void *)out[3];
	int fd = make_file("spliced", "0123456789");
	struct iovec v[3];

	if (pipe(p) || pipe(q))
		exit(1);
	CALL(SYS_pipe, L(out[0]));
	CALL(SYS_pipe2, L(out[0]), O_CLOEXEC);
	CALL(SYS_pipe2, L(out[0]), -1);
	memset(out, 0xa5, sizeof out);
	*offset = 1;
	KEEP(SYS_splice, fd, L(offset), p[1], 0, 5, 0);
	CALL(SYS_tee, p[0], q[1], 5, 0);
	CALL(SYS_ioctl, p[0], FIONREAD, L(out[0]));
	set_vectors(v);
	KEEP(SYS_vmsplice, p[0], L(v), 3, 0);
	((struct pollfd *)(void *)out[0])[0] = (struct pollfd){p[1], POLLOUT, -1};
	((struct pollfd *)(void *)out[0])[1] = (struct pollfd){p[0], POLLIN, -1};
	KEEP(SYS_poll, L(out[0]), 2, 0);
	memcpy(out[1], &short_time, sizeof short_time);
	KEEP(SYS_ppoll, L(out[0]), 2, L(out[1]), 0, 8);
	((struct pollfd *)(void *)out[0])[0].fd = -1;
	alarm_in(2000);
	KEEP(SYS_poll, L(out[0]), 2, 1000);
	alarm_in(2000);
	memcpy(out[1], &long_time, sizeof long_time);
	KEEP(SYS_ppoll, L(out[0]), 2, L(out[1]), 0, 8);
	memset(out, 0, sizeof out);
	out[0][p[0] / 8] = (unsigned char)(1 << p[0] % 8);
	out[1][p[1] / 8] = (unsigned char)(1 << p[1] % 8);
	memcpy(out[3], &(struct timeval){0, 1000}, sizeof(struct timeval));
	KEEP(SYS_select, 70, L(out[0]), L(out[1]), L(out[2]), L(out[3]));
	memset(out, 0, sizeof out);
	memcpy(out[3], &long_time, sizeof long_time);
	out[0][p[0] / 8] = (unsigned char)(1 << p[0] % 8);
	out[1][p[1] / 8] = (unsigned char)(1 << p[1] % 8);
	KEEP(SYS_pselect6, 70, 0, L(out[1]), 0, L(out[4]), 0);
	memcpy(out[3], &long_time, sizeof long_time);
	alarm_in(2000);
	KEEP(SYS_pselect6, 70, L(out[0]), L(out[1]), L(out[2]), L(out[3]), 0);
	close(p[0]);
	close(p[1]);
	close(q[0]);
	close(q[1]);
	close(fd);
}

static void events(void)
{
	int ep = epoll_create1(0), p[2], timer = (int)syscall(SYS_timerfd_create, CLOCK_MONOTONIC, 0);
	struct epoll_event e = {.events = EPOLLOUT, .data.u64 = 0x1122334455667788};
	const struct itimerspec soon = {{0, 1000000}, {0, 1000000}}, never = {{0}, {0}};
	int event = (int)syscall(SYS_eventfd2, 5, 0);
	int watch = (int)syscall(SYS_inotify_init1, O_NONBLOCK);
	int *timer_id = (int *)(void *)out[0], id;

	if (pipe(p) || epoll_ctl(ep, EPOLL_CTL_ADD, p[1], &e))
		exit(1);
	CALL(SYS_epoll_wait, ep, L(out[0]), 4, 0);
	CALL(SYS_epoll_pwait, ep, L(out[0]), 4, 0, 0, 8);
	CALL(SYS_epoll_pwait2, ep, L(out[0]), 4, L(&no_time), 0, 8);
	CALL(SYS_timerfd_settime, timer, 0, L(&soon), L(out[0]));
	CALL(SYS_timerfd_gettime, timer, L(out[0]));
	CALL(SYS_read, timer, L(out[0]), 8);
	CALL(SYS_read, event, L(out[0]), 100);
	syscall(SYS_inotify_add_watch, watch, ".", 0x100);
	close(make_file("watched", ""));
	CALL(SYS_read, watch, L(out[0]), BUFFER);
	memset(out, 0xa5, sizeof out);
	if (!KEEP(SYS_timer_create, CLOCK_MONOTONIC, L(&(struct sigevent){.sigev_notify = SIGEV_NONE}),
		  L(out[0]))) {
		id = *timer_id;
		CALL(SYS_timer_settime, id, 0, L(&soon), L(out[0]));
		CALL(SYS_timer_gettime, id, L(out[0]));
		CALL(SYS_timer_settime, id, 0, L(&never), 0);
		CALL(SYS_timer_delete, id);
	}
	CALL(SYS_timer_create, 9999, 0, L(out[0]));
	close(ep);
	close(p[0]);
	close(p[1]);
	close(timer);
	close(event);
	close(watch);
}

static void times_and_ids(void)
{
	struct __attribute__((aligned(8))) {
		uint32_t version;
		int pid;
	} *caps = (void *)out[0];

	CALL(SYS_time, L(out[0]));
	CALL(SYS_gettimeofday, L(out[0]), L(out[1]));
	CALL(SYS_clock_gettime, CLOCK_REALTIME, L(out[0]));
	CALL(SYS_clock_gettime, 999, L(out[0]));
	CALL(SYS_clock_getres, CLOCK_REALTIME, L(out[0]));
	memset(out, 0, sizeof out);
	KEEP(SYS_adjtimex, L(out[0]));
	memset(out, 0, sizeof out);
	KEEP(SYS_clock_adjtime, CLOCK_REALTIME, L(out[0]));
	CALL(SYS_nanosleep, L(&short_time), L(out[0]));
	alarm_in(2000);
	CALL(SYS_nanosleep, L(&long_time), L(out[0]));
	alarm_in(2000);
	CALL(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, L(&long_time), L(out[0]));
	CALL(SYS_getitimer, ITIMER_REAL, L(out[0]));
	CALL(SYS_setitimer, ITIMER_REAL, 0, L(out[0]));
	CALL(SYS_times, L(out[0]));
	CALL(SYS_getrusage, RUSAGE_SELF, L(out[0]));
	CALL(SYS_getrlimit, RLIMIT_NOFILE, L(out[0]));
	CALL(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, L(out[0]));
	CALL(SYS_sysinfo, L(out[0]));
	CALL(SYS_uname, L(out[0]));
	CALL(SYS_getresuid, L(out[0]), L(out[1]), L(out[2]));
	CALL(SYS_getresuid, L(out[0]), L(out[1]), L(edge + 16));
	CALL(SYS_getresgid, L(out[0]), L(out[1]), L(out[2]));
	CALL(SYS_getgroups, 100, L(out[0]));
	CALL(SYS_getcpu, L(out[0]), L(out[1]));
	memset(out, 0xa5, sizeof out);
	caps->version = 0x20080522;
	caps->pid = 0;
	KEEP(SYS_capget, L(out[0]), L(out[1]));
	KEEP(SYS_capset, L(out[0]), L(out[1]));
	caps->version = 1;
	KEEP(SYS_capget, L(out[0]), L(out[1]));
	caps->version = 1;
	KEEP(SYS_capset, L(out[0]), L(out[1]));
	CALL(SYS_sched_getaffinity, 0, 128, L(out[0]));
	CALL(SYS_sched_getparam, 0, L(out[0]));
	CALL(SYS_sched_getattr, 0, L(out[0]), 100, 0);
	CALL(SYS_sched_setattr, 0, L(out[0]), 0); /* its size is wrong */
	CALL(SYS_perf_event_open, L(out[0]), 0, -1, -1, 0);
	memset(out, 0, sizeof out);
	*(uint32_t *)(void *)out[0] = 4000;
	out[0][1000] = 1;
	KEEP(SYS_sched_setattr, 0, L(out[0]), 0);
	CALL(SYS_sched_rr_get_interval, 0, L(out[0]));
	CALL(SYS_get_robust_list, 0, L(out[0]), L(out[1]));
	CALL(SYS_get_mempolicy, L(out[0]), L(out[1]), 1024, 0, 0);
	CALL(SYS_mincore, L(out), sizeof out, L(out[0]));
	CALL(SYS_move_pages, 0, 2, L((void *[]){out[0], (void *)16}), 0, L(out[1]), 0);
	CALL(SYS_getrandom, L(out[0]), 33, 0);
	CALL(SYS_getrandom, L(edge), 33, 0);
	CALL(SYS_sysfs, 2, 0, L(out[0]));
	CALL(SYS_syslog, 3, L(out[0]), 100);
	CALL(SYS_modify_ldt, 0, L(out[0]), 100);
	CALL(SYS_modify_ldt, 2, L(out[0]), 100);
	CALL(SYS_seccomp, 3, 0, L(out[0]));
	CALL(SYS_prctl, PR_GET_NAME, L(out[0]));
	CALL(SYS_prctl, PR_GET_PDEATHSIG, L(out[0]));
	CALL(SYS_prctl, PR_GET_TSC, L(out[0]));
	CALL(SYS_prctl, PR_GET_CHILD_SUBREAPER, L(out[0]));
	CALL(SYS_prctl, PR_GET_TID_ADDRESS, L(out[0]));
	CALL(SYS_prctl, 0x41555856, L(out[0]), 40, 0, 0);
	CALL(SYS_prctl, 62, 0, 0, 0, L(out[0])); /* PR_SCHED_CORE_GET */
	CALL(SYS_prctl, PR_SET_MM, 15, L(out[0]), 0, 0);
	for (long op = 0x1003; op <= 0x1004; op++)
		CALL(SYS_arch_prctl, op, L(out[0]));
	for (long op = 0x1021; op <= 0x1024; op++)
		if (op != 0x1023)
			CALL(SYS_arch_prctl, op, L(out[0]));
	CALL(SYS_arch_prctl, 0x4001, L(out[0]));
	CALL(SYS_arch_prctl, 0x4003, L(out[0]));
	CALL(SYS_arch_prctl, 0x5005, L(out[0]));
	memset(out, 0, sizeof out);
	*(uint64_t *)(void *)(out[0] + 0) = 4000ull << 32; /* perf_event_attr.size */
	KEEP(SYS_perf_event_open, L(out[0]), 0, -1, -1, 0);
	CALL(SYS_keyctl, 6, -3, L(out[0]), 100); /* the session's keyring */
	CALL(SYS_keyctl, 11, -3, L(out[0]), 100);
	CALL(SYS_keyctl, 17, -3, L(out[0]), 100);
	CALL(SYS_keyctl, 31, L(out[0]), 10);
	memset(out, 0xa5, sizeof out);
	*(uint32_t *)(void *)out[1] = 256;
	KEEP(461, L(out[0]), L(out[1]), 0); /* lsm_list_modules */
	*(uint32_t *)(void *)out[1] = 2;
	KEEP(459, 100, L(out[0]), L(out[1]), 0); /* lsm_get_self_attr */
	memset(out, 0, sizeof out); /* listmount, statmount of the root */
	*(uint32_t *)(void *)out[1] = 24;
	memset(out[1] + 8, 0xff, 8);
	KEEP(458, L(out[1]), L(out[0]), 16, 0);
	memcpy(out[1] + 8, out[0], 8);
	out[1][16] = 0x3f;
	KEEP(457, L(out[1]), L(out[2]), BUFFER, 0);
	KEEP(457, L(out[1]), L(out[2]), 8, 0);
	CALL(SYS_quotactl, 0x80000700L, NAME("/dev/none"), 0, L(out[0]));
	CALL(443, 0, 0x80000400L, 0, L(out[0]));
	CALL(SYS_lookup_dcookie, 1, L(out[0]), 100);
	CALL(SYS_restart_syscall);
}

static void signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CALL(SYS_rt_sigaction, SIGUSR2, 0, L(out[0]), 8);
	CALL(SYS_rt_sigprocmask, SIG_BLOCK, L(&set), L(out[0]), 8);
	raise(SIGUSR1);
	CALL(SYS_rt_sigpending, L(out[0]), 8);
	CALL(SYS_rt_sigtimedwait, L(&set), L(out[0]), L(&no_time), 8);
	CALL(SYS_rt_sigtimedwait, L(&set), L(out[0]), L(&no_time), 8);
	raise(SIGUSR1);
	CALL(SYS_read, syscall(SYS_signalfd4, -1, &set, 8, 0), L(out[0]), 128);
	CALL(SYS_sigaltstack, 0, L(out[0]));
	alarm_in(2000);
	CALL(SYS_rt_sigsuspend, L(&(uint64_t){0}), 8);
	alarm_in(2000);
	CALL(SYS_pause);
}

static void ask_of_stream(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CALL(SYS_ioctl, fd, 0x8903, L(out[0])); /* FIOGETOWN */
	CALL(SYS_ioctl, fd, 0x894b, L(out[0])); /* SIOCOUTQNSD */
	close(fd);
}

/* With ids of the child in out[0] and out[1]. */
static void make_by_clone3(void)
{
	uint64_t in[8] = {0x1000 | 0x100000, (uintptr_t)out[0], 0, (uintptr_t)out[1], SIGCHLD};
	long pid = CALL(435, L(in), sizeof in);

	if (!pid)
		syscall(SYS_exit_group, 0);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, 0);
}

static void children(void)
{
	pid_t pid = (pid_t)syscall(SYS_fork);

	if (!pid)
		syscall(SYS_exit_group, 3);
	CALL(SYS_waitid, P_PID, pid, L(out[0]), WEXITED | WNOWAIT, L(out[1]));
	CALL(SYS_wait4, pid, L(out[0]), 0, L(out[1]));
	CALL(SYS_wait4, -1, L(out[0]), 0, L(out[1]));
	CALL(SYS_waitid, P_ALL, 0, L(out[0]), WEXITED, L(out[1]));
	pid = (pid_t)syscall(SYS_fork);
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		syscall(SYS_exit_group, 0);
	}
	waitpid(pid, NULL, WUNTRACED);
	CALL(SYS_ptrace, PTRACE_PEEKDATA, pid, L(out[0]), L(out[1]));
	CALL(SYS_ptrace, 1, pid, L(out[0]), L(out[1]));
	CALL(SYS_ptrace, 3, pid, 0, L(out[1]));
	CALL(SYS_ptrace, PTRACE_GETREGS, pid, 0, L(out[1]));
	CALL(SYS_ptrace, PTRACE_GETFPREGS, pid, 0, L(out[1]));
	CALL(SYS_ptrace, PTRACE_GETSIGINFO, pid, 0, L(out[1]));
	CALL(SYS_ptrace, PTRACE_GETEVENTMSG, pid, 0, L(out[1]));
	CALL(SYS_ptrace, PTRACE_GETSIGMASK, pid, 8, L(out[1]));
	CALL(SYS_ptrace, 0x420e, pid, 24, L(out[1]));
	CALL(SYS_ptrace, 0x420f, pid, 24, L(out[1]));
	CALL(SYS_ptrace, 0x4211, pid, 32, L(out[1]));
	CALL(SYS_ptrace, 0x420d, pid, 16, L(out[1]));
	CALL(SYS_ptrace, 25, pid, 12, L(out[1])); /* PTRACE_GET_THREAD_AREA */
	CALL(SYS_ptrace, 30, pid, L(out[1]), 0x1003);
	memset(out, 0xa5, sizeof out);
	*(struct iovec *)(void *)out[2] = (struct iovec){out[0], 100};
	KEEP(SYS_ptrace, 0x4204, pid, 1, L(out[2])); /* NT_PRSTATUS */
	*(struct iovec *)(void *)out[2] = (struct iovec){out[0], BUFFER};
	KEEP(SYS_ptrace, 0x4204, pid, 0x202, L(out[2])); /* NT_X86_XSTATE */
	make_by_clone3();
	struct iovec here[2] = {{out[0], 10}, {out[1], 20}}, there = {out[3], 15};

	memset(out, 0x11, sizeof out);
	KEEP(SYS_process_vm_readv, pid, L(here), 2, L(&there), 1, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void queues(void)
{
	struct {
		long type;
		char text[20];
	} m = {1, "a message"};
	long id = syscall(SYS_msgget, IPC_PRIVATE, 0600), n;

	syscall(SYS_msgsnd, id, &m, 9, 0);
	CALL(SYS_msgctl, id, 2, L(out[0]));
	CALL(SYS_msgctl, 0, 3, L(out[0]));
	CALL(SYS_msgctl, id & 0x7fff, 11, L(out[0])); /* by index */
	CALL(SYS_msgctl, 0, 12, L(out[0]));
	CALL(SYS_msgctl, id & 0x7fff, 13, L(out[0]));
	CALL(SYS_msgrcv, id, L(out[0]), 4, 0, 0);
	CALL(SYS_msgrcv, id, L(out[0]), 100, 0, 0);
	CALL(SYS_msgrcv, id, L(out[0]), 100, 0, IPC_NOWAIT);
	CALL(SYS_msgctl, id, IPC_RMID, 0);
	id = syscall(SYS_semget, IPC_PRIVATE, 5, 0600);
	for (n = 0; n <= 20; n++)
		if (n == 2 || n == 3 || (n > 10 && n != 16 && n != 17))
			CALL(SYS_semctl, n >= 18 ? id & 0x7fff : id, 0, n, L(out[0]));
	CALL(SYS_semctl, id, 0, IPC_RMID, 0);
	id = syscall(SYS_shmget, IPC_PRIVATE, 4096, 0600);
	CALL(SYS_shmctl, id, 2, L(out[0]));
	for (n = 3; n <= 15; n++)
		if (n == 3 || n > 12)
			CALL(SYS_shmctl, n == 3 ? 0 : id & 0x7fff, n, L(out[0]));
	CALL(SYS_shmctl, id, IPC_RMID, 0);
	n = syscall(SYS_mq_open, "every_call", O_RDWR | O_CREAT, 0600, 0);
	if (n >= 0) {
		CALL(SYS_mq_getsetattr, n, 0, L(out[0]));
		syscall(SYS_mq_timedsend, n, "abc", 3, 7, 0);
		memset(out, 0xa5, sizeof out);
		unsigned char *large = malloc(1 << 16);
		memset(large, 0xa5, 1 << 16);
		KEEP(SYS_mq_timedreceive, n, L(large), 1 << 16, L(out[1]), 0);
		free(large);
		syscall(SYS_mq_unlink, "every_call");
		syscall(SYS_close, n);
	}
}

/* A message of three vectors, with a name and control data, in out[3] to out[5]. */
static struct mmsghdr *set_message(unsigned i, struct iovec *v)
{
	struct mmsghdr *m = (struct mmsghdr *)(void *)out[3] + i;

	memset(m, 0xa5, sizeof *m);
	m->msg_hdr = (struct msghdr){.msg_name = out[4] + 200 * i,
				     .msg_namelen = 100,
				     .msg_iov = v,
				     .msg_iovlen = 3,
				     .msg_control = out[5] + 200 * i,
				     .msg_controllen = 100};
	return m;
}

static void sockets(void)
{
	const struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in there, here;
	socklen_t n = sizeof there;
	struct iovec v[3];
	struct msghdr sent = {.msg_iov = &(struct iovec){(void *)(uintptr_t) "0123456789", 10}, .msg_iovlen = 1};
	int u[2], udp = socket(AF_INET, SOCK_DGRAM, 0), tcp = socket(AF_INET, SOCK_STREAM, 0), client;
	uint32_t *length = (uint32_t *)(void *)out[1];
	struct ifreq *interface = (struct ifreq *)(void *)out[0];
	struct ifconf *list = (struct ifconf *)(void *)out[1];

	CALL(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, L(out[0]));
	CALL(SYS_socketpair, AF_INET, SOCK_STREAM, 0, L(out[0]));
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, u) || bind(udp, (const void *)&any, sizeof any) ||
	    getsockname(udp, (void *)&there, &n))
		exit(1);
	here = there;
	setsockopt(udp, SOL_SOCKET, SO_TIMESTAMP, &(int){1}, sizeof(int));
	for (int i = 0; i < 5; i++)
		sendto(udp, "a message of some length", 24, 0, (void *)&there, sizeof there);
	memset(out, 0xa5, sizeof out);
	*length = 100;
	KEEP(SYS_recvfrom, udp, L(out[0]), 10, MSG_PEEK | MSG_TRUNC, L(out[2]), L(length));
	*length = 4;
	KEEP(SYS_recvfrom, udp, L(out[0]), 100, 0, L(out[2]), L(length));
	set_vectors(v);
	KEEP(SYS_recvmsg, udp, L(set_message(0, v)), 0);
	set_vectors(v);
	v[2].iov_len = 3;
	set_message(0, v);
	set_message(1, v);
	set_message(2, v);
	memcpy(out[0] + 2048, &short_time, sizeof short_time);
	KEEP(SYS_recvmmsg, udp, L(out[3]), 3, MSG_WAITFORONE, L(out[0] + 2048));
	CALL(SYS_recvfrom, udp, L(out[0]), 100, MSG_DONTWAIT, 0, 0);
	memset(out, 0xa5, sizeof out);
	for (unsigned i = 0; i < 2; i++)
		((struct mmsghdr *)(void *)out[0])[i].msg_hdr = sent;
	KEEP(SYS_sendmmsg, u[0], L(out[0]), 2, 0);
	CALL(SYS_read, u[1], L(out[0]), 100);
	*length = 100;
	KEEP(SYS_getsockname, udp, L(out[0]), L(length));
	*length = 3;
	KEEP(SYS_getsockname, udp, L(out[0]), L(length));
	*length = 100;
	KEEP(SYS_getpeername, udp, L(out[0]), L(length));
	listen(tcp, 4);
	n = sizeof there;
	getsockname(tcp, (void *)&there, &n);
	for (int i = 0; i < 2; i++) {
		client = socket(AF_INET, SOCK_STREAM, 0);
		there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		if (connect(client, (void *)&there, sizeof there))
			exit(1);
		memset(out, 0xa5, sizeof out);
		*length = 100;
		KEEP(i ? SYS_accept : SYS_accept4, tcp, L(out[0]), L(length), 0);
	}
	*length = 100;
	KEEP(SYS_getpeername, client, L(out[0]), L(length));
	for (int level = 0; level < 7; level += level ? 5 : 1)
		for (int option = 1; option < 75; option++) {
			if (level == 6 && (option == 35 || option == 41)) /* TCP_ZEROCOPY_RECEIVE, TCP_AO_GET_KEYS */
				continue;
			memset(out, 0, sizeof out);
			*length = option % 2 ? 64 : 4;
			KEEP(SYS_getsockopt, client, level, option, L(out[0]), L(length));
		}
	memset(out, 0xa5, sizeof out);
	memset(interface, 0, sizeof *interface);
	strcpy(interface->ifr_name, "lo");
	for (int request = 0x8910; request < 0x8971; request++)
		if (request == 0x8913 || request == 0x8915 || request == 0x8917 ||
		    request == 0x8919 || request == 0x891b || request == 0x891d ||
		    request == 0x8921 || request == 0x8927 || request == 0x8933 ||
		    request == 0x8942 || request == 0x8970)
			KEEP(SYS_ioctl, udp, request, L(interface));
	interface->ifr_ifindex = 1;
	KEEP(SYS_ioctl, udp, 0x8910, L(interface));
	*list = (struct ifconf){.ifc_len = 200, .ifc_buf = (char *)out[2]};
	KEEP(SYS_ioctl, udp, 0x8912, L(list));
	CALL(SYS_ioctl, client, 0x8905, L(out[0]));
	CALL(SYS_ioctl, client, 0x8904, L(out[0]));
	setsockopt(udp, SOL_SOCKET, SO_TIMESTAMP, &(int){0}, sizeof(int));
	for (int i = 0; i < 2; i++) {
		sendto(udp, "stamped", 7, 0, (void *)&here, sizeof here);
		recv(udp, out[0], 100, 0);
		CALL(SYS_ioctl, udp, 0x80108906L, L(out[0]));
		CALL(SYS_ioctl, udp, 0x80108907L, L(out[0]));
	}
	CALL(SYS_ioctl, udp, 0x8906, L(out[0]));
	CALL(SYS_ioctl, udp, 0x8907, L(out[0]));
	CALL(SYS_ioctl, client, TIOCOUTQ, L(out[0]));
}

static void terminals(void)
{
	static const unsigned asks[] = {0x5401, 0x5405, 0x540f, 0x5411, 0x5413, 0x5415,
					0x5419, 0x541b, 0x541e, 0x5424, 0x5429, 0x802c542a,
					0x80045430, 0x80045438, 0x80045439, 0x80045440, 0x5456,
					0x80045432, 0x545d};
	int random_device = open("/dev/urandom", O_RDONLY), disk = open("/dev/vda", O_RDONLY),
	    loop = open("/dev/loop0", O_RDONLY), rtc = open("/dev/rtc0", O_RDONLY),
	    tun = open("/dev/net/tun", O_RDWR);
	static const unsigned of_disks[] = {0x125e, 0x1260, 0x1263, 0x1265, 0x1267, 0x1268,
					    0x80081270, 0x80081272, 0x1278, 0x1279, 0x127a,
					    0x127b, 0x127c, 0x127e, 0x80081280, 0x301};
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave;

	grantpt(master);
	unlockpt(master);
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	for (unsigned i = 0; i < sizeof asks / sizeof *asks; i++) {
		CALL(SYS_ioctl, slave, asks[i], L(out[0]));
		CALL(SYS_ioctl, master, asks[i], L(out[0]));
		CALL(SYS_ioctl, random_device, asks[i], L(out[0]));
	}
	CALL(SYS_ioctl, random_device, 0x80045200L, L(out[0]));
	for (unsigned i = 0; i < sizeof of_disks / sizeof *of_disks; i++) {
		CALL(SYS_ioctl, disk, of_disks[i], L(out[0]));
		CALL(SYS_ioctl, loop, of_disks[i], L(out[0]));
	}
	CALL(SYS_ioctl, loop, 0x4c03, L(out[0]));
	CALL(SYS_ioctl, loop, 0x4c05, L(out[0]));
	CALL(SYS_ioctl, rtc, 0x80247008L, L(out[0]));
	CALL(SYS_ioctl, rtc, 0x80247009L, L(out[0]));
	CALL(SYS_ioctl, rtc, 0x80287010L, L(out[0]));
	CALL(SYS_ioctl, rtc, 0x8008700bL, L(out[0]));
	CALL(SYS_ioctl, tun, 0x800454cfL, L(out[0]));
	CALL(SYS_ioctl, tun, 0x800454d2L, L(out[0]));
	CALL(SYS_ioctl, open("/proc/self/ns/user", O_RDONLY), 0xb704, L(out[0]));
	CALL(SYS_ioctl, open("/proc/self/ns/user", O_RDONLY), 0xb703, 0);
}

/* The first console, which is asked only: its fonts, maps, keys, modes. */
static void consoles(void)
{
	static const unsigned asks[] = {0x4b31, 0x4b33, 0x4b3b, 0x4b40, 0x4b44, 0x4b46, 0x4b48, 0x4b4a,
					0x4bfa, 0x4b4c, 0x4b62, 0x4b64, 0x4b69, 0x4b70, 0x5600, 0x5601,
					0x5603, 0x560d};
	int console = open("/dev/tty0", O_RDONLY | O_NOCTTY);
	const struct {
		uint16_t count;
		void *entries;
	} map = {BUFFER / 4, out[1]};

	for (unsigned i = 0; i < sizeof asks / sizeof *asks; i++) {
		memset(out, 0, sizeof out);
		KEEP(SYS_ioctl, console, asks[i], L(out[0]));
	}
	memcpy(out[0], &map, sizeof map);
	KEEP(SYS_ioctl, console, 0x4b66, L(out[0])); /* GIO_UNIMAP */
	memset(out, 6, sizeof out);
	KEEP(SYS_ioctl, console, 0x541c, L(out[0])); /* TIOCLINUX, TIOCL_GETSHIFTSTATE */
}

/* Answers that lie where the structure says. */
static void requests_that_point(void)
{
	/* PAGEMAP_SCAN: size, flags, start, end, where it ended, answers, their number; masks. */
	const uint64_t scan[12] = {96, 0, L(out), L(out[5]), 0, L(out[1]), 8, 0, 0, 0, 8, 8};
	/* PROCMAP_QUERY: size, flags, address; what was found; lengths and places of a name and an id */
	const uint64_t query[13] = {104, 0, L(&make_file), 0, 0, 0, 0, 0, 0, 0,
				    256 | (uint64_t)20 << 32, L(out[1]), L(out[2])};

	memcpy(out[0], scan, sizeof scan);
	KEEP(SYS_ioctl, open("/proc/self/pagemap", O_RDONLY), 0xc0606610L, L(out[0]));
	memcpy(out[0], query, sizeof query);
	KEEP(SYS_ioctl, open("/proc/self/maps", O_RDONLY), 0xc0686611L, L(out[0]));
	CALL(SYS_ioctl, open("/dev/vsock", O_RDONLY), 0x7b9, L(out[0]));
}

/* Futexes whose node the kernel fills in (FUTEX2_NUMA, Linux 6.16). */
static void make_node_calls(uint32_t *word)
{
	enum { FLAGS = 0x2 | 0x4 | 0x80 }; /* FUTEX2_SIZE_U32, FUTEX2_NUMA, FUTEX2_PRIVATE */
	const struct {
		uint64_t value;
		uint32_t *futex;
		uint32_t flags, reserved;
	} waited[] = {{5, word, FLAGS, 0}, {5, word + 2, FLAGS, 0}};
	static const struct timespec soon = {.tv_nsec = 1000};

	for (int nr = 0; nr < 4; nr++) {
		word[0] = word[2] = 0;
		word[1] = word[3] = UINT32_MAX;
		switch (nr) {
		case 0:
			KEEP(454, L(word), UINT32_MAX, 1, FLAGS); /* futex_wake */
			break;
		case 1:
			KEEP(455, L(word), 1, UINT32_MAX, FLAGS, L(&soon), 1); /* futex_wait */
			break;
		case 2:
			KEEP(456, L(waited), 0, 1, 0); /* futex_requeue */
			break;
		default:
			KEEP(449, L(waited), 2, 0, L(&soon), 1); /* futex_waitv */
		}
	}
	word[0] = 0;
}

static void futexes_and_aio(void)
{
	uint32_t *word = (uint32_t *)(void *)out[0];
	static const uint8_t bpf_commands[] = {0,  2,  3,  6,  7,  8,  9,  11, 12, 13, 14, 19,
					       22, 23, 28, 29, 30, 31, 32, 33, 34, 35, 36};
	/* with a key, which the kernel writes over */
	static struct iocb block = {
		.aio_key = 0x5a5a5a5a, .aio_lio_opcode = IOCB_CMD_PWRITE, .aio_nbytes = 8};
	unsigned long context;

	memset(out, 0, sizeof out);
	KEEP(SYS_futex, L(word), 6, 0, 0); /* FUTEX_LOCK_PI */
	KEEP(SYS_futex, L(word), 7, 0, 0);
	KEEP(SYS_futex, L(word), 8, 0, 0);
	KEEP(SYS_futex, L(word), 7, 0, 0);
	KEEP(SYS_futex, L(word), 13, 0, 0);
	KEEP(SYS_futex, L(word), 5, 1, 1, L(word + 1), 0x01000001); /* FUTEX_WAKE_OP: adds 1 */
	KEEP(SYS_futex, L(word), 0, 5, 0);
	make_node_calls(word);
	CALL(SYS_io_setup, 4, L(out[0]));
	memset(out, 0, sizeof out);
	if (!KEEP(SYS_io_setup, 4, L(out[0]))) {
		memcpy(&context, out[0], sizeof context);
		CALL(SYS_io_getevents, context, 0, 4, L(out[0]), L(&no_time));
		CALL(SYS_io_pgetevents, context, 0, 4, L(out[0]), L(&no_time), 0);
		block.aio_fildes = (uint32_t)make_file("submitted", "");
		block.aio_buf = (uintptr_t)out[2];
		memcpy(out[0], &(void *){&block}, sizeof(void *));
		KEEP(SYS_io_submit, context, 1, L(out[0]));
		CALL(SYS_io_cancel, context, L(out[0]), L(out[1]));
		CALL(SYS_io_destroy, context);
	}
	memset(out, 0, sizeof out);
	KEEP(425, 4, L(out[0]));
	memset(out, 0, sizeof out);
	KEEP(SYS_bpf, 11, L(out[0]), 12);
	for (size_t i = 0; i < sizeof bpf_commands; i++)
		CALL(SYS_bpf, bpf_commands[i], L(out[0]), 128);
}

int main(void)
{
	struct sigaction action = {.sa_handler = on_alarm};

	sigaction(SIGALRM, &action, NULL);
	sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	edge = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (edge == MAP_FAILED || munmap(edge + 4096, 4096))
		return 1;
	edge += 4096 - 16;
	files();
	pipes();
	events();
	times_and_ids();
	signals();
	children();
	queues();
	sockets();
	ask_of_stream();
	terminals();
	consoles();
	requests_that_point();
	futexes_and_aio();
	return 0;
}
