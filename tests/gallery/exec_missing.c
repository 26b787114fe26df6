// SPDX-License-Identifier: MIT
// A helper program that is not installed.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int helper_run(const char *path)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		execl(path, path, "--check", (char *)NULL);
		fprintf(stderr, "cannot start %s: %s\n", path, strerror(errno));
		_exit(127);
	}
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}

int main(void)
{
	int status = helper_run("/usr/lib/surely/not-there");

	if (status != 0)
		return 4; // HERE
	return 0;
} // HERE
