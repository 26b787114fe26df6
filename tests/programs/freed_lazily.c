/* SPDX-License-Identifier: MIT */
/* freed_lazily FILE: gives pages to madvise(MADV_FREE) and prints what they hold, what the call
 * returned, and its third argument as the kernel leaves it: anonymous pages, those of a private
 * mapping of FILE, and both at once. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { PAGE = 4096, PAGES = 8, SIZE = PAGES * PAGE };

static void free_pages(const char *what, unsigned char *at, size_t n)
{
	register unsigned long advice __asm__("rdx") = MADV_FREE;
	long rc = SYS_madvise;
	unsigned long sum = 0;

	__asm__ volatile("syscall" : "+a"(rc), "+r"(advice) : "D"(at), "S"(n) : "rcx", "r11", "memory");
	for (size_t i = 0; i < n; i += 256)
		sum += at[i];
	printf("%s: %ld, %lu, rdx %lu\n", what, rc, sum, advice);
}

int main(int argc, char **argv)
{
	int fd = open(argv[argc - 1], O_RDONLY);
	unsigned char *at = mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *file = mmap(at + SIZE, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0);

	memset(at, 1, SIZE);
	memset(file, 2, PAGE);
	free_pages("anonymous", at, SIZE);
	memset(at, 3, SIZE);
	free_pages("a file", file, SIZE);
	free_pages("both", at + PAGE, 2 * SIZE - PAGE);
	return 0;
}
