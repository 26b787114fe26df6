// SPDX-License-Identifier: MIT
/* written_by_kernel NAME: code in writable pages that run and are written by turns, by system calls. Each case counts what comes out wrong.
 * tests/e2e/engine_written.py */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "written.inc"

static long by_read(void)
{
	unsigned char *page = warm(1), bytes[SIZE];
	int ends[2];
	long bad = pipe(ends) != 0;

	for (int i = 0; i < TIMES; i++) {
		encode(bytes, i);
		bad += write(ends[1], bytes, SIZE) != SIZE || read(ends[0], page, SIZE) != SIZE;
		bad += call(page, 2) != i + 2;
	}
	return bad;
}

static long compat_call(long number, long first, long second, long third)
{
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(first), "c"(second), "d"(third) : "r8", "r9", "r10", "r11", "memory");
	return result;
}

/* Whether the kernel has 32-bit calls. */
static int has_compat_calls(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		_exit(compat_call(20, 0, 0, 0) != getpid());
	}
	return waitpid(pid, &status, 0) == pid && !status;
}

/* By calls whose numbers and arguments are not those of 64-bit ones; while SIGTRAP is ignored, too. */
static long by_int80(void)
{
	unsigned char *page = mmap(NULL, 2 * PAGE, RWX, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	int ends[2];
	long bad = pipe(ends) != 0;

	if (!has_compat_calls())
		return 0;
	encode(page, -1);
	bad += call(page, 1) != 0; /* it is watched */
	for (int i = 0; i < TIMES; i++) {
		encode(page + PAGE, i);
		bad += write(ends[1], page + PAGE, SIZE) != SIZE;
		bad += compat_call(3, ends[0], (long)page, SIZE) != SIZE;
		bad += call(page, 2) != i + 2 || call(page + PAGE, 3) != i + 3;
		if (i == TIMES / 2)
			signal(SIGTRAP, SIG_IGN);
	}
	return bad + (signal(SIGTRAP, SIG_DFL) != SIG_IGN);
}

/* Whether the kernel has the page of calls that it emulates. */
static int has_vsyscall(void)
{
	char line[256];
	int found = 0;
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && !found && fgets(line, sizeof line, f))
		found = strstr(line, "[vsyscall]") != NULL;
	if (f)
		fclose(f);
	return found;
}

static long by_vsyscall(void)
{
	unsigned char *page = warm(1);
	long *now = (long *)(page + 256), bad = 0;

	for (int i = 0; has_vsyscall() && i < TIMES; i++) {
		now[0] = 0;
		encode(page, i);
		bad += call(page, 1) != i + 1;
		bad += ((function *)0xffffffffff600400)((intptr_t)now) != now[0] || now[0] < 1000; /* time() */
		bad += call(page, 2) != i + 2;
		now[0] = 0;
		bad += call(page, 2) != i + 2;
		bad += ((long (*)(void *, void *))0xffffffffff600000)(now, NULL) != 0 || now[0] < 1000; /* gettimeofday() */
	}
	return bad;
}

static long by_readv(void)
{
	unsigned char *page = warm(2), bytes[2 * SIZE];
	struct iovec parts[2] = {{page, SIZE}, {page + PAGE, SIZE}};
	int ends[2];
	long bad = pipe(ends) != 0;

	for (int i = 0; i < TIMES; i++) {
		encode(bytes, i);
		encode(bytes + SIZE, -i);
		bad += write(ends[1], bytes, sizeof bytes) != sizeof bytes || readv(ends[0], parts, 2) != sizeof bytes;
		bad += call(page, 2) != i + 2 || call(page + PAGE, 2) != 2 - i;
	}
	return bad;
}

static long by_vmsplice(void)
{
	unsigned char *page = warm(1), bytes[SIZE];
	struct iovec part = {page, SIZE};
	int ends[2];
	long bad = pipe(ends) != 0;

	for (int i = 0; i < TIMES; i++) {
		encode(bytes, i);
		bad += write(ends[1], bytes, SIZE) != SIZE || vmsplice(ends[0], &part, 1, 0) != SIZE;
		bad += call(page, 2) != i + 2;
	}
	return bad;
}

