/* SPDX-License-Identifier: MIT */
/* A descriptor that was a file becomes a pipe that has nothing to read yet, in every way there is: descriptors CASE [NUMBER]. Who reads it waits
 * for another thread of this process, which must not be kept from running by that. Says "ok", or "no limit" where there cannot be such a number. */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	ROWS = 1 << 16, /* descriptors so far apart have something in common in the recorder's table */
	STACK = 1 << 16,
};

static int at = 40; /* the descriptor */

static void is(int holds, const char *what)
{
	if (holds)
		return;
	printf("wrong: %s (errno %d)\n", what, errno);
	fflush(stdout);
	_exit(1);
}

/* It is a file, and has been used often enough to be known as one. */
static void be_file(void)
{
	char path[] = "descriptors.XXXXXX", c;
	int fd = mkstemp(path);

	is(fd >= 0 && !unlink(path), "mkstemp");
	is(dup2(fd, at) == at && !close(fd), "dup2");
	for (int i = 0; i < 4; i++)
		is(pwrite(at, "f", 1, 0) == 1 && pread(at, &c, 1, 0) == 1 && c == 'f', "the file");
}

static void *write_later(void *arg)
{
	usleep(20000);
	is(write(*(int *)arg, "p", 1) == 1, "write to the pipe");
	return NULL;
}

/* It is the reading end of a pipe whose other end is `out`. */
static void read_pipe(int out)
{
	pthread_t thread;
	char c = 0;

	is(!pthread_create(&thread, NULL, write_later, &out), "pthread_create");
	is(read(at, &c, 1) == 1 && c == 'p', "read of the pipe");
	is(!pthread_join(thread, NULL), "pthread_join");
}

static void make_pipe(int ends[2])
{
	is(!pipe(ends), "pipe");
}

/* It is the lowest free descriptor. */
static void fill_below(void)
{
	for (int fd; (fd = open("/dev/null", O_RDONLY)) != at;)
		is(fd >= 0 && fd < at, "fill");
	is(!syscall(SYS_close, at), "close");
}

static void by_dup2(void)
{
	int ends[2];

	make_pipe(ends);
	is(dup2(ends[0], at) == at, "dup2");
	read_pipe(ends[1]);
}

static void by_dup3(void)
{
	int ends[2];

	make_pipe(ends);
	is(dup3(ends[0], at, O_CLOEXEC) == at, "dup3");
	read_pipe(ends[1]);
}

static void by_dupfd(void)
{
	int ends[2];

	make_pipe(ends);
	is(!close(at), "close");
	is(fcntl(ends[0], F_DUPFD, at) == at, "fcntl");
	read_pipe(ends[1]);
}

static void by_open(void)
{
	char path[] = "descriptors.XXXXXX";
	int out;

	is(mkdtemp(path) && !rmdir(path) && !mkfifo(path, 0600), "mkfifo");
	is(!close(at), "close");
	fill_below();
	out = open(path, O_RDWR | O_CLOEXEC);
	is(out == at, "open");
	is(!unlink(path), "unlink");
	out = dup(at);
	read_pipe(out);
}

static void by_pipe(void)
{
	int ends[2];

	is(!close(at), "close");
	fill_below();
	make_pipe(ends);
	is(ends[0] == at, "pipe");
	read_pipe(ends[1]);
}

static void by_close_range(void)
{
	int ends[2];

	for (int fd = 0; fd < at;) /* the lowest free one is it then, without a close of it */
		is((fd = open("/dev/null", O_RDONLY)) >= 0, "fill");
	is(!syscall(SYS_close_range, at, ~0u, 0), "close_range");
	make_pipe(ends);
	is(ends[0] == at, "pipe");
	read_pipe(ends[1]);
}

/* SCM_RIGHTS brings it. */
static void by_message(void)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	char byte = 0;
	struct iovec v = {&byte, 1};
	struct msghdr message = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	int pair[2], ends[2];

	make_pipe(ends);
	is(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
	memcpy(CMSG_DATA(&control.header), &ends[0], sizeof(int));
	is(sendmsg(pair[0], &message, 0) == 1, "sendmsg");
	is(!close(at), "close");
	fill_below();
	is(recvmsg(pair[1], &message, 0) == 1, "recvmsg");
	is(*(int *)CMSG_DATA(&control.header) == at, "the descriptor that came");
	read_pipe(ends[1]);
}

