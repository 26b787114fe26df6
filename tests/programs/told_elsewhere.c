/* SPDX-License-Identifier: MIT */
/* Asks what files are (fstat) into memory that another process takes away all the time: that of a file which it cuts off. The kernel answers or
 * says that it cannot. Nobody but the kernel looks there. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, TIMES = 60000 };

int main(void)
{
	char name[] = "told-XXXXXX", bytes[16];
	int fd = mkstemp(name), known = open("/proc/self/exe", O_RDONLY), strange = 0;
	char *memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	pid_t child;

	if (memory == MAP_FAILED || read(known, bytes, sizeof bytes) < 0 || read(known, bytes, sizeof bytes) < 0) /* a file system is known then */
		return 2;
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			if (ftruncate(fd, 0) || ftruncate(fd, PAGE))
				return 1;
	}
	for (int i = 0; i < TIMES; i++) {
		int file = open("/proc/self/exe", O_RDONLY);
		long result = syscall(SYS_newfstatat, file, "", memory, AT_EMPTY_PATH);

		strange += result && result != -1;
		close(file);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	unlink(name);
	printf("strange answers: %d\n", strange);
	return 0;
}
