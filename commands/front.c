/* SPDX-License-Identifier: MIT */
#include "commands/front.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/tracee/tracee.h"
#include "commands/cause.h"
#include "commands/ending.h"
#include "lib/array_size.h"
#include "lib/say.h"

/* The front passes on every signal that it can get and that is not about itself: signals of users,
 * supervisors and terminals to the program's process. The recorder drops those that reached the
 * program by itself, with the rest of its process group. */
static const int kept[] = {SIGKILL, SIGSTOP, SIGCONT, SIGCHLD, SIGPIPE, SIGXFSZ};

enum {
	BY_TERMINAL = 1 << 8, /* beside a signal's number: the whole process group was sent it */
};

static int forward_request(void) { return SIGRTMAX; }

int front_tick_signal(void) { return SIGRTMAX - 1; }

static sigset_t forwarded_set(void)
{
	sigset_t set;

	sigfillset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		sigdelset(&set, kept[i]);
	sigdelset(&set, forward_request());
	sigdelset(&set, front_tick_signal());
	return set;
}

/* A closed pipe and a file size limit are told by errno. */
static void ignore_write_signals(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

void front_shield(void)
{
	sigset_t set = forwarded_set();

	ignore_write_signals();
	sigaddset(&set, forward_request());
	sigaddset(&set, SIGCONT); /* it continues all the same; blocked, it tells who sent it, or
				     that the group was sent it */
	sigprocmask(SIG_BLOCK, &set, NULL);
}

bool front_goes_on(int pipe, pid_t front)
{
	int unread = 0;

	return tracee_state(front) != 'T' && (ioctl(pipe, FIONREAD, &unread) || !unread);
}

void front_program_born(void)
{
	static const struct timespec now = {0};
	sigset_t taken = forwarded_set();

	sigaddset(&taken, SIGCONT);
	while (sigtimedwait(&taken, NULL, &now) > 0)
		;
}

bool front_asked_to_end(void)
{
	static const struct timespec now = {0};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	return sigtimedwait(&set, NULL, &now) > 0;
}

/* The front's request: a signal, whether its group was sent it, and by whom. */
static union sigval request_for(int signo, bool by_terminal, pid_t from)
{
	return (union sigval){
		.sival_ptr = (void *)((uintptr_t)from << 32 |
				      (uintptr_t)(signo | (by_terminal ? BY_TERMINAL : 0)))};
}

int front_forwarded(struct front_group *group, pid_t program, struct front_signal *s)
{
	pid_t its_group = getpgid(program);
	bool shared = its_group == getpgrp();
	static const struct timespec now = {0};
	sigset_t taken = forwarded_set(), request;
	bool reached[NSIG];
	siginfo_t info;

	/* A signal that the recorder got, too, went to the whole process group: the program has it
	 * already. The front's request for it may come one tick later. */
	memcpy(reached, group->reached, sizeof reached);
	memset(group->reached, 0, sizeof group->reached);
	sigaddset(&taken, SIGCONT);
	while (sigtimedwait(&taken, &info, &now) > 0)
		reached[info.si_signo] = group->reached[info.si_signo] = true;
	sigemptyset(&request);
	sigaddset(&request, forward_request());
	while (sigtimedwait(&request, &info, &now) > 0) {
		int asked = info.si_value.sival_int & (BY_TERMINAL - 1);
		bool to_group = info.si_value.sival_int & BY_TERMINAL;

		if (asked <= 0 || asked >= NSIG)
			continue;
		to_group |= reached[asked];
		group->reached[asked] = false;
		if (to_group && shared)
			continue;
		s->to = to_group && its_group == program ? -program : program;
		s->from = (pid_t)((uintptr_t)info.si_value.sival_ptr >> 32);
		return asked;
	}
	return 0;
}

/* Waits for orphans. If we are the first process of a PID namespace (a container), they become our
 * children, and no other process waits for them. */
static void reap_orphans(pid_t recorder)
{
	siginfo_t info = {0};

	while (!waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid &&
	       info.si_pid != recorder) {
		waitpid(info.si_pid, NULL, WNOHANG);
		info.si_pid = 0;
	}
}

static void pass_on(int fd, pid_t recorder)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo == SIGCHLD) {
			reap_orphans(recorder);
			continue;
		}
		int signo = (int)info.ssi_signo;
		bool stop = signo == SIGTSTP || signo == SIGTTIN || signo == SIGTTOU;
		bool sent = info.ssi_code == SI_USER || info.ssi_code == SI_QUEUE ||
			    info.ssi_code == SI_TKILL;

		/* SIGCONT wipes out the trace of a stop in the recorder */
		sigqueue(recorder, forward_request(),
			 request_for(signo, stop && info.ssi_code == SI_KERNEL,
				     sent ? (pid_t)info.ssi_pid : 0));
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
	return 128 + m->value; /* a signal that does not kill us, such as one that a supervisor made
				  harmless */
}