/* The address is in a structure. */
static long by_getxattrat(void)
{
	unsigned char *page = warm(1), bytes[SIZE];
	struct {
		uint64_t value;
		uint32_t size, flags;
	} to = {(uintptr_t)bytes, SIZE, 0};
	int fd = memfd_create("attributes", 0);
	long bad = fd < 0;

	encode(bytes, 0);
	if (fsetxattr(fd, "user.code", bytes, SIZE, 0) || syscall(464, fd, "", AT_EMPTY_PATH, "user.code", &to, sizeof to) < 0)
		return bad; /* neither the call (Linux 6.13) nor such attributes are everywhere */
	to.value = (uintptr_t)page;
	for (int i = 0; i < TIMES; i++) {
		encode(bytes, i);
		bad += fsetxattr(fd, "user.code", bytes, SIZE, 0) != 0 || call(page, 2) < 0;
		bad += syscall(464, fd, "", AT_EMPTY_PATH, "user.code", &to, sizeof to) != SIZE;
		bad += call(page, 2) != i + 2;
	}
	return bad;
}

static long by_recvmsg(void)
{
	unsigned char *page = warm(1), bytes[SIZE];
	struct iovec part = {page, SIZE};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	int ends[2];
	long bad = socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0;

	for (int i = 0; i < TIMES; i++) {
		encode(bytes, i);
		bad += send(ends[1], bytes, SIZE, 0) != SIZE || recvmsg(ends[0], &message, 0) != SIZE;
		bad += call(page, 2) != i + 2;
	}
	return bad;
}

static long by_file(void)
{
	unsigned char *page = warm(1), bytes[SIZE];
	int fd = memfd_create("file", 0);
	long bad = fd < 0;

	for (int i = 0; i < TIMES; i++) {
		encode(bytes, i);
		bad += pwrite(fd, bytes, SIZE, 0) != SIZE || pread(fd, page, SIZE, 0) != SIZE;
		bad += call(page, 2) != i + 2;
	}
	return bad;
}

static long by_process_vm_writev(void)
{
	unsigned char *page = warm(1), bytes[SIZE];
	struct iovec from = {bytes, SIZE}, to = {page, SIZE};
	long bad = 0;

	for (int i = 0; i < TIMES; i++) {
		encode(bytes, i);
		bad += process_vm_writev(getpid(), &from, 1, &to, 1, 0) != SIZE;
		bad += call(page, 2) != i + 2;
	}
	return bad;
}

static long by_memory_file(int fd)
{
	unsigned char *page = warm(1), *fixed = pages(1), bytes[SIZE];
	long bad = fd < 0;

	encode(fixed, -1);
	bad += mprotect(fixed, PAGE, PROT_READ | PROT_EXEC) != 0 || call(fixed, 1) != 0;
	for (int i = 0; i < TIMES; i++) {
		encode(bytes, i);
		bad += pwrite(fd, bytes, SIZE, (off_t)(uintptr_t)page) != SIZE;
		bad += call(page, 2) != i + 2;
		bad += lseek(fd, (off_t)(uintptr_t)fixed, SEEK_SET) < 0 || write(fd, bytes, SIZE) != SIZE;
		bad += call(fixed, 3) != i + 3;
	}
	return bad;
}

static long by_proc_mem(void)
{
	long bad = by_memory_file(creat("/proc/self/mem", 0600));

	return bad + by_memory_file(open("/proc/self/mem", O_RDWR));
}

/* A child's descriptor of its parent's memory comes by a socket. */
static void send_memory(int to, pid_t of)
{
	char path[32], control[CMSG_SPACE(sizeof(int))] = {0}, byte = 0;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	int fd;

	snprintf(path, sizeof path, "/proc/%d/mem", (int)of);
	fd = open(path, O_RDWR);
	*c = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	_exit(fd < 0 || sendmsg(to, &message, 0) != 1);
}

static long by_received_mem(void)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	int ends[2], fd = -1, status;
	pid_t self = getpid(), child;
	long bad = socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* where Yama has a say */
	child = fork();
	if (!child)
		send_memory(ends[1], self);
	bad += waitpid(child, &status, 0) != child || status != 0 || recvmsg(ends[0], &message, 0) != 1;
	if (!bad)
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
	return bad + by_memory_file(fd);
}

