/* SPDX-License-Identifier: MIT */
/* connections COUNT ROUNDS: a server that holds so many connections with epoll(7), and its client, which sends a byte on each and waits for the
 * answer, round after round. Says how many answers came. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	EVENTS = 256,
	SPARE = 16, /* descriptors beside those of connections */
};

static void is(int holds, const char *what)
{
	if (holds)
		return;
	perror(what);
	exit(1);
}

static void client(const struct sockaddr_in *to, int count, int rounds)
{
	int *fds = calloc((size_t)count, sizeof *fds), answers = 0;
	char c = 'a';

	for (int i = 0; i < count; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM, 0);
		is(fds[i] >= 0 && !connect(fds[i], (const struct sockaddr *)to, sizeof *to), "connect");
	}
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < count; i++)
			is(write(fds[i], &c, 1) == 1, "write");
		for (int i = 0; i < count; i++)
			answers += read(fds[i], &c, 1) == 1;
	}
	printf("%d answers\n", answers);
	fflush(stdout);
	free(fds);
}

/* Until all are closed. */
static void serve(int listener, int count)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC), opened = 0, closed = 0;
	struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[EVENTS];

	is(!epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event), "epoll_ctl");
	while (closed < count) {
		int n = epoll_wait(epoll, events, EVENTS, -1);

		for (int i = 0; i < n; i++) {
			char c;

			event.data.fd = events[i].data.fd;
			if (event.data.fd == listener) {
				event.data.fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
				is(event.data.fd >= 0 && !epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event), "accept4");
				opened++;
			} else if (read(event.data.fd, &c, 1) == 1) {
				is(write(event.data.fd, &c, 1) == 1, "write of an answer");
			} else {
				is(!close(event.data.fd), "close");
				closed++;
			}
		}
	}
	is(opened == count, "all that were to come");
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 100, rounds = argc > 2 ? atoi(argv[2]) : 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof at;
	struct rlimit limit;
	int status;
	pid_t child;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	is(!setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
	if (limit.rlim_cur < (rlim_t)count + SPARE) {
		puts("no limit");
		return 0;
	}
	is(listener >= 0 && !bind(listener, (const struct sockaddr *)&at, sizeof at) && !listen(listener, SOMAXCONN), "listen");
	is(!getsockname(listener, (struct sockaddr *)&at, &size), "getsockname");
	child = fork();
	if (!child) {
		close(listener);
		client(&at, count, rounds);
		return 0;
	}
	serve(listener, count);
	is(waitpid(child, &status, 0) == child && !status, "the client");
	return 0;
}
