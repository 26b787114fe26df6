// SPDX-License-Identifier: MIT
/* Maps a piece of its own file as code, twice, as V8 does, and dies in the second one. tests/e2e/crashes.py */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	PIECE = 2 * 4096, /* a function may lie across pages */
};

extern const char __executable_start[];

__attribute__((noinline)) static void store(volatile int *to)
{
	*to = 1; /* @moved-code */
}

int main(void)
{
	uintptr_t page = (uintptr_t)store & ~(uintptr_t)4095;
	int fd = open("/proc/self/exe", O_RDONLY);
	char *piece = MAP_FAILED;
	void (*moved)(volatile int *);

	for (int i = 0; i < 2; i++)
		piece = mmap(NULL, PIECE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t)(page - (uintptr_t)__executable_start));
	if (piece == MAP_FAILED)
		return 1;
	moved = (void (*)(volatile int *))(uintptr_t)(piece + ((uintptr_t)store - page));
	moved((volatile int *)16);
	return 0;
}
