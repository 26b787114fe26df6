// SPDX-License-Identifier: MIT
/* full_cache FUNCTIONS: so many small functions, each called through a pointer: most of them by one thread, the last 4000 by two that run
 * side by side, so that a code cache that has room for fewer becomes full then. Prints how many sums are wrong. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	SIZE = 16,
	TOGETHER = 4000,
	ROUNDS = 3,
};

static uint8_t *functions;
static int count;

/* Function i gives i + n. */
static void make(int i)
{
	uint8_t code[SIZE] = {0x8d, 0x87, 0, 0, 0, 0, 0xc3}; /* lea i(%rdi), %eax; ret */

	memcpy(code + 2, &i, sizeof i);
	memcpy(functions + (size_t)i * SIZE, code, sizeof code);
}

static int wrong(int first, int step)
{
	int n = 0;

	for (int i = first; i < count; i += step)
		n += ((int (*)(int))(uintptr_t)(functions + (size_t)i * SIZE))(i % 7) != i + i % 7;
	return n;
}

static void *odd_ones(void *result)
{
	for (int i = 0; i < ROUNDS; i++)
		*(int *)result += wrong(count - TOGETHER + 1, 2);
	return NULL;
}

int main(int argc, char **argv)
{
	int most = argc > 1 ? atoi(argv[1]) : 100000, bad = 0, bad_there = 0;
	pthread_t thread;

	functions = mmap(NULL, (size_t)most * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (functions == MAP_FAILED)
		return 1;
	for (int i = 0; i < most; i++)
		make(i);
	mprotect(functions, (size_t)most * SIZE, PROT_READ | PROT_EXEC);
	count = most - TOGETHER;
	bad = wrong(0, 1);
	count = most;
	if (pthread_create(&thread, NULL, odd_ones, &bad_there))
		return 1;
	for (int i = 0; i < ROUNDS; i++)
		bad += wrong(count - TOGETHER, 2);
	pthread_join(thread, NULL);
	printf("%d wrong\n", bad + bad_there);
	return 0;
}
