/* SPDX-License-Identifier: MIT */
/* System calls that do not block here, each once or more, with what they gave: the same natively and recorded, in whatever order they
 * run. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
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

/* eax = value; ret, at the beginning of some pages, and called. */
static int call_made(uint8_t *pages, uint32_t value)
{
	pages[0] = 0xb8;
	memcpy(pages + 1, &value, sizeof value);
	pages[5] = 0xc3;
	return ((int (*)(void))(uintptr_t)pages)();
}

/* With code and without. */
static void of_mappings(void)
{
	enum { PAGE = 4096, READ_WRITE = PROT_READ | PROT_WRITE };
	uint8_t *pages = mmap(NULL, 8 * PAGE, READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *moved, *shared, *end;
	int file;

	worked("mmap", pages == MAP_FAILED ? -1 : 0);
	memset(pages, 7, 8 * PAGE);
	say("madvise", madvise(pages, PAGE, MADV_DONTNEED));
	say("it is empty", pages[0] + pages[PAGE]);
	say("mprotect", mprotect(pages + PAGE, PAGE, PROT_READ));
	say("munmap", munmap(pages + 4 * PAGE, 4 * PAGE));
	moved = mremap(pages + 2 * PAGE, 2 * PAGE, 64 * PAGE, MREMAP_MAYMOVE);
	worked("mremap", moved == MAP_FAILED ? -1 : 0);
	say("it was moved", moved[0] + moved[2 * PAGE]);
	worked("mmap, fixed", mmap(pages, PAGE, READ_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ? -1 : 0);
	say("code", call_made(pages, 3));
	say("munmap", munmap(pages, PAGE));
	worked("mmap, where code was", mmap(pages, PAGE, READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ? -1 : 0);
	say("mprotect", mprotect(pages, PAGE, READ_WRITE | PROT_EXEC));
	say("code again", call_made(pages, 4));
	say("madvise", madvise(pages, PAGE, MADV_DONTNEED));
	say("code once more", call_made(pages, 5));
	say("mmap of nothing", (long)mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	say("mmap of no file", (long)mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, -1, 0));
	say("munmap, not aligned", munmap(pages + 1, PAGE));
	say("munmap, too long", munmap(pages, (size_t)-PAGE));
	say("mprotect of nothing", mprotect(moved - PAGE * 4096L, PAGE, PROT_READ));
	say("mremap of nothing", (long)mremap(moved + 64 * PAGE, 0, PAGE, MREMAP_MAYMOVE));
	say("madvise, later", madvise(moved, PAGE, MADV_FREE));
	say("madvise, unknown", madvise(moved, PAGE, 4711));
	file = open("/etc/passwd", O_RDONLY);
	shared = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, 0);
	worked("mmap of a file", shared == MAP_FAILED ? -1 : 0);
	say("what is in it", memcmp(shared, "root:", 5));
	say("mprotect of it", mprotect(shared, PAGE, READ_WRITE));
	close(file);
	worked("mmap, shared", mmap(shared, PAGE, READ_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ? -1 : 0);
	say("it is empty", shared[0]);
	end = sbrk(0);
	worked("brk", brk(end + 16 * PAGE));
	memset(end, 9, 16 * PAGE);
	worked("brk, back", brk(end + PAGE));
	say("what it kept", end[0]);
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
	memset(a, 0, sizeof a);
	say("fsetxattr", syscall(SYS_fsetxattr, fd, "user.calls", "value", 5, 0));
	say("fgetxattr", syscall(SYS_fgetxattr, fd, "user.calls", a, sizeof a));
	say("flistxattr", syscall(SYS_flistxattr, fd, a + 10, sizeof a - 10));
	printf("attributes %lu\n", sum(a, sizeof a));
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

/* Opened to be read, a file needs no stop; then it can be used as any other, and its number for another file. */
static void of_opened(const char *path)
{
	char bytes[100] = "";
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	say("write", syscall(SYS_write, fd, "of the file", 11));
	say("close", syscall(SYS_close, fd));
	for (int i = 0; i < 3; i++) {
		fd = (int)(i ? syscall(SYS_open, path, O_RDONLY) : syscall(SYS_openat, AT_FDCWD, path, O_RDONLY, 0));
		say("open", fd);
		say("write", syscall(SYS_write, fd, "no", 2));
		say("read", syscall(SYS_read, fd, bytes, sizeof bytes));
		say("read", syscall(SYS_read, fd, bytes, sizeof bytes));
		printf("%s\n", bytes);
		say("close", syscall(SYS_close, fd));
		say("open to write", fd = (int)syscall(SYS_open, path, O_WRONLY));
		say("write", syscall(SYS_write, fd, "written", 7));
		say("read", syscall(SYS_read, fd, bytes, sizeof bytes));
		say("close", syscall(SYS_close, fd));
	}
	say("open of nothing", syscall(SYS_open, "/nonexistent", O_RDONLY));
	say("openat of nothing", syscall(SYS_openat, -1, "nonexistent", O_RDONLY));
	say("openat of a bad address", syscall(SYS_openat, AT_FDCWD, 8, O_RDONLY));
	unlink(path);
}

static void of_devices(void)
{
	static const char *const paths[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/urandom", "/"};
	char bytes[4096];

	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
		int fd = open(paths[i], i == 4 ? O_RDONLY | O_DIRECTORY : O_RDWR);

		memset(bytes, 0, sizeof bytes); /* syscall() takes its last argument from there: nothing random, where it is made at a stop */
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

static void of_files(const char *path)
{
	char a[300], b[300];
	struct timespec times[2] = {{1, 2}, {3, 4}};
	char values[200];
	struct stat st;
	struct statfs fs;
	int fd;

	snprintf(a, sizeof a, "%s.a", path);
	snprintf(b, sizeof b, "%s.b", path);
	say("mkdir", syscall(SYS_mkdir, a, 0700));
	say("mkdir again", syscall(SYS_mkdir, a, 0700));
	say("chmod", syscall(SYS_chmod, a, 0750));
	say("utimensat", syscall(SYS_utimensat, AT_FDCWD, a, times, 0));
	say("stat", syscall(SYS_stat, a, &st));
	printf("%o %ld\n", st.st_mode, (long)st.st_mtime);
	say("statfs", syscall(SYS_statfs, a, &fs));
	memset(values, 0, sizeof values);
	say("setxattr", syscall(SYS_setxattr, a, "user.calls", "value", 5, 0));
	say("getxattr", syscall(SYS_getxattr, a, "user.calls", values, 20));
	say("lgetxattr", syscall(SYS_lgetxattr, a, "user.calls", values + 20, 20));
	say("getxattr", syscall(SYS_getxattr, a, "user.none", values + 40, 20));
	say("listxattr", syscall(SYS_listxattr, a, values + 60, 70));
	say("llistxattr", syscall(SYS_llistxattr, a, values + 130, 70));
	printf("attributes %lu\n", sum(values, sizeof values));
	say("rename", syscall(SYS_rename, a, b));
	fd = open(".", O_RDONLY | O_DIRECTORY);
	say("chdir", syscall(SYS_chdir, b));
	say("fchdir", syscall(SYS_fchdir, fd));
	close(fd);
	say("rmdir", syscall(SYS_rmdir, b));
	fd = open(a, O_RDWR | O_CREAT | O_TRUNC, 0600);
	say("fsync", syscall(SYS_fsync, fd));
	say("fdatasync", syscall(SYS_fdatasync, fd));
	say("flock", syscall(SYS_flock, fd, 2));
	say("fionread", syscall(SYS_ioctl, fd, FIONREAD, &st));
	close(fd);
	say("unlinkat", syscall(SYS_unlinkat, AT_FDCWD, a, 0));
	say("unlink", syscall(SYS_unlink, a));
}

/* A pipe, in both directions that there are, and what the kernel says of it. */
static void of_pipes(void)
{
	struct message {
		long type;
		char text[8];
	} m = {1, "message"};
	int ends[2];
	char c[8] = "";
	uint64_t set = 0, n = 5;
	struct itimerspec timer = {{0, 0}, {1000, 0}};
	struct epoll_event ev = {.events = EPOLLIN};
	int fd;

	say("pipe", syscall(SYS_pipe, ends));
	say("write", syscall(SYS_write, ends[1], "hello", 5));
	say("fionread", syscall(SYS_ioctl, ends[0], FIONREAD, c));
	say("read", syscall(SYS_read, ends[0], c, 5));
	say("lseek", syscall(SYS_lseek, ends[0], 0, SEEK_CUR));
	say("fcntl", syscall(SYS_fcntl, ends[0], F_GETFL));
	fd = (int)syscall(SYS_dup, ends[1]);
	say("close", syscall(SYS_close, ends[1]));
	say("write", syscall(SYS_write, fd, "bye", 3));
	close(fd);
	say("read", syscall(SYS_read, ends[0], c, 5));
	say("read the end", syscall(SYS_read, ends[0], c, 5));
	close(ends[0]);
	say("pipe2", syscall(SYS_pipe2, ends, O_NONBLOCK));
	say("read nothing", syscall(SYS_read, ends[0], c, 5));
	fd = (int)syscall(SYS_epoll_create1, 0);
	say("epoll_ctl", syscall(SYS_epoll_ctl, fd, EPOLL_CTL_ADD, ends[0], &ev));
	say("epoll_wait", syscall(SYS_epoll_wait, fd, &ev, 1, 0));
	close(ends[0]);
	say("write to nobody", syscall(SYS_write, ends[1], c, 1));
	close(ends[1]);
	close(fd);
	fd = (int)syscall(SYS_eventfd2, 0, O_NONBLOCK);
	say("eventfd", syscall(SYS_write, fd, &n, 8));
	say("eventfd", syscall(SYS_read, fd, &n, 8));
	say("eventfd", syscall(SYS_read, fd, &n, 8));
	close(fd);
	fd = (int)syscall(SYS_timerfd_create, CLOCK_MONOTONIC, O_NONBLOCK);
	say("timerfd_settime", syscall(SYS_timerfd_settime, fd, 0, &timer, NULL));
	say("timerfd", syscall(SYS_read, fd, &n, 8));
	close(fd);
	say("msgsnd", syscall(SYS_msgsnd, -1, &m, 8, 0));
	say("msgrcv", syscall(SYS_msgrcv, -1, &m, 8, 0, 0));
	say("rt_sigpending", syscall(SYS_rt_sigpending, &set, 8));
	say("sched_yield", syscall(SYS_sched_yield));
}

static void of_sockets(void)
{
	const struct sockaddr_un any = {.sun_family = AF_UNIX};
	struct sockaddr_un name = {0};
	socklen_t n = sizeof name, four = 4;
	int listener = (int)syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0), one = (int)syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0), other, type = 1;
	char c[8] = "";
	struct iovec v = {c, 4};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};

	say("bind", syscall(SYS_bind, listener, &any, sizeof any.sun_family));
	say("listen", syscall(SYS_listen, listener, 3));
	say("getsockname", syscall(SYS_getsockname, listener, &name, &n));
	say("connect", syscall(SYS_connect, one, &name, n));
	other = (int)syscall(SYS_accept, listener, NULL, NULL);
	say("sendto", syscall(SYS_sendto, one, "hello", 5, 0, NULL, 0));
	say("recvfrom", syscall(SYS_recvfrom, other, c, 3, 0, NULL, NULL));
	say("recvmsg", syscall(SYS_recvmsg, other, &m, 0));
	say("sendmsg", syscall(SYS_sendmsg, other, &m, 0));
	say("read", syscall(SYS_read, one, c, 8));
	say("setsockopt", syscall(SYS_setsockopt, one, SOL_SOCKET, SO_RCVBUF, &(int){1 << 16}, 4));
	say("getsockopt", syscall(SYS_getsockopt, one, SOL_SOCKET, SO_TYPE, &type, &four));
	say("type", type);
	n = sizeof name;
	say("getpeername", syscall(SYS_getpeername, one, &name, &n));
	say("shutdown", syscall(SYS_shutdown, one, SHUT_WR));
	say("read the end", syscall(SYS_read, other, c, 8));
	close(one);
	close(other);
	close(listener);
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOFBF, 1 << 16); /* no call of its own until the end */
	by_number();
	of_mappings();
	by_path(argv[0]);
	by_descriptor(argc > 1 ? argv[1] : "calls.file");
	of_opened(argc > 1 ? argv[1] : "calls.file");
	of_devices();
	of_nowhere(argc > 1 ? argv[1] : "calls.file");
	of_files(argc > 1 ? argv[1] : "calls.file");
	of_pipes();
	of_sockets();
	return 0;
}
