/* SPDX-License-Identifier: MIT */
/* System calls that wait, each ended or disturbed in a way while it does: waiting_calls DISTURBANCE [CALL...], a process for each.
 * Prints what each gave, which is the same natively and recorded. Nothing depends on time: who disturbs waits until the other waits. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum {
	HOURS = 100000, /* seconds */
	SEEN = 3,	/* times that a process must be seen asleep in a row */
};

/* What both processes see. */
struct shared {
	volatile int about; /* the call comes next */
	volatile int handled;
	volatile long result;
	volatile int error;
	volatile long more; /* what else is to be told: remaining time, bytes */
	volatile uint32_t word;
	volatile int sleeps; /* seconds */
};

static struct shared *shared;
static int ends[2], pair[2], gate[2], queue, semaphore, file, listener, fifo_made;
static char path[] = "waiting.file";
static char big[1 << 20];

static void is(int holds, const char *what)
{
	if (holds)
		return;
	printf("wrong: %s (errno %d)\n", what, errno);
	fflush(stdout);
	_exit(1);
}

/* ---- The calls: `wait` is made by the child, `finish` lets it end, by the parent ---- */

static long wait_read(void) { char c; return syscall(SYS_read, ends[0], &c, 1); }
static void finish_write(void) { is(write(ends[1], "x", 1) == 1, "write"); }

static long wait_readv(void)
{
	char a[2], b[2];
	struct iovec v[2] = {{a, 2}, {b, 2}};

	return syscall(SYS_readv, ends[0], v, 2);
}

static long wait_write(void)
{
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	while (write(ends[1], big, 4096) > 0)
		;
	fcntl(ends[1], F_SETFL, 0);
	shared->about = 1;
	return syscall(SYS_write, ends[1], big, 10);
}

static void finish_read(void)
{
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	while (read(ends[0], big, sizeof big) > 0)
		;
}

static long wait_poll(void)
{
	struct pollfd p = {.fd = ends[0], .events = POLLIN};

	return syscall(SYS_poll, &p, 1, -1);
}

static long wait_ppoll(void)
{
	struct pollfd p = {.fd = ends[0], .events = POLLIN};
	struct timespec t = {HOURS, 0};
	long result = syscall(SYS_ppoll, &p, 1, &t, NULL, 8);

	shared->more = t.tv_sec < HOURS && t.tv_sec > HOURS / 2;
	return result;
}

/* With a mask under which only SIGUSR1 comes. */
static long wait_ppoll_masked(void)
{
	struct pollfd p = {.fd = ends[0], .events = POLLIN};
	uint64_t mask = ~(1ull << (SIGUSR1 - 1) | 1ull << (SIGTERM - 1)), now;
	long result;

	is(!syscall(SYS_rt_sigprocmask, SIG_BLOCK, &(uint64_t){1ull << (SIGUSR1 - 1)}, NULL, 8), "sigprocmask");
	result = syscall(SYS_ppoll, &p, 1, NULL, &mask, 8);
	is(!syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &now, 8), "sigprocmask");
	shared->more = (long)now;
	return result;
}

static long wait_select(void)
{
	struct timeval t = {HOURS, 0};
	fd_set set;
	long result;

	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	result = syscall(SYS_select, ends[0] + 1, &set, NULL, NULL, &t);
	shared->more = t.tv_sec < HOURS && t.tv_sec > HOURS / 2;
	return result;
}

static long wait_pselect(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	return syscall(SYS_pselect6, ends[0] + 1, &set, NULL, NULL, NULL, NULL);
}

static int epoll_of_pipe(void)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int fd = epoll_create1(0);

	is(fd >= 0 && !epoll_ctl(fd, EPOLL_CTL_ADD, ends[0], &ev), "epoll_ctl");
	shared->about = 1;
	return fd;
}

static long wait_epoll(void)
{
	struct epoll_event ev;

	return syscall(SYS_epoll_wait, epoll_of_pipe(), &ev, 1, -1);
}

static long wait_epoll_masked(void)
{
	struct epoll_event ev;
	uint64_t none = 0;

	return syscall(SYS_epoll_pwait, epoll_of_pipe(), &ev, 1, -1, &none, 8);
}

