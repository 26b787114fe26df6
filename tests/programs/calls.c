/* SPDX-License-Identifier: MIT */
/* System calls that cannot block, each once or more, with what they gave: the same natively and recorded, in whatever order they run. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static unsigned long sum(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	unsigned long s = n;

	while (n--)
		s = s * 131 + *p++;
	return s;
}

/* What a call gave, where that is the same each time. */
static void say(const char *what, long result)
{
	printf("%s %ld%s%s\n", what, result, result < 0 ? " " : "", result < 0 ? strerrorname_np(errno) : "");
}

/* Only whether it worked. */
static void worked(const char *what, long result)
{
	say(what, result < 0 ? result : 0);
}

static void by_number(void)
{
	uint64_t words[128] = {0};
	struct timespec ts;
	char name[256] = "";
	int group[256];

	worked("getpid", syscall(SYS_getpid));
	worked("gettid", syscall(SYS_gettid));
	worked("getppid", syscall(SYS_getppid));
	say("getuid", syscall(SYS_getuid));
	say("geteuid", syscall(SYS_geteuid));
	say("getgid", syscall(SYS_getgid));
	say("getegid", syscall(SYS_getegid));
	say("getresuid", syscall(SYS_getresuid, words, words + 1, words + 2));
	say("getresgid", syscall(SYS_getresgid, words, words + 1, words + 2));
	say("getgroups", syscall(SYS_getgroups, 256, group));
	worked("getpgrp", syscall(SYS_getpgrp));
	worked("getpgid", syscall(SYS_getpgid, 0));
	worked("getsid", syscall(SYS_getsid, 0));
	say("getpriority", syscall(SYS_getpriority, PRIO_PROCESS, 0));
	say("ioprio_get", syscall(SYS_ioprio_get, 1, 0));
	say("sched_getscheduler", syscall(SYS_sched_getscheduler, 0));
	say("sched_get_priority_max", syscall(SYS_sched_get_priority_max, SCHED_FIFO));
	say("sched_get_priority_min", syscall(SYS_sched_get_priority_min, SCHED_FIFO));
	say("sched_getparam", syscall(SYS_sched_getparam, 0, words));
	say("sched_getaffinity", syscall(SYS_sched_getaffinity, 0, sizeof words, words));
	worked("getcpu", syscall(SYS_getcpu, words, words + 1, NULL));
	worked("getrusage", syscall(SYS_getrusage, RUSAGE_SELF, words));
	worked("times", syscall(SYS_times, words));
	worked("time", syscall(SYS_time, words));
	worked("gettimeofday", syscall(SYS_gettimeofday, words, NULL));
	worked("clock_gettime", syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts));
	say("clock_gettime", syscall(SYS_clock_gettime, 77, &ts));
	say("clock_getres", syscall(SYS_clock_getres, CLOCK_MONOTONIC, &ts));
	say("clock_getres ns", ts.tv_nsec);
	say("getitimer", syscall(SYS_getitimer, ITIMER_REAL, words));
	worked("uname", syscall(SYS_uname, words));
	printf("uname %lu\n", sum(words, sizeof(struct utsname)));
	worked("sysinfo", syscall(SYS_sysinfo, words));
	worked("getcwd", syscall(SYS_getcwd, name, sizeof name));
	printf("getcwd %s\n", name);
	say("getrandom", syscall(SYS_getrandom, words, 40, 0));
	say("umask", syscall(SYS_umask, 027));
	say("umask", syscall(SYS_umask, 022));
	say("futex wake", syscall(SYS_futex, words, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
	say("futex wake bitset", syscall(SYS_futex, words, FUTEX_WAKE_BITSET, 1, NULL, NULL, ~0u));
	say("futex wait", syscall(SYS_futex, words, FUTEX_WAIT, ~0u, NULL, NULL, 0));
}

static void by_path(const char *path)
{
	struct statx stx = {0};
	struct stat st = {0};
	char link[64] = "";

	say("stat", syscall(SYS_stat, path, &st));
	say("size", st.st_size);
	say("lstat", syscall(SYS_lstat, "/dev/stdin", &st));
	say("is link", S_ISLNK(st.st_mode));
	say("newfstatat", syscall(SYS_newfstatat, AT_FDCWD, path, &st, 0));
	say("size", st.st_size);
	say("statx", syscall(SYS_statx, AT_FDCWD, path, 0, STATX_SIZE, &stx));
	say("size", (long)stx.stx_size);
	say("stat of nothing", syscall(SYS_stat, "/nonexistent", &st));
	say("readlink", syscall(SYS_readlink, "/dev/stdin", link, sizeof link));
	say("readlinkat", syscall(SYS_readlinkat, AT_FDCWD, "/dev/stdin", link, sizeof link));
	printf("link %s\n", link);
	say("access", syscall(SYS_access, path, R_OK));
	say("faccessat", syscall(SYS_faccessat, AT_FDCWD, path, X_OK));
	say("faccessat2", syscall(SYS_faccessat2, AT_FDCWD, "/nonexistent/x", F_OK, 0));
}

static void by_descriptor(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), again;
	char a[100], b[100];
	struct iovec v[2] = {{a, 50}, {b, 100}};
	struct termios term;
	struct winsize size;
	struct statfs fs;
	struct stat st;

	memset(a, 'a', sizeof a);
	memset(b, 'b', sizeof b);
	say("write", syscall(SYS_write, fd, a, 100));
	say("writev", syscall(SYS_writev, fd, v, 2));
	say("pwrite64", syscall(SYS_pwrite64, fd, "hello", 5, 120));
	say("pwritev", syscall(SYS_pwritev, fd, v, 1, 7, 0));
	say("pwritev2", syscall(SYS_pwritev2, fd, v, 2, 300, 0, 0));
	say("lseek", syscall(SYS_lseek, fd, 90, SEEK_SET));
	say("read", syscall(SYS_read, fd, a, 50));
	printf("read %lu\n", sum(a, 50));
	say("readv", syscall(SYS_readv, fd, v, 2));
	say("pread64", syscall(SYS_pread64, fd, a, 50, 100));
	say("preadv", syscall(SYS_preadv, fd, v, 2, 10, 0));
	say("preadv2", syscall(SYS_preadv2, fd, v, 2, 20, 0, 0));
	printf("read %lu %lu\n", sum(a, 50), sum(b, 100));
	say("fstat", syscall(SYS_fstat, fd, &st));
	say("size", st.st_size);
	say("ftruncate", syscall(SYS_ftruncate, fd, 11));
	say("lseek", syscall(SYS_lseek, fd, 0, SEEK_END));
	say("fadvise64", syscall(SYS_fadvise64, fd, 0, 0, POSIX_FADV_SEQUENTIAL));
	say("readahead", syscall(SYS_readahead, fd, 0, 10));
	say("fstatfs", syscall(SYS_fstatfs, fd, &fs));
	say("fchmod", syscall(SYS_fchmod, fd, 0640));
	say("fcntl getfl", syscall(SYS_fcntl, fd, F_GETFL));
	say("fcntl setfl", syscall(SYS_fcntl, fd, F_SETFL, O_APPEND));
	say("fcntl setfd", syscall(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC));
	say("fcntl getfd", syscall(SYS_fcntl, fd, F_GETFD));
	again = (int)syscall(SYS_fcntl, fd, F_DUPFD, 60);
	say("fcntl dupfd", again);
	say("fcntl cloexec", syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 60));
	say("dup", syscall(SYS_dup, fd));
	say("ioctl tcgets", syscall(SYS_ioctl, fd, TCGETS, &term));
	say("ioctl winsize", syscall(SYS_ioctl, fd, TIOCGWINSZ, &size));
	say("write appended", syscall(SYS_write, again, "more", 4));
	say("getdents of a file", syscall(SYS_getdents64, fd, a, 100));
	say("close", syscall(SYS_close, fd));
	say("close again", syscall(SYS_close, fd));
	say("read closed", syscall(SYS_read, fd, a, 1));
	say("read -1", syscall(SYS_read, -1, a, 1));
	say("read 5000", syscall(SYS_read, 5000, a, 1));
	unlink(path);
}

