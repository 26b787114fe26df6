/* SPDX-License-Identifier: MIT */
/* file_of_code FILE: maps the code in FILE, which it makes, privately, and writes other code to FILE between its runs
 * (pwrite). Prints the sum of what the code gives. Then it cuts FILE, by its descriptor and by its name, and says which signal
 * the code raises. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS = 50, PAGE = 4096, AT = 48 };

static sigjmp_buf back;

static void on_fault(int signo)
{
	siglongjmp(back, signo);
}

static void tell(const char *what, int (*run)(void))
{
	int signo = sigsetjmp(back, 1);

	if (signo)
		printf("%s: signal %d\n", what, signo);
	else
		printf("%s: %d\n", what, run());
}

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
	signal(SIGBUS, on_fault);
	if (ftruncate(fd, 0))
		return 2;
	tell("cut", run);
	if (ftruncate(fd, PAGE) || pwrite(fd, code, sizeof code, AT) != sizeof code)
		return 2;
	tell("grown", run);
	close(open(argv[1], O_RDWR | O_TRUNC));
	tell("cut by its name", run);
	return 0;
}
