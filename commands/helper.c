/* SPDX-License-Identifier: MIT */
#include "commands/helper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

bool helper_btview(char path[PATH_MAX])
{
	static const char name[] = "btview";
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - sizeof name);
	char *slash;

	if (len <= 0)
		return false;
	path[len] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	memcpy(slash + 1, name, sizeof name);
	return !access(path, X_OK);
}

/* In the child. The signals that the front blocks and ignores are as usual. */
static void become_helper(const char *const *argv, int out)
{
	const struct rlimit none = {0};
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t set;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &none);
	for (int signo = 1; signo < NSIG; signo++)
		signal(signo, SIG_DFL);
	signal(SIGXFSZ, SIG_IGN); /* it may write to the trace, and must not leave half a file */
	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	unsetenv("DEBUGINFOD_URLS"); /* a server is not to be waited for */
	if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(nothing, 2) < 0 || dup2(out, 1) < 0)
		return;
	execv(argv[0], (char *const *)(uintptr_t)argv);
}

static int milliseconds_left(const struct timespec *since, int patience)
{
	struct timespec now;
	long long passed;

	clock_gettime(CLOCK_MONOTONIC, &now);
	passed = (now.tv_sec - since->tv_sec) * 1000LL + (now.tv_nsec - since->tv_nsec) / 1000000;
	return passed < patience ? (int)(patience - passed) : 0;
}

/* Reads all, also what does not fit. Returns false unless its end has come in time. */
static bool read_all(int from, int patience, char *out, size_t size)
{
	struct pollfd fd = {.fd = from, .events = POLLIN};
	struct timespec began;
	char more[4096];
	size_t len = 0;

	clock_gettime(CLOCK_MONOTONIC, &began);
	while (poll(&fd, 1, milliseconds_left(&began, patience)) > 0) {
		ssize_t n = read(from, more, sizeof more);
		size_t taken = n > 0 && (size_t)n < size - 1 - len ? (size_t)n : size - 1 - len;

		if (n <= 0)
			return !n;
		memcpy(out + len, more, taken);
		len += taken;
		out[len] = '\0';
	}
	return false;
}

bool helper_start(struct helper *h, const char *const *argv)
{
	int pipes[2];

	*h = (struct helper){.pid = -1, .from = -1};
	if (pipe2(pipes, O_CLOEXEC))
		return false;
	h->pid = fork();
	if (!h->pid) {
		become_helper(argv, pipes[1]);
		_exit(127);
	}
	close(pipes[1]);
	h->from = pipes[0];
	return h->pid > 0;
}

bool helper_read(struct helper *h, int patience, char *out, size_t size)
{
	*out = '\0';
	return h->pid > 0 && read_all(h->from, patience, out, size);
}

/* It is asked each millisecond: a wait with a time limit needs Linux 5.3 (pidfd_open(2)). */
static bool has_ended(const struct helper *h, int patience, int *status)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	struct timespec began;
	pid_t ended;

	clock_gettime(CLOCK_MONOTONIC, &began);
	while (!(ended = waitpid(h->pid, status, WNOHANG)) && milliseconds_left(&began, patience))
		nanosleep(&pause, NULL);
	return ended == h->pid;
}

bool helper_end(struct helper *h, int patience)
{
	int status = 0;
	bool ended = h->pid > 0 && has_ended(h, patience, &status);

	if (h->pid > 0 && !ended) {
		kill(h->pid, SIGKILL);
		waitpid(h->pid, NULL, 0);
	}
	if (h->from >= 0)
		close(h->from);
	*h = (struct helper){.pid = -1, .from = -1};
	return ended && !status;
}

bool helper_ask(const char *const *argv, int patience, char *out, size_t size)
{
	struct helper h;
	bool told = helper_start(&h, argv) && helper_read(&h, patience, out, size);

	/* A helper that has closed its output is about to end. */
	return helper_end(&h, told ? patience : 0) && told;
}
