/* SPDX-License-Identifier: MIT */
/* restarts HOW MS TRACED: calls that wait, while an alarm comes every MS milliseconds (at most 100). TRACED: a process that is
 * another's child, which is traced, so that it can be waited for. HOW: restart (a handler with SA_RESTART), end (one
 * without), ignored (SIGALRM is ignored), mixed (ignored, and after some a signal with a handler). With
 * SA_RESTART the third alarm gives the call what it waits for. Prints what each gave. One thread, one process. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449 /* asm/unistd_64.h since Linux 5.16 */
#endif

enum {
	RELEASE = 3, /* the alarm that gives what is waited for */
};

/* struct futex_waitv of linux/futex.h since Linux 5.16. */
struct waited_word {
	uint64_t value, address;
	uint32_t flags, reserved;
};

static int wait_ms; /* of calls that have a time */
static struct timespec wait_time;
static volatile sig_atomic_t alarms;
static int ends[2], sockets[2], descriptions[2], event_fd, epoll_fd, timer_fd, semaphores, messages;
static int others[2]; /* a second pipe */
static int listening, caller, watching, signal_fd, terminal, line;
static mqd_t empty_queue, full_queue;
static struct sockaddr_un address;
static char folder[64], fifo[96], own_pid[16];
static char full[1 << 16];
static struct timespec left;
static uint32_t word;
static pid_t traced;
static void (*release)(void);

static void on_alarm(int signo)
{
	(void)signo;
	if (++alarms == RELEASE && release)
		release();
}

static void check(bool holds, const char *what)
{
	if (!holds) {
		perror(what);
		exit(99);
	}
}

static void write_pipe(void) { check(write(ends[1], "x", 1) == 1, "write"); }
static void drain_pipe(void) { check(read(ends[0], full, sizeof full) > 0, "drain"); }
static void write_socket(void) { check(write(sockets[1], "x", 1) == 1, "send"); }
static void write_event(void) { check(!eventfd_write(event_fd, 1), "eventfd"); }
static void unlock_file(void) { check(!flock(descriptions[0], LOCK_UN), "unlock"); }
static void change_word(void) { word++; }

static void receive_queued(void) { check(mq_receive(full_queue, full, 8, NULL) >= 0, "mq_receive"); }
static void send_queued(void) { check(!mq_send(empty_queue, "x", 1, 0), "mq_send"); }
static void touch(void) { check(write(descriptions[0], "x", 1) == 1, "touch"); }
static void send_signal(void) { check(!kill(getpid(), SIGUSR2), "kill"); }
static void type_line(void) { check(write(terminal, "line\n", 5) == 5, "type"); }
static void take_call(void) { check(accept4(listening, NULL, NULL, SOCK_NONBLOCK) >= 0, "accept"); }
static void open_other_end(void) { check(open(fifo, O_RDWR | O_NONBLOCK) >= 0, "open"); }
static void open_reading_end(void) { check(open(fifo, O_RDONLY | O_NONBLOCK) >= 0, "open"); }
static void call_listener(void)
{
	check(!connect(caller, (struct sockaddr *)&address, sizeof address), "connect");
}

static void unlock_range(void)
{
	struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

	check(!fcntl(descriptions[0], F_OFD_SETLK, &all), "unlock");
}

static long read_pipe(void) { return read(ends[0], full, 1); }
static long write_pipe_full(void) { return write(ends[1], full, 4096); }
static long receive(void) { return recv(sockets[0], full, 1, 0); }
static long read_event(void) { return read(event_fd, &(uint64_t){0}, 8); }
static long lock_file(void) { return flock(descriptions[1], LOCK_EX); }
static long wait_word(void) { return syscall(SYS_futex, &word, FUTEX_WAIT, word, NULL); }
static long take_semaphore(void) { return semop(semaphores, &(struct sembuf){.sem_op = -1}, 1); }
static long take_message(void)
{
	struct {
		long type;
		char text[8];
	} m;

	return msgrcv(messages, &m, sizeof m.text, 0, 0);
}
static long wait_signal(void) { return pause(); }

/* 0 instead of a descriptor, which others may have before. */
static long closed(long fd)
{
	if (fd >= 0)
		close((int)fd);
	return fd >= 0 ? 0 : fd;
}

