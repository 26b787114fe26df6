/* SPDX-License-Identifier: MIT */
/* Writes to its own memory, which cannot be written, through a procfs that it has mounted at the folder
 * (its argument). 77: it may not mount one. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const volatile char *at =
		mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd;

	if (argc != 2 || unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("proc", argv[1], "proc", 0, NULL) || chdir(argv[1]))
		return 77;
	fd = open("self/mem", O_WRONLY);
	printf("%zd bytes", pwrite(fd, "here", 4, (off_t)at));
	printf(": %c%c\n", at[0] ? at[0] : '-', at[3] ? at[3] : '-');
	return 0;
}
