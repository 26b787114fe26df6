/* SPDX-License-Identifier: MIT */
/* maps_sparse FILE: makes a file of 256 GB with three pages in it, and another mapping that reaches far behind
 * the end of a small one, as databases do; prints what is there. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GB (1ul << 30)

int main(int argc, char **argv)
{
	static const unsigned long places[] = {0, 100 * GB + 5, 256 * GB - 100};
	int fd = open(argv[argc - 1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	const char *at;

	for (int i = 0; i < 3; i++)
		if (pwrite(fd, "somewhere", 10, (off_t)places[i]) != 10)
			return 2;
	at = mmap(NULL, 256 * GB, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
	if (at == MAP_FAILED)
		return 3;
	for (int i = 0; i < 3; i++)
		printf("%s, then %d\n", at + places[i], at[places[i] ^ 8192]);
	munmap((void *)at, 256 * GB);
	if (ftruncate(fd, 10))
		return 4;
	at = mmap(NULL, 256 * GB, PROT_READ, MAP_SHARED, fd, 0);
	puts(at);
	return 0;
}