static long lock_range_by(int operation)
{
	struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET}, own = all;

	check(!fcntl(descriptions[0], F_OFD_SETLK, &own), "F_OFD_SETLK");
	return fcntl(descriptions[1], operation, &all);
}

static long lock_range(void) { return lock_range_by(F_SETLKW); }
static long lock_own_range(void) { return lock_range_by(F_OFD_SETLKW); }
static long receive_message(void) { return mq_receive(empty_queue, full, 8, NULL); }
static long send_message(void) { return mq_send(full_queue, "x", 1, 0); }
static long accept_caller(void) { return closed(accept(listening, NULL, NULL)); }
static long open_to_read(void) { return closed(open(fifo, O_RDONLY)); }
static long open_to_write(void) { return closed(open(fifo, O_WRONLY)); }
static long read_watched(void) { return read(watching, full, 100); }
static long read_signal(void) { return read(signal_fd, full, 128); }
static long read_line(void) { return read(line, full, 100); }
static long move_bytes(void) { return splice(ends[0], NULL, others[1], NULL, 10, 0); }

/* The listener has as many callers waiting as it may. */
static long connect_to_full(void)
{
	int fd;

	for (;;) {
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (connect(fd, (struct sockaddr *)&address, sizeof address))
			break;
	}
	check(errno == EAGAIN, "connect until it is full");
	errno = 0;
	return connect(caller, (struct sockaddr *)&address, sizeof address);
}

static long receive_messages(void)
{
	struct iovec place = {full, 10};
	struct mmsghdr message = {.msg_hdr = {.msg_iov = &place, .msg_iovlen = 1}};
	long result = recvmmsg(sockets[0], &message, 1, 0, NULL);

	printf("  length %u\n", message.msg_len);
	return result;
}

static long send_to_queue(void)
{
	struct {
		long type;
		char text[1024];
	} m = {.type = 1};

	while (!msgsnd(messages, &m, sizeof m.text, IPC_NOWAIT))
		;
	check(errno == EAGAIN, "msgsnd until it is full");
	errno = 0;
	return msgsnd(messages, &m, sizeof m.text, 0);
}

