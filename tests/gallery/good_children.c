// SPDX-License-Identifier: MIT
// A server that hears of its children by SIGCHLD; some of them end with 1, which is their answer.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t ended, odd;

static void on_child(int signo)
{
	int status;

	(void)signo;
	while (waitpid(-1, &status, WNOHANG) > 0) {
		ended++;
		odd += WIFEXITED(status) && WEXITSTATUS(status);
	}
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_child, .sa_flags = SA_RESTART };
	sigset_t none, child;

	sigaction(SIGCHLD, &action, NULL);
	sigemptyset(&none);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	for (int i = 0; i < 4; i++)
		if (fork() == 0)
			_exit(i % 2);
	while (ended < 4)
		sigsuspend(&none);
	printf("%d of %d odd\n", (int)odd, (int)ended);
	return 0;
}
