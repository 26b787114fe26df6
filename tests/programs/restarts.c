/* SPDX-License-Identifier: MIT */
/* restarts HOW MS: calls that wait, while an alarm comes every MS milliseconds (at most 100). HOW: restart (a handler with SA_RESTART), end (one
 * without), ignored (SIGALRM is ignored), mixed (ignored, and after some a signal with a handler). With
 * SA_RESTART the third alarm gives the call what it waits for. Prints what each gave. One thread, one process. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
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
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
	RELEASE = 3, /* the alarm that gives what is waited for */
};

static int wait_ms; /* of calls that have a time */
static struct timespec wait_time;
static volatile sig_atomic_t alarms;
static int ends[2], sockets[2], descriptions[2], event_fd, epoll_fd, timer_fd, semaphores, messages;
static char full[1 << 16];
static struct timespec left;
static uint32_t word;
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
};

static void fill_pipe(void)
{
	long n = fcntl(ends[1], F_GETPIPE_SZ);

	for (; n > 0; n -= (long)sizeof full)
		check(write(ends[1], full, sizeof full) == sizeof full, "fill");
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
	unlink(name);
	check(!flock(descriptions[0], LOCK_EX), "flock");
	check(!pipe(ends), "pipe");
	check(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), "socketpair");
	event_fd = eventfd(0, 0);
	epoll_fd = epoll_create1(0);
	timer_fd = timerfd_create(CLOCK_MONOTONIC, 0);
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	messages = msgget(IPC_PRIVATE, 0600);
	check(semaphores >= 0 && messages >= 0, "semget, msgget");
}

static void drop_objects(void)
{
	const int fds[] = {ends[0],    ends[1],  sockets[0], sockets[1], descriptions[0],
			   descriptions[1], event_fd, epoll_fd,   timer_fd};

	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		close(fds[i]);
	semctl(semaphores, 0, IPC_RMID);
	msgctl(messages, IPC_RMID, NULL);
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

	if (every < 1 || every > 100)
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
