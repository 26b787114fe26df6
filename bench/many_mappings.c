/* SPDX-License-Identifier: MIT */
/* many_mappings COUNT: COUNT mappings, then COUNT single pages mapped anew, then a crash. */
#include <stdlib.h>
#include <sys/mman.h>

enum {
	PAGE = 4096,
	FLAGS = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
};

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	char *parted = mmap(NULL, n * 2 * PAGE, PROT_NONE, FLAGS, -1, 0);
	char *anew = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, FLAGS, -1, 0);

	for (size_t i = 0; i < n; i++)
		mprotect(parted + i * 2 * PAGE, PAGE, PROT_READ);
	for (size_t i = 0; i < n; i++) {
		mmap(anew + i * PAGE, PAGE, PROT_READ | PROT_WRITE, FLAGS | MAP_FIXED, -1, 0);
		madvise(anew + i * PAGE, PAGE, MADV_DONTDUMP);
	}
	return *(volatile int *)NULL;
}