/* What the kernel writes is a number in a page of code. */
static long by_small_calls(void)
{
	unsigned char *page = warm(1);
	struct rlimit *limit = (struct rlimit *)(page + 256);
	struct timespec *now = (struct timespec *)(page + 512);
	int *status = (int *)(page + 768), ends[2];
	long bad = pipe(ends) != 0;
	struct pollfd ready = {.fd = ends[1], .events = POLLOUT};

	for (int i = 0; i < TIMES; i++) {
		pid_t child;

		bad += getrlimit(RLIMIT_NOFILE, limit) != 0 || limit->rlim_cur == 0;
		bad += call(page, 1) != 0;
		bad += syscall(SYS_clock_gettime, CLOCK_MONOTONIC, now) != 0 || now->tv_sec + now->tv_nsec == 0;
		bad += call(page, 1) != 0;
		*now = (struct timespec){.tv_sec = 5};
		bad += call(page, 1) != 0;
		bad += syscall(SYS_ppoll, &ready, 1, now, NULL, 0) != 1 || now->tv_sec >= 5;
		bad += call(page, 1) != 0;
		if (i % 8 == 0) {
			child = fork();
			if (!child)
				_exit(i);
			bad += waitpid(child, status, 0) != child || !WIFEXITED(*status) || WEXITSTATUS(*status) != i;
			bad += call(page, 1) != 0;
		}
	}
	return bad;
}

/* A thread waits in a read into a page that begins to be watched meanwhile. */
struct reader {
	int fd;
	unsigned char *to;
	ssize_t n;
};

static void *read_late(void *argument)
{
	struct reader *r = argument;

	r->n = read(r->fd, r->to, SIZE);
	return NULL;
}

static long read_in_flight(void)
{
	long bad = 0;

	for (int i = 0; i < TIMES / 4; i++) {
		unsigned char *page = pages(1), bytes[SIZE];
		struct reader r = {.to = page + 64};
		pthread_t thread;
		int ends[2];

		bad += pipe(ends) != 0;
		r.fd = ends[0];
		encode(page, i);
		if (pthread_create(&thread, NULL, read_late, &r))
			exit(3);
		usleep(2000);
		for (int k = 0; k < 20; k++)
			bad += call(page, k) != i + k;
		encode(bytes, -i);
		bad += write(ends[1], bytes, SIZE) != SIZE || pthread_join(thread, NULL) || r.n != SIZE;
		bad += call(page + 64, 1) != 1 - i || call(page, 1) != i + 1;
		close(ends[0]);
		close(ends[1]);
	}
	return bad;
}

/* The kernel is told of the page by a structure, and writes what came of it to the page, too. */
static long submit_reads(aio_context_t queue, unsigned char *page)
{
	struct io_event *event = (struct io_event *)(page + 512);
	unsigned char bytes[SIZE];
	int fd = memfd_create("file", 0);
	struct iocb read_code = {.aio_fildes = (uint32_t)fd, .aio_lio_opcode = IOCB_CMD_PREAD, .aio_buf = (uintptr_t)page, .aio_nbytes = SIZE};
	struct iocb *one = &read_code;
	long bad = fd < 0;

	for (int i = 0; i < TIMES; i++) {
		encode(bytes, i);
		bad += pwrite(fd, bytes, SIZE, 0) != SIZE || syscall(SYS_io_submit, queue, 1, &one) != 1;
		bad += call(page, 2) != i + 2;
		bad += syscall(SYS_io_getevents, queue, 1, 1, event, NULL) != 1 || event->res != SIZE;
		bad += call(page, 3) != i + 3;
	}
	return bad + close(fd);
}

static long by_io_submit(void)
{
	unsigned char *before = warm(1);
	aio_context_t queue = 0;

	if (syscall(SYS_io_setup, 8, &queue))
		return errno != ENOSYS;
	return submit_reads(queue, before) + submit_reads(queue, warm(1)) + submit_reads(queue, before) + syscall(SYS_io_destroy, queue);
}

/* An io_uring that is asked for one thing at a time. */
struct uring {
	int fd;
	unsigned *submitted, *submission_mask, *submission, *completed, *completion_mask;
	struct io_uring_sqe *entries;
	struct io_uring_cqe *results;
};

