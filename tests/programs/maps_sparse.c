/* SPDX-License-Identifier: MIT */
/* maps_sparse FILE: makes a file of 256 GB with three pages in it, and another mapping that reaches far behind
 * the end of a small one, as databases do; prints what is there. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define GB (1ul << 30)

enum { PAGE = 4096 };

/* The file changes while all of it is mapped. */
static int change_shared(int fd, const char *at)
{
	struct iovec v = {"vector", 6};

	if (pwrite(fd, "changed", 7, 5) != 7 || lseek(fd, 100 * GB, SEEK_SET) < 0 || write(fd, "far", 4) != 4 || pwritev(fd, &v, 1, 200 * GB) != 6)
		return 1;
	printf("%s %s %s\n", at, at + 100 * GB, at + 200 * GB);
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 100 * GB + 1, PAGE))
		puts("no holes");
	printf("%s.\n", at + 100 * GB);
	if (ftruncate(fd, 100 * GB) || ftruncate(fd, 256 * GB))
		return 1;
	printf("%d %d\n", at[100 * GB], at[200 * GB]);
	fcntl(fd, F_SETFL, O_APPEND);
	if (pwrite(fd, "appended", 9, 0) != 9 || ftruncate(fd, 256 * GB) || write(fd, "again", 6) != 6)
		return 1;
	printf("%s\n", at);
	return msync((void *)at, PAGE, MS_SYNC);
}

/* Mappings grow far behind what they are of. */
static void grow(int fd)
{
	char *file = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0), *none = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *common = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	none[1] = common[1] = 'x';
	file = mremap(file, PAGE, 40 * GB, MREMAP_MAYMOVE);
	none = mremap(none, PAGE, 40 * GB, MREMAP_MAYMOVE);
	common = mremap(common, PAGE, 40 * GB, MREMAP_MAYMOVE);
	printf("%s %s%d %s\n", file, none + 1, none[39 * GB], common + 1);
}

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
	if (change_shared(fd, (char *)at))
		return 5;
	grow(fd);
	return 0;
}