static long wait_nanosleep(void)
{
	struct timespec t = {shared->sleeps, 0}, left = {0};
	long result = syscall(SYS_nanosleep, &t, &left);

	shared->more = left.tv_sec > HOURS / 2;
	return result;
}

static long wait_clock(void)
{
	struct timespec t = {shared->sleeps, 0}, left = {0};
	long result = syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, &left);

	shared->more = left.tv_sec > HOURS / 2;
	return result;
}

static long wait_clock_until(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += shared->sleeps;
	return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static pid_t subject;

static void finish_sleep(void)
{
	if (shared->sleeps == HOURS)
		kill(subject, SIGUSR2);
}

static long wait_pause(void) { return syscall(SYS_pause); }
static void finish_signal(void) { kill(subject, SIGUSR2); }

static long wait_sigsuspend(void)
{
	uint64_t none = 0, now;
	long result;

	is(!syscall(SYS_rt_sigprocmask, SIG_BLOCK, &(uint64_t){1ull << (SIGUSR1 - 1)}, NULL, 8), "sigprocmask");
	result = syscall(SYS_rt_sigsuspend, &none, 8);
	is(!syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &now, 8), "sigprocmask");
	shared->more = (long)now;
	return result;
}

static long wait_sigtimedwait(void)
{
	uint64_t set = 1ull << (SIGUSR2 - 1);

	is(!syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 8), "sigprocmask");
	return syscall(SYS_rt_sigtimedwait, &set, NULL, NULL, 8);
}

static long wait_signalfd(void)
{
	struct signalfd_siginfo info = {0};
	sigset_t set;
	int fd;
	long result;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, 0);
	shared->about = 1;
	result = syscall(SYS_read, fd, &info, sizeof info);
	shared->more = (long)info.ssi_signo;
	return result;
}

static long wait_futex(void) { return syscall(SYS_futex, &shared->word, FUTEX_WAIT, 0, NULL, NULL, 0); }

static void finish_futex(void)
{
	shared->word = 1;
	syscall(SYS_futex, &shared->word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static long wait_futex_until(void)
{
	struct timespec t = {HOURS, 0};

	return syscall(SYS_futex, &shared->word, FUTEX_WAIT, 0, &t, NULL, 0);
}

static void prepare_flock(void) { is(!flock(file, LOCK_EX), "flock"); }
static long wait_flock(void)
{
	int own = open(path, O_RDWR);

	shared->about = 1;
	return syscall(SYS_flock, own, LOCK_EX);
}
static void finish_flock(void) { is(!flock(file, LOCK_UN), "flock"); }

static void prepare_lock(void)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10};

	is(!fcntl(file, F_SETLK, &l), "lock");
}

static long wait_lock(void)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10};

	return syscall(SYS_fcntl, file, F_SETLKW, &l);
}

static void finish_lock(void)
{
	struct flock l = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_len = 10};

	is(!fcntl(file, F_SETLK, &l), "lock");
}

static void wait_at_gate(void)
{
	char c;

	close(gate[1]);
	while (read(gate[0], &c, 1) < 0)
		;
	_exit(7);
}

static long wait_child(void)
{
	pid_t child = fork();
	int status = 0;
	long result;

	if (!child)
		wait_at_gate();
	shared->about = 1;
	result = syscall(SYS_wait4, child, &status, 0, NULL);
	shared->more = status;
	return result == child ? 1000 : result;
}

static long wait_childid(void)
{
	siginfo_t info = {0};
	pid_t child = fork();
	long result;

	if (!child)
		wait_at_gate();
	shared->about = 1;
	result = syscall(SYS_waitid, P_PID, child, &info, WEXITED, NULL);
	shared->more = info.si_status;
	return result;
}

static void finish_gate(void) { is(write(gate[1], "x", 1) == 1, "gate"); }

static long wait_recv(void) { char c; return syscall(SYS_recvfrom, pair[0], &c, 1, 0, NULL, NULL); }
static void finish_send(void) { is(write(pair[1], "x", 1) == 1, "send"); }

static long wait_recvmsg(void)
{
	char c;
	struct iovec v = {&c, 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};

	return syscall(SYS_recvmsg, pair[0], &m, 0);
}

