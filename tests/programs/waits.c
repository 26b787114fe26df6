/* SPDX-License-Identifier: MIT */
/* Waits in calls that a tracer can disturb (doc/QUIRKS.md): waits eintr, waits masked. Prints what the calls said. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static volatile sig_atomic_t handled;

static void on_signal(int signo)
{
	(void)signo;
	handled++;
}

/* QUIRK(interrupt-eintr): stopped and resumed, epoll_wait must wait on. */
static int eintr(void)
{
	struct epoll_event ev;
	int fd = epoll_create1(0), n;

	puts("waiting");
	fflush(stdout);
	n = epoll_wait(fd, &ev, 1, 3000);
	printf("%d %s\n", n, n < 0 ? strerror(errno) : "timeout");
	return 0;
}

/* QUIRK(setsigmask-restore): a signal that waits behind the mask comes under the temporary mask of epoll_pwait and ppoll, once, and
 * the mask is as before behind the call; SIGTRAP is blocked all the time. */
static int masked(void)
{
	struct sigaction a = {.sa_handler = on_signal};
	struct timespec second = {.tv_sec = 1};
	struct epoll_event ev;
	sigset_t all, none, now;
	int fd = epoll_create1(0);

	sigfillset(&all);
	sigfillset(&none);
	sigdelset(&none, SIGUSR1);
	sigaction(SIGUSR1, &a, NULL);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (int i = 0; i < 3; i++) {
		int n;

		raise(SIGUSR1);
		n = i == 1 ? ppoll(NULL, 0, &second, &none) : epoll_pwait(fd, &ev, 1, 1000, &none);
		sigprocmask(SIG_BLOCK, NULL, &now);
		printf("%d %s, handled %d, blocked USR1 %d TRAP %d\n", n, n < 0 ? strerror(errno) : "", (int)handled,
		       sigismember(&now, SIGUSR1), sigismember(&now, SIGTRAP));
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "eintr"))
		return eintr();
	if (argc == 2 && !strcmp(argv[1], "masked"))
		return masked();
	return 2;
}