static struct timespec in_a_while(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += wait_time.tv_nsec;
	t.tv_sec += wait_time.tv_sec + t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static long receive_message_a_while(void)
{
	const struct timespec until = in_a_while(CLOCK_REALTIME);

	return mq_timedreceive(empty_queue, full, 8, NULL, &until);
}

static long send_message_a_while(void)
{
	const struct timespec until = in_a_while(CLOCK_REALTIME);

	return mq_timedsend(full_queue, "x", 1, 0, &until);
}

/* Another process, that which records, is told to be its owner. No signal ends it: the kernel makes
 * it again each time. */
static long lock_owned_word(void)
{
	const struct timespec until = in_a_while(CLOCK_REALTIME);

	word = (uint32_t)getppid();
	return syscall(SYS_futex, &word, FUTEX_LOCK_PI, 0, &until);
}

static long wait_words(void)
{
	const struct waited_word waited = {word, (uint64_t)(uintptr_t)&word, 2 /* FUTEX2_SIZE_U32 */, 0};

	return syscall(SYS_futex_waitv, &waited, 1, 0, NULL, CLOCK_MONOTONIC);
}

static long wait_words_a_while(void)
{
	const struct waited_word waited = {word, (uint64_t)(uintptr_t)&word, 2, 0};
	const struct timespec until = in_a_while(CLOCK_MONOTONIC);

	return syscall(SYS_futex_waitv, &waited, 1, 0, &until, CLOCK_MONOTONIC);
}

static long accept_a_while(void)
{
	const struct timeval t = {wait_ms / 1000, wait_ms % 1000 * 1000};

	setsockopt(listening, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
	return closed(accept(listening, NULL, NULL));
}

static void stop_traced(void) { check(!ptrace(PTRACE_INTERRUPT, traced, NULL, NULL), "PTRACE_INTERRUPT"); }

static void trace(void) { check(!ptrace(PTRACE_SEIZE, traced, NULL, NULL), "PTRACE_SEIZE"); }

/* It must be stopped to be let go. */
static void let_go(void)
{
	int error = errno;

	if (ptrace(PTRACE_DETACH, traced, NULL, NULL)) {
		stop_traced();
		while (waitpid(traced, NULL, __WALL) < 0)
			check(errno == EINTR, "waitpid");
		check(!ptrace(PTRACE_DETACH, traced, NULL, NULL), "PTRACE_DETACH");
	}
	errno = error;
}

static long wait_traced(void)
{
	int status = 0;
	long result;

	trace();
	errno = 0;
	result = wait4(traced, &status, __WALL, NULL);
	let_go();
	printf("  status %x\n", (unsigned)status);
	return result == traced ? 0 : result;
}

static long wait_id_traced(void)
{
	siginfo_t info = {.si_code = 0};
	long result;

	trace();
	errno = 0;
	result = waitid(P_PID, (id_t)traced, &info, WSTOPPED | WEXITED | __WALL);
	let_go();
	printf("  code %d\n", info.si_code);
	return result;
}

static long suspend(void)
{
	sigset_t none;

	sigemptyset(&none);
	return sigsuspend(&none);
}

static long sleep_a_while(void)
{
	long result = nanosleep(&wait_time, &left);

	printf("  left %d\n", left.tv_sec || left.tv_nsec);
	left.tv_nsec = 0;
	return result;
}

static long sleep_by_clock(void)
{
	long result = clock_nanosleep(CLOCK_MONOTONIC, 0, &wait_time, &left);

	printf("  left %ld\n", left.tv_nsec);
	left.tv_nsec = 0;
	return result;
}

static long sleep_until(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += wait_time.tv_nsec;
	t.tv_sec += wait_time.tv_sec + t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static struct pollfd polled(void)
{
	return (struct pollfd){.fd = ends[0], .events = POLLIN, .revents = 77};
}

static long poll_pipe(void)
{
	struct pollfd p = polled();
	long result = poll(&p, 1, wait_ms);

	printf("  revents %d\n", p.revents);
	return result;
}

static long poll_with_time(void)
{
	struct pollfd p = polled();
	struct timespec t = wait_time;
	long result = syscall(SYS_ppoll, &p, 1, &t, NULL, 8);

	printf("  revents %d left %ld\n", p.revents, t.tv_nsec);
	return result;
}

static long select_pipe(void)
{
	struct timeval t = {wait_ms / 1000, wait_ms % 1000 * 1000};
	fd_set set;
	long result;

	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	result = select(ends[0] + 1, &set, NULL, NULL, &t);
	printf("  left %ld set %d\n", (long)t.tv_usec, !!FD_ISSET(ends[0], &set));
	return result;
}

static long select_with_mask(void)
{
	struct timespec t = wait_time;
	sigset_t none;

	sigemptyset(&none);
	return pselect(0, NULL, NULL, NULL, &t, &none);
}

static long wait_word_a_while(void)
{
	return syscall(SYS_futex, &word, FUTEX_WAIT, word, &wait_time);
}

static long take_semaphore_a_while(void)
{
	return semtimedop(semaphores, &(struct sembuf){.sem_op = -1}, 1, &wait_time);
}

static long wait_events(void)
{
	struct epoll_event e;

	return epoll_wait(epoll_fd, &e, 1, wait_ms);
}

static long wait_for_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return sigtimedwait(&set, NULL, &wait_time);
}

static long receive_a_while(void)
{
	const struct timeval t = {wait_ms / 1000, wait_ms % 1000 * 1000}, none = {0};
	long result;
	int saved;

	setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
	result = recv(sockets[0], full, 1, 0);
	saved = errno;
	setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
	errno = saved;
	return result;
}

static long read_timer(void)
{
	const struct itimerspec t = {.it_value = wait_time};
	uint64_t n = 0;

	timerfd_settime(timer_fd, 0, &t, NULL);
	return read(timer_fd, &n, 8);
}

static const struct waiting {
	const char *name;
	long (*call)(void);
	void (*release)(void); /* NULL: a time or any handler ends it */
	bool is_timed;
} calls[] = {
	{"read", read_pipe, write_pipe, false},
	{"write", write_pipe_full, drain_pipe, false},
	{"recv", receive, write_socket, false},
	{"read-event", read_event, write_event, false},
	{"flock", lock_file, unlock_file, false},
	{"futex", wait_word, change_word, false},
	{"semop", take_semaphore, NULL, false},
	{"msgrcv", take_message, NULL, false},
	{"fcntl-lock", lock_range, unlock_range, false},
	{"fcntl-own-lock", lock_own_range, unlock_range, false},
	{"mq_receive", receive_message, send_queued, false},
	{"mq_send", send_message, receive_queued, false},
	{"accept", accept_caller, call_listener, false},
	{"connect", connect_to_full, take_call, false},
	{"open-to-read", open_to_read, open_other_end, false},
	{"open-to-write", open_to_write, open_reading_end, false},
	{"read-inotify", read_watched, touch, false},
	{"read-signal", read_signal, send_signal, false},
	{"read-terminal", read_line, type_line, false},
	{"splice", move_bytes, write_pipe, false},
	{"recvmmsg", receive_messages, write_socket, false},
	{"msgsnd", send_to_queue, NULL, false},
	{"futex_waitv", wait_words, change_word, false},
	{"wait4", wait_traced, stop_traced, false},
	{"waitid", wait_id_traced, stop_traced, false},
	{"pause", wait_signal, NULL, false},
	{"sigsuspend", suspend, NULL, false},
	{"nanosleep", sleep_a_while, NULL, true},
	{"clock_nanosleep", sleep_by_clock, NULL, true},
	{"clock_nanosleep-until", sleep_until, NULL, true},
	{"poll", poll_pipe, NULL, true},
	{"ppoll", poll_with_time, NULL, true},
	{"select", select_pipe, NULL, true},
	{"pselect", select_with_mask, NULL, true},
	{"futex-time", wait_word_a_while, NULL, true},
	{"semtimedop", take_semaphore_a_while, NULL, true},
	{"epoll_wait", wait_events, NULL, true},
	{"sigtimedwait", wait_for_signal, NULL, true},
	{"recv-time", receive_a_while, NULL, true},
	{"read-timer", read_timer, NULL, true},
	{"mq_timedreceive", receive_message_a_while, NULL, true},
	{"mq_timedsend", send_message_a_while, NULL, true},
	{"futex-lock-pi", lock_owned_word, NULL, true},
	{"futex_waitv-time", wait_words_a_while, NULL, true},
	{"accept-time", accept_a_while, NULL, true},
};

static void fill_pipe(void)
{
	long n = fcntl(ends[1], F_GETPIPE_SZ);

	for (; n > 0; n -= (long)sizeof full)
		check(write(ends[1], full, sizeof full) == sizeof full, "fill");
}

/* As snprintf() would; but objects are made for each call, and each of snprintf()'s instructions is
 * stepped. */
static void join(char *to, const char *first, const char *second) { strcpy(stpcpy(to, first), second); }

static mqd_t make_queue(const char *which)
{
	struct mq_attr one = {.mq_maxmsg = 1, .mq_msgsize = 8};
	char name[64];
	mqd_t queue;

	join(name, which, own_pid);
	queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &one);
	check(queue != (mqd_t)-1, "mq_open");
	mq_unlink(name);
	return queue;
}

static void make_terminal(void)
{
	struct termios t;

	terminal = posix_openpt(O_RDWR | O_NOCTTY);
	check(terminal >= 0 && !grantpt(terminal) && !unlockpt(terminal), "posix_openpt");
	line = open(ptsname(terminal), O_RDWR | O_NOCTTY);
	check(line >= 0 && !tcgetattr(line, &t), "a terminal");
	t.c_lflag &= ~(tcflag_t)ECHO;
	check(!tcsetattr(line, TCSANOW, &t), "tcsetattr");
}

static void make_named(void)
{
	sigset_t set;

	strcpy(folder, "/tmp/btrec-restarts-XXXXXX");
	check(mkdtemp(folder) != NULL, "mkdtemp");
	join(fifo, folder, "/fifo");
	check(!mkfifo(fifo, 0600), "mkfifo");
	address.sun_family = AF_UNIX;
	join(address.sun_path, folder, "/socket");
	listening = socket(AF_UNIX, SOCK_STREAM, 0);
	caller = socket(AF_UNIX, SOCK_STREAM, 0);
	check(!bind(listening, (struct sockaddr *)&address, sizeof address) && !listen(listening, 0),
	      "listen");
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal_fd = signalfd(-1, &set, 0);
	check(signal_fd >= 0, "signalfd");
}

static void drop_named(void)
{
	unlink(fifo);
	unlink(address.sun_path);
	rmdir(folder);
}

/* Each call has objects of its own: what an alarm too many has given to one is not given to the
 * next. */
static void make_objects(void)
{
	static const char path[] = "/tmp/btrec-restarts-XXXXXX";
	char name[sizeof path];

	memcpy(name, path, sizeof path);
	descriptions[0] = mkstemp(name);
	check(descriptions[0] >= 0, "mkstemp");
	descriptions[1] = open(name, O_RDWR);
	watching = inotify_init();
	check(watching >= 0 && inotify_add_watch(watching, name, IN_MODIFY) >= 0, "inotify");
	unlink(name);
	check(!flock(descriptions[0], LOCK_EX), "flock");
	check(!pipe(ends) && !pipe(others), "pipe");
	check(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), "socketpair");
	event_fd = eventfd(0, 0);
	epoll_fd = epoll_create1(0);
	timer_fd = timerfd_create(CLOCK_MONOTONIC, 0);
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	messages = msgget(IPC_PRIVATE, 0600);
	check(semaphores >= 0 && messages >= 0, "semget, msgget");
	empty_queue = make_queue("/btrec-restarts-empty-");
	full_queue = make_queue("/btrec-restarts-full-");
	check(!mq_send(full_queue, "y", 1, 0), "mq_send");
	make_terminal();
	make_named();
}

