// SPDX-License-Identifier: MIT
/* many_records N: N calls through pointers that nobody guesses, each a record of the engine's and its return another; then it ends with 3.
 * tests/e2e/surroundings.py */
#include <stdio.h>
#include <stdlib.h>

static unsigned sum;

__attribute__((noinline)) static void one(void) { sum += 1; }
__attribute__((noinline)) static void two(void) { sum += 2; }
__attribute__((noinline)) static void three(void) { sum ^= 3; }
__attribute__((noinline)) static void four(void) { sum *= 5; }

int main(int argc, char **argv)
{
	static void (*const volatile calls[])(void) = {one, two, three, four};
	long n = argc > 1 ? atol(argv[1]) : 0;
	unsigned seed = 1;

	for (long i = 0; i < n; i++) {
		seed = seed * 1103515245 + 12345;
		calls[seed >> 16 & 3]();
	}
	printf("%u\n", sum);
	return 3;
}