/* A child of vfork closes its own: ours stays. Then its file is ours no more. */
static void by_vfork(void)
{
	int ends[2], status;
	pid_t child;
	char c;

	make_pipe(ends);
	child = vfork();
	if (!child) {
		syscall(SYS_dup2, ends[0], at);
		for (int i = 0; i < 4; i++)
			syscall(SYS_fcntl, at, F_GETFD);
		syscall(SYS_close, at);
		syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY, 0);
		_exit(7);
	}
	is(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7, "vfork");
	is(pread(at, &c, 1, 0) == 1 && c == 'f', "the file behind a vfork");
	is(dup2(ends[0], at) == at, "dup2");
	read_pipe(ends[1]);
}

static int use_files_of_its_own(void *arg)
{
	int *ends = arg;
	char c;

	/* To us it is a pipe, to the others a file. */
	is(dup2(ends[0], at) == at, "dup2");
	is(read(at, &c, 1) == 1 && c == 'p', "read of the pipe");
	return 0;
}

/* A thread or process in the same memory with descriptors of its own (clone without CLONE_FILES). */
static void of_clone(int flags)
{
	int ends[2], status;
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), c;
	pid_t child;

	make_pipe(ends);
	child = clone(use_files_of_its_own, stack + STACK, flags | SIGCHLD, ends);
	is(child > 0, "clone");
	for (int i = 0; i < 2000; i++)
		is(pread(at, &c, 1, 0) == 1 && c == 'f', "the file");
	usleep(10000);
	is(pread(at, &c, 1, 0) == 1 && c == 'f', "the file");
	is(write(ends[1], "p", 1) == 1, "write to the pipe");
	is(waitpid(child, &status, __WALL) == child && !status, "clone");
	is(pread(at, &c, 1, 0) == 1 && c == 'f', "the file");
	is(dup2(ends[0], at) == at, "dup2");
	read_pipe(ends[1]);
}

static void by_clone(void) { of_clone(CLONE_VM); }

static int replace_it(void *arg)
{
	int *ends = arg;

	is(dup2(ends[0], at) == at, "dup2");
	return 0;
}

/* Another process has the same descriptors (CLONE_FILES without CLONE_VM) and replaces it. */
static void by_other_process(void)
{
	int ends[2], status;
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	make_pipe(ends);
	child = clone(replace_it, stack + STACK, CLONE_FILES | SIGCHLD, ends);
	is(child > 0 && waitpid(child, &status, 0) == child && !status, "clone");
	read_pipe(ends[1]);
}

static void *unshare_and_close(void *arg)
{
	int *ends = arg;
	char c;

	is(!unshare(CLONE_FILES), "unshare");
	is(dup2(ends[0], at) == at, "dup2");
	is(read(at, &c, 1) == 1 && c == 'p', "read of the pipe");
	return NULL;
}

static void by_unshare(void)
{
	pthread_t thread;
	int ends[2];
	char c;

	make_pipe(ends);
	is(!pthread_create(&thread, NULL, unshare_and_close, ends), "pthread_create");
	usleep(10000);
	for (int i = 0; i < 2000; i++)
		is(pread(at, &c, 1, 0) == 1 && c == 'f', "the file");
	is(write(ends[1], "p", 1) == 1, "write to the pipe");
	is(!pthread_join(thread, NULL), "pthread_join");
	is(pread(at, &c, 1, 0) == 1 && c == 'f', "the file");
	is(dup2(ends[0], at) == at, "dup2");
	read_pipe(ends[1]);
}

/* int 0x80 has other numbers: 63 is dup2 there. */
static void by_compat(void)
{
	int ends[2], got;

	make_pipe(ends);
	__asm__ volatile("int $0x80" : "=a"(got) : "a"(63), "b"(ends[0]), "c"(at) : "memory", "r8", "r9", "r10", "r11");
	if (got == -ENOSYS) { /* a kernel without */
		is(dup2(ends[0], at) == at, "dup2");
		got = at;
	}
	is(got == at, "dup2 by int 0x80");
	read_pipe(ends[1]);
}

