// SPDX-License-Identifier: MIT
/* shared_code ROUNDS: a function in memory that processes share waits for a word; a child changes what the function does behind that, then the
 * word. CPUID stands between, as cross-modifying code has it (Intel SDM volume 3, 9.1.3). Prints how often what had been there before ran. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	ANSWER = 18, /* where the function has what it returns */
};

int main(int argc, char **argv)
{
	/* f: mov 0x20001000, %eax; test %eax, %eax; jz f; push %rbx; xor %eax, %eax; cpuid; pop %rbx; mov $1, %eax; ret */
	static const uint8_t f[] = {0x8b, 0x04, 0x25, 0, 0x10, 0, 0x20, 0x85, 0xc0, 0x74, 0xf5, 0x53, 0x31, 0xc0, 0x0f, 0xa2, 0x5b, 0xb8, 1, 0, 0, 0, 0xc3};
	volatile uint8_t *code = mmap((void *)0x20000000, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	volatile int *word = (volatile int *)(code + 4096);
	int rounds = argc > 1 ? atoi(argv[1]) : 100, stale = 0;

	memcpy((uint8_t *)code, f, sizeof f);
	for (int i = 0; i < rounds; i++) {
		struct timespec pause = {.tv_nsec = 1000000 + i % 7 * 13771};

		*word = 0;
		code[ANSWER] = 1;
		if (!fork()) {
			nanosleep(&pause, NULL);
			code[ANSWER] = 2;
			__sync_synchronize();
			*word = 1;
			_exit(0);
		}
		stale += ((int (*)(void))(uintptr_t)code)() != 2;
		wait(NULL);
	}
	printf("%d of %d stale\n", stale, rounds);
	return 0;
}