/* The line for the user, then the trace's symbols: a reader of the line need not wait for them. A
 * daemon's trace is still written, and its recorder keeps them at the end. */
static void say_and_keep(const struct front_message *m, const struct front_options *o)
{
	bool keep = o->keep_symbols && m->tells && !m->dropped && !m->lives_on,
	     tell = m->failed && !o->quiet;
	struct cause cause = {.helper = {.pid = -1, .from = -1}};

	if (o->patience && (keep || tell))
		cause_begin(&cause, o->trace, keep ? CAUSE_KEEP_MS : 0, tell ? o->patience : 0);
	if (!o->quiet || m->lacks)
		ending_say(m, o->trace, cause.text);
	/* Nobody waits for anything after a run that ended well. */
	cause_end(&cause, !keep ? 0 : m->failed ? o->keep_patience : o->patience / CAUSE_WELL);
}

static int act_on(const struct front_message *m, pid_t recorder, const struct front_options *o)
{
	if (m->type == FRONT_FAILED) {
		waitpid(recorder, NULL, 0);
		say("%s", m->text);
		return m->value;
	}
	if (!m->lives_on)
		waitpid(recorder, NULL, 0);
	say_and_keep(m, o);
	o->at_end(o->arg);
	return end_like(m);
}

/* Takes the SIGCONT that ended a stop; by: its sender. False: there was none, as we have not
 * stopped. It is blocked, and stop signals wipe out older ones. */
static bool was_continued(pid_t *by)
{
	static const struct timespec now = {0};
	siginfo_t info = {0};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCONT);
	if (sigtimedwait(&set, &info, &now) != SIGCONT)
		return false;
	*by = info.si_pid;
	return true;
}

static void stop_by(int signo)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signo);
	if (signo != SIGSTOP)
		signal(signo, SIG_DFL); /* btrec may have been started with it ignored, and the
					   program has changed that */
	raise(signo);
	if (signo != SIGSTOP) { /* it was blocked until here */
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		sigprocmask(SIG_BLOCK, &set, NULL);
	}
}

/* The shell sees its job stop by the same signal. The front continues with the program's SIGCONT,
 * or passes on one that only the front got. It does not pass on one that the program has had: the
 * program may have been stopped again. */
static void stop_like(int signo, pid_t recorder)
{
	pid_t by = 0;

	stop_by(signo);
	if (!was_continued(&by)) { /* others than SIGSTOP have no effect in an orphaned process
				      group, which is not the program's then */
		stop_by(SIGSTOP);
		(void)was_continued(&by);
	}
	if (by != recorder)
		sigqueue(recorder, forward_request(), request_for(SIGCONT, false, by));
}

int front_wait(int pipe, pid_t recorder, const struct front_options *options)
{
	sigset_t set = forwarded_set(), own, children;
	int fd;

	sigemptyset(&own);
	sigaddset(&own, forward_request()); /* the shield is the recorder's; this signal is meant to
					       end us */
	sigprocmask(SIG_UNBLOCK, &own, NULL);
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, NULL);
	sigaddset(&set, SIGCHLD);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	for (;;) {
		struct pollfd fds[2] = {{.fd = pipe, .events = POLLIN},
					{.fd = fd, .events = POLLIN}};
		struct front_message m;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (fds[1].revents & POLLIN)
			pass_on(fd, recorder);
		if (!(fds[0].revents & (POLLIN | POLLHUP)))
			continue;
		if (read(pipe, &m, sizeof m) != sizeof m)
			break;
		if (m.type == FRONT_STOPPED)
			stop_like(m.value, recorder);
		else if (m.type == FRONT_SAYS)
			say("%s", m.text);
		else if (m.type != FRONT_WENT_ON)
			return act_on(&m, recorder, options);
	}
	say("the recorder was killed, and the program with it%s%s",
	    *options->trace ? "; what it had written can be read; trace: " : "", options->trace);
	return 125;
}