/* One with a timeout is never made again. */
static long wait_recv_until(void)
{
	struct timeval t = {HOURS, 0};
	char c;

	is(!setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t), "setsockopt");
	return syscall(SYS_recvfrom, pair[0], &c, 1, 0, NULL, NULL);
}

static long wait_send(void)
{
	while (send(pair[0], big, 4096, MSG_DONTWAIT) > 0)
		;
	shared->about = 1;
	return syscall(SYS_sendto, pair[0], big, 10, 0, NULL, 0);
}

static void finish_recv(void)
{
	while (recv(pair[1], big, sizeof big, MSG_DONTWAIT) > 0)
		;
}

static long wait_accept(void)
{
	long fd = syscall(SYS_accept4, listener, NULL, NULL, 0);

	return fd >= 0 ? 1000 : fd;
}

static void finish_connect(void)
{
	struct sockaddr_un a;
	socklen_t n = sizeof a;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	is(!getsockname(listener, (struct sockaddr *)&a, &n) && !connect(fd, (struct sockaddr *)&a, n), "connect");
	close(fd);
}

static long wait_semaphore(void) { return syscall(SYS_semop, semaphore, &(struct sembuf){0, -1, 0}, 1); }
static void finish_semaphore(void) { is(!semop(semaphore, &(struct sembuf){0, 1, 0}, 1), "semop"); }

struct message {
	long type;
	char text[16];
};

static long wait_message(void)
{
	struct message m;

	return syscall(SYS_msgrcv, queue, &m, sizeof m.text, 0, 0);
}

static void finish_message(void) { is(!msgsnd(queue, &(struct message){1, "hello"}, 16, 0), "msgsnd"); }

static long wait_eventfd(void)
{
	uint64_t n;

	return syscall(SYS_read, ends[0], &n, 8);
}

static void prepare_eventfd(void)
{
	close(ends[0]);
	close(ends[1]);
	ends[0] = ends[1] = eventfd(0, 0);
}

static void finish_eventfd(void) { is(write(ends[1], &(uint64_t){3}, 8) == 8, "eventfd"); }

static void set_timer(long seconds)
{
	struct itimerspec t = {{0, 0}, {seconds, 1}};

	is(!timerfd_settime(ends[0], 0, &t, NULL), "timerfd_settime");
}

static void prepare_timerfd(void)
{
	close(ends[0]);
	close(ends[1]);
	ends[0] = ends[1] = timerfd_create(CLOCK_MONOTONIC, 0);
	set_timer(HOURS);
}

static void finish_timerfd(void) { set_timer(0); }

static long wait_open(void)
{
	long fd = syscall(SYS_openat, AT_FDCWD, "waiting.fifo", O_RDONLY, 0);

	return fd >= 0 ? 1000 : fd;
}

static void prepare_open(void) { fifo_made = !mkfifo("waiting.fifo", 0600); }
static void finish_open(void) { close(open("waiting.fifo", O_RDWR)); }

/* A terminal, in lines. */
static void prepare_terminal(void)
{
	close(ends[0]);
	close(ends[1]);
	ends[1] = posix_openpt(O_RDWR | O_NOCTTY);
	is(ends[1] >= 0 && !grantpt(ends[1]) && !unlockpt(ends[1]), "terminal");
	ends[0] = open(ptsname(ends[1]), O_RDWR | O_NOCTTY);
	is(ends[0] >= 0, "terminal");
}

static long wait_terminal(void) { char c[10]; return syscall(SYS_read, ends[0], c, sizeof c); }
static void finish_terminal(void) { is(write(ends[1], "line\n", 5) == 5, "terminal"); }