static bool uring_open(struct uring *u)
{
	struct io_uring_params p = {0};
	char *s, *c;

	u->fd = (int)syscall(SYS_io_uring_setup, 8, &p);
	if (u->fd < 0 && (errno == ENOSYS || errno == EPERM || errno == ENOMEM)) /* it is not there, forbidden, or may lock too little */
		return false;
	s = mmap(NULL, p.sq_off.array + p.sq_entries * sizeof(unsigned), PROT_READ | PROT_WRITE, MAP_SHARED, u->fd, IORING_OFF_SQ_RING);
	c = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof *u->results, PROT_READ | PROT_WRITE, MAP_SHARED, u->fd, IORING_OFF_CQ_RING);
	u->entries = mmap(NULL, p.sq_entries * sizeof *u->entries, PROT_READ | PROT_WRITE, MAP_SHARED, u->fd, IORING_OFF_SQES);
	if (s == MAP_FAILED || c == MAP_FAILED || u->entries == MAP_FAILED)
		exit(3);
	u->submitted = (unsigned *)(s + p.sq_off.tail);
	u->submission_mask = (unsigned *)(s + p.sq_off.ring_mask);
	u->submission = (unsigned *)(s + p.sq_off.array);
	u->completed = (unsigned *)(c + p.cq_off.head);
	u->completion_mask = (unsigned *)(c + p.cq_off.ring_mask);
	u->results = (struct io_uring_cqe *)(c + p.cq_off.cqes);
	return true;
}

static long uring_enter(struct uring *u, unsigned submit, unsigned wait)
{
	return syscall(SYS_io_uring_enter, u->fd, submit, wait, wait ? IORING_ENTER_GETEVENTS : 0, NULL, 0);
}

/* Asks for a function's bytes; flags: IOSQE_*. */
static void uring_read(struct uring *u, int fd, unsigned char *to, uint8_t flags)
{
	unsigned tail = *u->submitted, i = tail & *u->submission_mask;

	u->entries[i] = (struct io_uring_sqe){.opcode = IORING_OP_READ, .fd = fd, .addr = (uintptr_t)to, .len = SIZE, .flags = flags};
	u->submission[i] = i;
	__atomic_store_n(u->submitted, tail + 1, __ATOMIC_RELEASE);
}

static int uring_result(struct uring *u)
{
	unsigned head = *u->completed;
	int result = u->results[head & *u->completion_mask].res;

	__atomic_store_n(u->completed, head + 1, __ATOMIC_RELEASE);
	return result;
}

/* At once, and by a thread of the kernel's. */
static long uring_reads(struct uring *u, unsigned char *page)
{
	unsigned char bytes[SIZE];
	int fd = memfd_create("file", 0);
	long bad = fd < 0;

	for (int i = 0; i < TIMES; i++) {
		encode(bytes, i);
		uring_read(u, fd, page, i % 2 ? IOSQE_ASYNC : 0);
		bad += pwrite(fd, bytes, SIZE, 0) != SIZE || uring_enter(u, 1, 1) != 1 || uring_result(u) != SIZE;
		bad += call(page, 2) != i + 2;
	}
	return bad + close(fd);
}

/* The page runs while the read waits. */
static long uring_late_reads(struct uring *u, unsigned char *page)
{
	unsigned char bytes[SIZE];
	int ends[2];
	long bad = pipe(ends) != 0;

	for (int i = 0; i < TIMES; i++) {
		int before = i ? i - 1 : TIMES - 1;

		encode(bytes, i);
		uring_read(u, ends[0], page, 0);
		bad += uring_enter(u, 1, 0) != 1;
		for (int k = 0; k < 20; k++)
			bad += call(page, k) != before + k;
		bad += write(ends[1], bytes, SIZE) != SIZE || uring_enter(u, 0, 1) != 0 || uring_result(u) != SIZE;
		bad += call(page, 2) != i + 2;
	}
	return bad + close(ends[0]) + close(ends[1]);
}

static long by_io_uring(void)
{
	unsigned char *before = warm(1), *after;
	struct uring u;
	long bad;

	if (!uring_open(&u))
		return 0;
	after = warm(1);
	bad = uring_reads(&u, before) + uring_late_reads(&u, before);
	bad += uring_reads(&u, after) + uring_late_reads(&u, after);
	return bad + close(u.fd);
}

static const struct row rows[] = {
	{"by-read", by_read}, {"by-int80", by_int80}, {"by-vsyscall", by_vsyscall}, {"by-readv", by_readv}, {"by-recvmsg", by_recvmsg},
	{"by-vmsplice", by_vmsplice}, {"by-getxattrat", by_getxattrat},
	{"by-file", by_file}, {"by-process-vm-writev", by_process_vm_writev}, {"by-proc-mem", by_proc_mem}, {"by-received-mem", by_received_mem},
	{"by-small-calls", by_small_calls}, {"read-in-flight", read_in_flight}, {"by-io-submit", by_io_submit}, {"by-io-uring", by_io_uring},
};

int main(int argc, char **argv) { return run_case(argc, argv, rows, sizeof rows / sizeof rows[0]); }
