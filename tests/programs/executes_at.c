/* SPDX-License-Identifier: MIT */
/* executes_at HOW PROGRAM ARGUMENTS...: executes PROGRAM by execveat(2). HOW: memfd, a copy of it in memory; file, a descriptor of it; folder, its name and a
 * descriptor of where it lies. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv, char **envp)
{
	char folder[4096];
	int from, fd;

	if (argc < 3)
		return 1;
	snprintf(folder, sizeof folder, "%s", argv[2]);
	printf("by %s\n", argv[1]);
	fflush(stdout);
	if (!strcmp(argv[1], "folder")) {
		fd = open(dirname(folder), O_PATH | O_DIRECTORY);
		syscall(SYS_execveat, fd, basename(argv[2]), argv + 2, envp, 0);
		return 2;
	}
	fd = from = open(argv[2], O_RDONLY);
	if (!strcmp(argv[1], "memfd")) {
		fd = memfd_create("copy", 0);
		while (sendfile(fd, from, NULL, 1 << 20) > 0)
			;
	}
	syscall(SYS_execveat, fd, "", argv + 2, envp, AT_EMPTY_PATH);
	return 2;
}