/* A child of fork has a copy: what it does to it is nothing to us, and the other way round. */
static void by_fork(void)
{
	int ends[2], status;
	pid_t child;
	char c;

	make_pipe(ends);
	child = fork();
	if (!child) {
		is(pread(at, &c, 1, 0) == 1 && c == 'f', "the file of a child");
		is(dup2(ends[0], at) == at, "dup2");
		read_pipe(ends[1]);
		_exit(0);
	}
	is(dup2(ends[0], at) == at, "dup2");
	is(waitpid(child, &status, 0) == child && !status, "child");
	read_pipe(ends[1]);
}

/* Behind an execve: a file that was closed by it, and one that stayed. */
static void execed(void)
{
	int ends[2];
	char c;

	is(read(at, &c, 1) < 0 && errno == EBADF, "closed by exec");
	is(pread(at + 1, &c, 1, 0) == 1 && c == 'f', "stayed");
	make_pipe(ends);
	is(dup2(ends[0], at) == at, "dup2");
	read_pipe(ends[1]);
}

static void by_exec(void)
{
	char number[16], *again[] = {"descriptors", "execed", number, NULL};

	snprintf(number, sizeof number, "%d", at);

	is(fcntl(at, F_SETFD, FD_CLOEXEC) == 0, "FD_CLOEXEC");
	is(dup2(at, at + 1) == at + 1, "dup2");
	execv("/proc/self/exe", again);
	is(0, "exec");
}

/* It stays a file, and another descriptor is the pipe. */
static void by_another(void)
{
	int ends[2], file = at;
	char c;

	make_pipe(ends);
	is(dup2(ends[0], at + ROWS) == at + ROWS, "dup2");
	for (int i = 0; i < 4; i++) {
		is(pread(file, &c, 1, 0) == 1 && c == 'f', "the file");
		at = file + ROWS;
		read_pipe(ends[1]);
		at = file;
	}
	is(!close(file + ROWS) && read(file + ROWS, &c, 1) < 0 && errno == EBADF, "close");
	is(pread(file, &c, 1, 0) == 1 && c == 'f', "the file");
}

/* It stays one, and is used very often, as is one that is not open, of which nothing is known. */
static void by_nothing(void)
{
	char c;

	for (int i = 0; i < 2000; i++) {
		is(pread(at, &c, 1, 0) == 1 && c == 'f', "the file");
		is(read(at + ROWS, &c, 1) < 0 && errno == EBADF, "read of a descriptor that is not open");
		is(close(at + ROWS) < 0 && errno == EBADF, "close of it");
	}
}

static const struct row {
	const char *name;
	void (*function)(void);
} rows[] = {
	{"dup2", by_dup2}, {"dup3", by_dup3}, {"dupfd", by_dupfd}, {"open", by_open}, {"pipe", by_pipe}, {"close-range", by_close_range},
	{"message", by_message}, {"vfork", by_vfork}, {"clone", by_clone}, {"other-process", by_other_process}, {"unshare", by_unshare},
	{"compat", by_compat}, {"fork", by_fork}, {"exec", by_exec}, {"another", by_another}, {"nothing", by_nothing},
};

/* Whether there can be descriptors up to there. */
static int raise_limit(int most)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur > (rlim_t)most)
		return 1;
	limit.rlim_cur = (rlim_t)most + 1;
	if (limit.rlim_max < limit.rlim_cur)
		limit.rlim_max = limit.rlim_cur;
	return !setrlimit(RLIMIT_NOFILE, &limit);
}

/* Without arguments: what there is. */
int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int known = argc < 2 || !strcmp(what, "execed");

	if (argc > 2)
		at = atoi(argv[2]);
	if (argc > 1 && !raise_limit(at + 8 + (strcmp(what, "another") ? 0 : ROWS))) {
		puts("no limit");
		return 0;
	}
	if (!strcmp(what, "execed"))
		execed();
	else if (argc > 1)
		be_file();
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if (argc < 2)
			puts(rows[i].name);
		if (!strcmp(what, rows[i].name)) {
			rows[i].function();
			known = 1;
		}
	}
	is(known, "no such case");
	if (argc > 1)
		puts("ok");
	return 0;
}