static void of_devices(void)
{
	static const char *const paths[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/urandom", "/"};
	char bytes[4096];

	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
		int fd = open(paths[i], i == 4 ? O_RDONLY | O_DIRECTORY : O_RDWR);

		printf("%s\n", paths[i]);
		say("read", syscall(SYS_read, fd, bytes, 100));
		if (i != 3)
			say("write", syscall(SYS_write, fd, bytes, 100));
		say("lseek", syscall(SYS_lseek, fd, 0, SEEK_SET));
		worked("getdents", syscall(SYS_getdents, fd, bytes, sizeof bytes));
		syscall(SYS_lseek, fd, 0, SEEK_SET);
		worked("getdents64", syscall(SYS_getdents64, fd, bytes, sizeof bytes));
		say("ioctl", syscall(SYS_ioctl, fd, TCGETS, bytes));
		say("close", syscall(SYS_close, fd));
	}
}

static void of_nowhere(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	void *bad = (void *)8;

	say("bad write", syscall(SYS_write, fd, bad, 5));
	say("good write", syscall(SYS_write, fd, "12345", 5));
	say("bad read", syscall(SYS_pread64, fd, bad, 5, 0));
	say("bad fstat", syscall(SYS_fstat, fd, bad));
	say("bad writev", syscall(SYS_writev, fd, bad, 2));
	say("bad uname", syscall(SYS_uname, bad));
	say("bad clock_gettime", syscall(SYS_clock_gettime, CLOCK_REALTIME, bad));
	say("bad getcwd", syscall(SYS_getcwd, bad, 100));
	say("bad stat path", syscall(SYS_stat, bad, bad));
	say("bad getrandom", syscall(SYS_getrandom, bad, 10, 0));
	say("kernel address", syscall(SYS_uname, (void *)0xffff888000000000));
	say("close", syscall(SYS_close, fd));
	say("no such call", syscall(511));
	say("no such call", syscall(100000));
	say("negative", syscall(-5));
	say("garbage above", syscall(0x100000000 | SYS_getuid));
	unlink(path);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOFBF, 1 << 16); /* no call of its own until the end */
	by_number();
	by_path(argv[0]);
	by_descriptor(argc > 1 ? argv[1] : "calls.file");
	of_devices();
	of_nowhere(argc > 1 ? argv[1] : "calls.file");
	return 0;
}
