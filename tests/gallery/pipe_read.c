// SPDX-License-Identifier: MIT
// The parent reads to the end of a pipe whose writing end it has kept open itself.
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

struct child {
	pid_t pid;
	int output;
	int forgotten;
};

static int child_start(struct child *child, const char *words)
{
	int ends[2];

	if (pipe(ends) != 0)
		return -1;
	child->pid = fork();
	if (child->pid == 0) {
		close(ends[0]);
		dprintf(ends[1], "%s\n", words);
		_exit(0);
	}
	child->output = ends[0];
	child->forgotten = ends[1];
	return 0;
}

static size_t child_read_all(const struct child *child)
{
	char buffer[256];
	size_t all = 0;
	ssize_t part;

	while ((part = read(child->output, buffer, sizeof buffer)) > 0) // HERE
		all += (size_t)part;
	return all;
}

int main(void)
{
	struct child child;

	if (child_start(&child, "hello from below") != 0)
		return 1;
	printf("%zu bytes\n", child_read_all(&child));
	waitpid(child.pid, NULL, 0);
	return 0;
}
