/* SPDX-License-Identifier: MIT */
#include "commands/cause.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool find_btview(char path[PATH_MAX])
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
static void become_btview(const char *path, const char *trace, int out)
{
	const struct rlimit none = {0};
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t set;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &none);
	for (int signo = 1; signo < NSIG; signo++)
		signal(signo, SIG_DFL);
	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	unsetenv("DEBUGINFOD_URLS"); /* a server is not to be waited for */
	if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(nothing, 2) < 0 || dup2(out, 1) < 0)
		return;
	execl(path, "btview", "--headline", "--", trace, (char *)NULL);
}

static int milliseconds_left(const struct timespec *since, int patience)
{
	struct timespec now;
	long long passed;

	clock_gettime(CLOCK_MONOTONIC, &now);
	passed = (now.tv_sec - since->tv_sec) * 1000LL + (now.tv_nsec - since->tv_nsec) / 1000000;
	return passed < patience ? (int)(patience - passed) : 0;
}

/* Reads a line. Returns false unless its end has come in time. */
static bool read_line(int from, int patience, char text[CAUSE_TEXT_MAX])
{
	struct pollfd fd = {.fd = from, .events = POLLIN};
	struct timespec began;
	size_t len = 0;
	ssize_t n;

	clock_gettime(CLOCK_MONOTONIC, &began);
	while (len < CAUSE_TEXT_MAX - 1 && poll(&fd, 1, milliseconds_left(&began, patience)) > 0 &&
	       (n = read(from, text + len, CAUSE_TEXT_MAX - 1 - len)) > 0) {
		char *end = memchr(text + len, '\n', (size_t)n);

		len += (size_t)n;
		if (!end)
			continue;
		*end = '\0';
		return end > text;
	}
	return false;
}

bool cause_tell(const char *trace, int patience, char text[CAUSE_TEXT_MAX])
{
	char path[PATH_MAX];
	int pipes[2];
	bool told = false;
	pid_t pid;

	*text = '\0';
	if (!find_btview(path) || pipe2(pipes, O_CLOEXEC))
		return false;
	pid = fork();
	if (!pid) {
		become_btview(path, trace, pipes[1]);
		_exit(127);
	}
	close(pipes[1]);
	if (pid > 0) {
		told = read_line(pipes[0], patience, text);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	close(pipes[0]);
	if (!told)
		*text = '\0';
	return told;
}
