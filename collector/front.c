/* SPDX-License-Identifier: MIT */
#include "collector/front.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Signals by which a user, a supervisor or a terminal tells a program something. The front passes on each that it gets, also from the
 * kernel (a hangup goes to the session's leader only); the recorder drops what reached the program by itself. */
static const int forwarded[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM};

/* Signals of terminal and job, which the program gets by itself. */
static const int ignored[] = {SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE, SIGXFSZ};

static int forward_request(void)
{
	return SIGRTMIN + 3;
}

static sigset_t forwarded_set(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof forwarded / sizeof forwarded[0]; i++)
		sigaddset(&set, forwarded[i]);
	return set;
}

static void ignore_job_signals(void)
{
	for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
		signal(ignored[i], SIG_IGN);
}

void front_shield(void)
{
	sigset_t set = forwarded_set();

	ignore_job_signals();
	sigdelset(&set, SIGALRM); /* the recorder's own timer */
	sigaddset(&set, forward_request());
	sigprocmask(SIG_BLOCK, &set, NULL);
}

int front_forwarded(struct front_group *group)
{
	static const struct timespec now = {0};
	sigset_t shared = forwarded_set(), request;
	bool reached[NSIG];
	siginfo_t info;
	int signo = 0;

	/* What we were sent too went to the whole process group: the program has it already. The front's request for it may come
	 * one tick later. */
	memcpy(reached, group->reached, sizeof reached);
	memset(group->reached, 0, sizeof group->reached);
	sigdelset(&shared, SIGALRM);
	while (sigtimedwait(&shared, &info, &now) > 0)
		reached[info.si_signo] = group->reached[info.si_signo] = true;
	sigemptyset(&request);
	sigaddset(&request, forward_request());
	while (sigtimedwait(&request, &info, &now) > 0) {
		int asked = info.si_value.sival_int;

		if (asked <= 0 || asked >= NSIG)
			continue;
		if (!reached[asked])
			signo = asked;
		group->reached[asked] = false;
	}
	return signo;
}

static void pass_on(int fd, pid_t recorder)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof info) == sizeof info) {
		union sigval value = {.sival_int = (int)info.ssi_signo};

		sigqueue(recorder, forward_request(), value);
	}
}

/* Ends this process as the program ended, without a core file of our own over the program's. */
static int end_like(const struct front_message *m)
{
	struct rlimit none = {0};
	sigset_t set;

	if (m->kind != BT_EXIT_SIGNAL)
		return m->value;
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0);
	sigemptyset(&set);
	sigaddset(&set, m->value);
	signal(m->value, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	kill(getpid(), m->value);
	return 128 + m->value; /* a signal that does not kill us, such as one that a supervisor made harmless */
}

static int act_on(const struct front_message *m, pid_t recorder, bool quiet)
{
	if (m->type == FRONT_FAILED) {
		waitpid(recorder, NULL, 0);
		fprintf(stderr, "btrec: %s\n", m->text);
		return m->value;
	}
	if (!m->lives_on)
		waitpid(recorder, NULL, 0);
	if (!quiet)
		fprintf(stderr, "btrec: %s\n", m->text);
	return end_like(m);
}

/* The shell sees its job stop by the same signal; it goes on with the program's SIGCONT. */
static void stop_like(int signo)
{
	if (signo != SIGSTOP)
		signal(signo, SIG_DFL);
	raise(signo);
	if (signo != SIGSTOP)
		signal(signo, SIG_IGN);
}

int front_wait(int pipe, pid_t recorder, bool quiet)
{
	sigset_t set = forwarded_set();
	int fd;

	sigdelset(&set, SIGALRM);
	ignore_job_signals();
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	for (;;) {
		struct pollfd fds[2] = {{.fd = pipe, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
		struct front_message m;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (fds[1].revents & POLLIN)
			pass_on(fd, recorder);
		if (!(fds[0].revents & (POLLIN | POLLHUP)))
			continue;
		if (read(pipe, &m, sizeof m) != sizeof m)
			break;
		if (m.type != FRONT_STOPPED)
			return act_on(&m, recorder, quiet);
		stop_like(m.value);
	}
	fputs("btrec: the recorder was killed, and the program with it; what it had written can be read\n", stderr);
	return 125;
}
