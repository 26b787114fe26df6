/* SPDX-License-Identifier: MIT */
/* Has the kernel write to address 0, where it has mapped memory. 1: it may not. */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	char *volatile at = NULL;
	int ends[2];

	setvbuf(stdout, NULL, _IONBF, 0);
	puts("begins");
	if (pipe(ends) || write(ends[1], "here", 5) != 5 ||
	    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0))
		return 1;
	if (syscall(SYS_read, ends[0], 0, 5) == 5)
		printf("mapped %s\n", at);
	return 0;
}
