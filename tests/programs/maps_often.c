/* SPDX-License-Identifier: MIT */
/* maps_often FILE TIMES: maps FILE so often, each time as a whole, looks at each page, writes to one, and unmaps it. Prints a sum of what it saw. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

int main(int argc, char **argv)
{
	struct stat st;
	unsigned long sum = 0;
	int fd = argc > 2 ? open(argv[1], O_RDONLY) : -1;

	if (fd < 0 || fstat(fd, &st))
		return 2;
	for (int i = 0; i < atoi(argv[2]); i++) {
		unsigned char *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

		if (bytes == MAP_FAILED)
			return 3;
		for (long k = 0; k < st.st_size; k += 1000)
			sum = sum * 31 + bytes[k];
		bytes[i * 100] = (unsigned char)sum;
		munmap(bytes, (size_t)st.st_size);
	}
	printf("%lx\n", sum);
	return 0;
}