static const struct row {
	const char *name;
	long (*wait)(void);
	void (*finish)(void);
	void (*prepare)(void);
} rows[] = {
	{"read", wait_read, finish_write, NULL},
	{"readv", wait_readv, finish_write, NULL},
	{"write", wait_write, finish_read, NULL},
	{"poll", wait_poll, finish_write, NULL},
	{"ppoll", wait_ppoll, finish_write, NULL},
	{"ppoll-masked", wait_ppoll_masked, finish_write, NULL},
	{"select", wait_select, finish_write, NULL},
	{"pselect", wait_pselect, finish_write, NULL},
	{"epoll_wait", wait_epoll, finish_write, NULL},
	{"epoll_pwait", wait_epoll_masked, finish_write, NULL},
	{"nanosleep", wait_nanosleep, finish_sleep, NULL},
	{"clock_nanosleep", wait_clock, finish_sleep, NULL},
	{"clock_nanosleep-until", wait_clock_until, finish_sleep, NULL},
	{"pause", wait_pause, finish_signal, NULL},
	{"sigsuspend", wait_sigsuspend, finish_signal, NULL},
	{"sigtimedwait", wait_sigtimedwait, finish_signal, NULL},
	{"signalfd", wait_signalfd, finish_signal, NULL},
	{"futex", wait_futex, finish_futex, NULL},
	{"futex-until", wait_futex_until, finish_futex, NULL},
	{"flock", wait_flock, finish_flock, prepare_flock},
	{"lock", wait_lock, finish_lock, prepare_lock},
	{"wait4", wait_child, finish_gate, NULL},
	{"waitid", wait_childid, finish_gate, NULL},
	{"recvfrom", wait_recv, finish_send, NULL},
	{"recvmsg", wait_recvmsg, finish_send, NULL},
	{"recvfrom-until", wait_recv_until, finish_send, NULL},
	{"sendto", wait_send, finish_recv, NULL},
	{"accept", wait_accept, finish_connect, NULL},
	{"semop", wait_semaphore, finish_semaphore, NULL},
	{"msgrcv", wait_message, finish_message, NULL},
	{"eventfd", wait_eventfd, finish_eventfd, prepare_eventfd},
	{"timerfd", wait_eventfd, finish_timerfd, prepare_timerfd},
	{"open", wait_open, finish_open, prepare_open},
	{"terminal", wait_terminal, finish_terminal, prepare_terminal},
};

/* ---- What happens to them ---- */

static void on_signal(int signo)
{
	(void)signo;
	shared->handled++;
}

static void handle(int signo, int flags)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = flags};

	is(!sigaction(signo, &sa, NULL), "sigaction");
}

static char state_of(pid_t pid)
{
	char name[40], line[600] = "", *at;
	int fd;

	snprintf(name, sizeof name, "/proc/%d/stat", (int)pid);
	fd = open(name, O_RDONLY);
	if (fd >= 0) {
		(void)!read(fd, line, sizeof line - 1);
		close(fd);
	}
	at = strrchr(line, ')');
	return at ? at[2] : 'X';
}

/* Until it waits in the call, or has ended. A tracer's stops are another state. */
static void await_rest(void)
{
	for (int seen = 0; seen < SEEN;) {
		char state = state_of(subject);

		seen = state == 'Z' || (shared->about && state == 'S') ? seen + 1 : 0;
		usleep(1000);
	}
}

static void send_it(int signo)
{
	is(!kill(subject, signo), "kill");
}

static void disturb_handler(void)
{
	send_it(SIGUSR1);
	while (!shared->handled)
		usleep(1000);
}

static void disturb_nothing(void) {}

static void disturb_stop(void)
{
	int status;

	send_it(SIGSTOP);
	is(waitpid(subject, &status, WUNTRACED) == subject && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP, "stop");
	send_it(SIGCONT);
}

/* SIGUSR1 is ignored, SIGWINCH by default. */
static void disturb_ignored(void)
{
	send_it(SIGUSR1);
	await_rest();
	send_it(SIGWINCH);
}

/* Stopped, and a handler behind that. */
static void disturb_stopped_handler(void)
{
	int status;

	send_it(SIGSTOP);
	is(waitpid(subject, &status, WUNTRACED) == subject && WIFSTOPPED(status), "stop");
	send_it(SIGUSR1);
	send_it(SIGCONT);
	while (!shared->handled)
		usleep(1000);
}

static void disturb_fatal(void) { send_it(SIGTERM); }
static void disturb_kill(void) { send_it(SIGKILL); }

/* A line from outside says that something has been done. */
static void disturb_outside(void)
{
	char c;

	printf("waiting %d\n", (int)subject);
	fflush(stdout);
	is(read(0, &c, 1) == 1, "a word from outside");
}

