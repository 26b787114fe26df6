// SPDX-License-Identifier: MIT
// Tests of what must end badly, as frameworks have them ("death tests"): each child is expected to die, and does.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int *volatile nothing;

static void aborts(void)
{
	abort();
}

static void writes_to_null(void)
{
	*nothing = 1;
}

static void gives_up(void)
{
	fputs("cannot go on: no such thing\n", stderr);
	exit(3);
}

static int ends_by(void (*test)(void), int signo, int status)
{
	int how = 0;
	pid_t child = fork();

	if (child == 0) {
		test();
		_exit(0);
	}
	waitpid(child, &how, 0);
	return signo ? WIFSIGNALED(how) && WTERMSIG(how) == signo : WIFEXITED(how) && WEXITSTATUS(how) == status;
}

int main(void)
{
	int good = ends_by(aborts, SIGABRT, 0) + ends_by(writes_to_null, SIGSEGV, 0) + ends_by(gives_up, 0, 3);

	printf("%d of 3 died as they should\n", good);
	return good == 3 ? 0 : 1;
}
