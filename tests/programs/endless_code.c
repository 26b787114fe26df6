/* SPDX-License-Identifier: MIT */
/* Makes functions, calls them and makes others in their place: endless_code ROUNDS. Prints what they computed, and ends when its
 * standard input does. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	CALLS = 500,
	CALL_BYTES = 10,
	SIZE = 8192,
};

/* Each call leads behind itself, and what was pushed is taken away: add eax, value; call +0; pop rcx. Then ret. */
static void make(uint8_t *code, uint8_t value)
{
	for (int i = 0; i < CALLS; i++) {
		const uint8_t call[CALL_BYTES] = {0x83, 0xc0, value, 0xe8, 0, 0, 0, 0, 0x59, 0x90};

		memcpy(code + i * CALL_BYTES, call, CALL_BYTES);
	}
	code[CALLS * CALL_BYTES] = 0xc3;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	uint8_t *code = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long sum = 0;
	char c;

	for (int i = 0; i < rounds; i++) {
		int result = 0;

		mprotect(code, SIZE, PROT_READ | PROT_WRITE);
		make(code, (uint8_t)(i % 100));
		mprotect(code, SIZE, PROT_READ | PROT_EXEC);
		__asm__ volatile("call *%1" : "+a"(result) : "r"(code) : "rcx", "cc", "memory");
		sum += result;
	}
	printf("%ld\n", sum);
	fflush(stdout);
	return read(0, &c, 1) != 0;
}