static const struct disturbance {
	const char *name;
	void (*disturb)(void);
	int flags; /* of the handler; -1: ignored */
	int sleeps; /* the sleeping calls end by themselves */
} disturbances[] = {
	{"nothing", disturb_nothing, 0, 1},
	{"handler", disturb_handler, 0, HOURS},
	{"handler-restart", disturb_handler, SA_RESTART, HOURS},
	{"stop", disturb_stop, 0, HOURS},
	{"ignored", disturb_ignored, -1, HOURS},
	{"stopped-handler", disturb_stopped_handler, 0, HOURS},
	{"fatal", disturb_fatal, 0, HOURS},
	{"kill", disturb_kill, 0, HOURS},
	{"outside", disturb_outside, 0, HOURS},
};

static void be_subject(const struct row *row, const struct disturbance *d)
{
	int early = row->wait == wait_write || row->wait == wait_epoll || row->wait == wait_epoll_masked || row->wait == wait_signalfd ||
		    row->wait == wait_flock || row->wait == wait_child || row->wait == wait_childid || row->wait == wait_send;

	if (d->flags < 0)
		signal(SIGUSR1, SIG_IGN);
	else
		handle(SIGUSR1, d->flags);
	handle(SIGUSR2, 0);
	shared->sleeps = d->sleeps;
	shared->about = !early;
	errno = 0;
	shared->result = row->wait();
	shared->error = errno;
	_exit(0);
}

static void make_all(void)
{
	const struct sockaddr_un any = {.sun_family = AF_UNIX};

	memset(shared, 0, sizeof *shared);
	is(!pipe(ends) && !pipe(gate) && !socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "pipes");
	queue = msgget(IPC_PRIVATE, 0600);
	semaphore = semget(IPC_PRIVATE, 1, 0600);
	file = open(path, O_RDWR | O_CREAT, 0600);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	is(queue >= 0 && semaphore >= 0 && file >= 0 && listener >= 0, "what they wait for");
	is(!bind(listener, (const struct sockaddr *)&any, sizeof any.sun_family) && !listen(listener, 5), "listen");
}

static void drop_all(void)
{
	const int fds[] = {ends[0], ends[1], gate[0], gate[1], pair[0], pair[1], file, listener};

	for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
		close(fds[i]);
	msgctl(queue, IPC_RMID, NULL);
	semctl(semaphore, 0, IPC_RMID);
	unlink(path);
	unlink("waiting.fifo");
}

static void run(const struct row *row, const struct disturbance *d)
{
	int status;

	make_all();
	if (row->prepare)
		row->prepare();
	subject = fork();
	if (!subject)
		be_subject(row, d);
	await_rest();
	d->disturb();
	await_rest();
	/* What was not ended by that, is now: a call that was makes nothing of it. */
	if (d->disturb != disturb_fatal && d->disturb != disturb_kill)
		row->finish();
	else if (row->finish == finish_gate)
		finish_gate();
	is(waitpid(subject, &status, 0) == subject, "waitpid");
	printf("%s: status %x, result %ld %s, handled %d, %lx\n", row->name, (unsigned)status, shared->result,
	       shared->result < 0 ? strerrorname_np(shared->error) : "", shared->handled, shared->more);
	fflush(stdout);
	drop_all();
}

static int chosen(const char *name, char **names)
{
	if (!*names)
		return 1;
	for (; *names; names++)
		if (!strcmp(*names, name))
			return 1;
	return 0;
}

/* Without arguments: the disturbances, and the calls. */
int main(int argc, char **argv)
{
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	is(shared != MAP_FAILED, "mmap");
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof disturbances / sizeof disturbances[0]; i++) {
		const struct disturbance *d = &disturbances[i];

		if (argc < 2)
			puts(d->name);
		for (size_t k = 0; argc >= 2 && k < sizeof rows / sizeof rows[0]; k++)
			if (!strcmp(d->name, argv[1]) && chosen(rows[k].name, argv + 2))
				run(&rows[k], d);
	}
	for (size_t k = 0; argc < 2 && k < sizeof rows / sizeof rows[0]; k++)
		puts(rows[k].name);
	return 0;
}
