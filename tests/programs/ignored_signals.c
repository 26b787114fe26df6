// SPDX-License-Identifier: MIT
/* ignored_signals taken|epoll|wait|semaphore|receive|read|accept|send: calls that Linux does not make again after a signal (signal(7)), while signals come that the program
 * ignores, and of which it therefore sees nothing. taken: a thread waits for an event while another one has children that end: prints how many
 * EINTR the first got. The others: with a timeout of 0.3 s, while such a signal comes 20 times a second for 5 s: prints what the call gave, and
 * whether it was over well before the signals were. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	CHILDREN = 150,
	TIMEOUT_MS = 300,
	EACH_US = 50000,
	SIGNALS = 100,
};

static volatile int done;
static int event;

static void *make_calls(void *unused)
{
	(void)unused;
	while (!done)
		syscall(SYS_getppid);
	return NULL;
}

static void *have_children(void *unused)
{
	uint64_t one = 1;

	(void)unused;
	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();

		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
	}
	done = 1;
	return (void *)(write(event, &one, sizeof one) - (ssize_t)sizeof one);
}

static int taken(void)
{
	struct epoll_event e = {.events = EPOLLIN};
	int poll = epoll_create1(0), interrupted = 0;
	pthread_t threads[2];

	event = eventfd(0, 0);
	if (poll < 0 || event < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, event, &e) || pthread_create(&threads[0], NULL, make_calls, NULL) ||
	    pthread_create(&threads[1], NULL, have_children, NULL))
		return 1;
	while (!done)
		interrupted += epoll_wait(poll, &e, 1, -1) < 0 && errno == EINTR;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%d interrupted\n", interrupted);
	return 0;
}

static int wait_for_events(void)
{
	struct epoll_event e;

	return epoll_wait(epoll_create1(0), &e, 1, TIMEOUT_MS);
}

static int wait_for_signal(void)
{
	const struct timespec timeout = {.tv_nsec = TIMEOUT_MS * 1000000};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return sigtimedwait(&set, NULL, &timeout);
}

static int wait_for_semaphore(void)
{
	const struct timespec timeout = {.tv_nsec = TIMEOUT_MS * 1000000};
	struct sembuf take = {.sem_op = -1};
	int set = semget(IPC_PRIVATE, 1, 0600), got = semtimedop(set, &take, 1, &timeout), error = errno;

	semctl(set, 0, IPC_RMID);
	errno = error;
	return got;
}

/* Of a pair of sockets whose calls have that timeout. */
static int socket_with_timeout(void)
{
	const struct timeval timeout = {.tv_usec = TIMEOUT_MS * 1000};
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) ||
	    setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout))
		return -1;
	return pair[0];
}

static int wait_for_message(void)
{
	char byte;

	return (int)recv(socket_with_timeout(), &byte, 1, 0);
}

static int wait_for_byte(void)
{
	char byte;

	return (int)read(socket_with_timeout(), &byte, 1);
}

static int wait_for_peer(void)
{
	const struct timeval timeout = {.tv_usec = TIMEOUT_MS * 1000};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr name = {.sa_family = AF_UNIX};

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) || bind(fd, &name, sizeof name.sa_family) || listen(fd, 1))
		return -2;
	return accept(fd, NULL, NULL);
}

static int wait_for_room(void)
{
	static const char much[4096];
	int fd = socket_with_timeout();

	while (send(fd, much, sizeof much, MSG_DONTWAIT) > 0)
		;
	return (int)send(fd, much, sizeof much, 0);
}

static int timed(int (*wait_for)(void))
{
	struct timespec began, ended;
	pid_t parent = getpid(), child = fork();
	int got, error;

	if (!child) {
		for (int i = 0; i < SIGNALS && getppid() == parent; i++) {
			usleep(EACH_US);
			kill(parent, SIGWINCH);
		}
		_exit(0);
	}
	clock_gettime(CLOCK_MONOTONIC, &began);
	errno = 0;
	got = wait_for();
	error = errno;
	clock_gettime(CLOCK_MONOTONIC, &ended);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	printf("%d, %s; %s\n", got, strerror(error), ended.tv_sec - began.tv_sec < 3 ? "in time" : "late");
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*wait_for)(void);
	} calls[] = {
		{"epoll", wait_for_events}, {"wait", wait_for_signal}, {"semaphore", wait_for_semaphore}, {"receive", wait_for_message},
		{"read", wait_for_byte},    {"accept", wait_for_peer}, {"send", wait_for_room},
	};
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "taken"))
		return taken();
	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
		if (!strcmp(what, calls[i].name))
			return timed(calls[i].wait_for);
	return 2;
}
