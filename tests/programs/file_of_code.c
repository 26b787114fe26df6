/* SPDX-License-Identifier: MIT */
/* file_of_code FILE: maps the code in FILE, which it makes, privately, and writes other code to FILE between its runs
 * (pwrite). Prints the sum of what the code gives. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS = 50, PAGE = 4096, AT = 48 };

int main(int argc, char **argv)
{
	uint8_t code[] = {0xb8, 0, 0, 0, 0, 0xc3}; /* mov $0, %eax; ret */
	int fd = argc == 2 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	int (*run)(void);
	char *mapped;
	unsigned long sum = 0;

	if (fd < 0 || ftruncate(fd, PAGE))
		return 2;
	mapped = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (mapped == MAP_FAILED)
		return 2;
	run = (int (*)(void))(uintptr_t)(mapped + AT);
	for (int i = 0; i < ROUNDS; i++) {
		code[1] = (uint8_t)i;
		if (pwrite(fd, code, sizeof code, AT) != sizeof code)
			return 2;
		sum = 3 * sum + (unsigned)run();
	}
	printf("%lu\n", sum);
	return 0;
}
