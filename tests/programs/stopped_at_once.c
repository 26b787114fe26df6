// SPDX-License-Identifier: MIT
/* stopped_at_once: each of some children is stopped and continued as soon as it has been made, before or while it begins: its parent is told of both,
 * and then of its end. Says how many of them. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	CHILDREN = 30,
	PATIENCE_S = 60,
};

static int told(pid_t child, int signo)
{
	int status;

	if (kill(child, signo) || waitpid(child, &status, WUNTRACED | WCONTINUED) != child)
		return 0;
	return signo == SIGSTOP ? WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP :
	       signo == SIGCONT ? WIFCONTINUED(status) :
				  WIFSIGNALED(status) && WTERMSIG(status) == signo;
}

int main(void)
{
	int all = 0;

	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();

		if (!child)
			for (;;)
				pause();
		alarm(PATIENCE_S);
		usleep((useconds_t)i * 100);
		all += told(child, SIGSTOP) && told(child, SIGCONT) && told(child, SIGTERM);
	}
	printf("%d of %d\n", all, CHILDREN);
	return 0;
}