static void drop_objects(void)
{
	for (int fd = STDERR_FILENO + 1; fd < 40; fd++)
		close(fd); /* those that an alarm opened, too */
	semctl(semaphores, 0, IPC_RMID);
	msgctl(messages, IPC_RMID, NULL);
	drop_named();
}

static void set_alarms(timer_t timer, long us)
{
	const struct itimerval every = {{0, us}, {0, us}};
	const struct itimerspec later = {{0, us * 3000}, {0, us * 3000}};

	setitimer(ITIMER_REAL, &every, NULL);
	timer_settime(timer, 0, &later, NULL);
}

int main(int argc, char **argv)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	struct sigaction action = {.sa_handler = on_alarm};
	const char *how = argc > 1 ? argv[1] : "";
	long every = argc > 2 ? atol(argv[2]) : 0;
	bool ignored = !strcmp(how, "ignored"), mixed = !strcmp(how, "mixed"),
	     restarts = !strcmp(how, "restart");
	timer_t timer;

	snprintf(own_pid, sizeof own_pid, "%d", (int)getpid());
	traced = argc > 3 ? atoi(argv[3]) : 0;
	if (every < 1 || every > 100 || traced <= 0)
		return 2;
	wait_ms = (int)(ignored ? every * 9 / 2 : every * 50); /* a handler comes long before */
	wait_time = (struct timespec){wait_ms / 1000, wait_ms % 1000 * 1000000L};
	if (restarts)
		action.sa_flags = SA_RESTART;
	else if (strcmp(how, "end") && !ignored && !mixed)
		return 2;
	sigaction(SIGUSR1, &action, NULL);
	if (!mixed)
		event.sigev_signo = 0, event.sigev_notify = SIGEV_NONE;
	check(!timer_create(CLOCK_MONOTONIC, &event, &timer), "timer_create");
	if (ignored || mixed)
		action.sa_handler = SIG_IGN;
	sigaction(SIGALRM, &action, NULL);
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		long result;
		int error;

		if (ignored && !calls[i].is_timed)
			continue;
		make_objects();
		if (calls[i].release == drain_pipe)
			fill_pipe();
		alarms = 0;
		release = restarts ? calls[i].release : NULL;
		set_alarms(timer, every * 1000);
		errno = 0;
		result = calls[i].call();
		error = errno;
		set_alarms(timer, 0);
		printf("%s %ld %d alarms %d\n", calls[i].name, result, error, (int)alarms);
		drop_objects();
	}
	return 0;
}
