/* SPDX-License-Identifier: MIT */
/* mapping_often TIMES: changes its mappings in so many rounds, and prints a sum of addresses and of
 * what it finds there: pages that are new are zero, others are as they were. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, SIZES = 20 };

static unsigned long sum;

static void use(char *at, size_t n, int round)
{
	for (size_t i = 0; i < n; i += 512)
		sum += (unsigned char)at[i];
	for (size_t i = 0; i < n; i += PAGE)
		at[i] = (char)(round + (int)i);
}

static void map(int round)
{
	size_t n = PAGE * (size_t)(1 + round % SIZES);
	char *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	sum += (unsigned long)at;
	use(at, n, round);
	if (round % 3 == 0)
		sum += mprotect(at, PAGE, PROT_READ) ? 1 : at[0];
	if (round % 4 == 0)
		use(mmap(at, n, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), n, round);
	if (round % 2)
		munmap(at, n);
}

static void grow(int round)
{
	char *end = sbrk(PAGE * 2);

	sum += (unsigned long)end;
	use(end, PAGE * 2, round);
	sbrk(-PAGE * (1 + round % 3));
}

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 1;

	for (int round = 0; round < times; round++) {
		map(round);
		grow(round);
	}
	printf("%lu\n", sum);
	return 0;
}
