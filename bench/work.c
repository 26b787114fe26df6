/* SPDX-License-Identifier: MIT */
/* work KIND COUNT: does COUNT rounds of something, so that the cost of a round can be told from
 * that of starting. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A sieve's inner loop: nothing but arithmetic and conditional branches that are hard to foretell.
 */
static uint64_t branches(uint64_t x)
{
	for (int i = 0; i < 64; i++)
		x = x & 1 ? x * 3 + 1 : x / 2 + 77;
	return x;
}

/* Conditional branches of two bytes, a few instructions apart, easy to foretell. */
static uint64_t shorts(uint64_t x)
{
	uint64_t count = 64;

	__asm__ volatile("1: testb $1, %%cl\n\tjz 2f\n\tincq %0\n2: testb $2, %%cl\n\tjz "
			 "3f\n\taddq $3, %0\n3: testb $4, %%cl\n\tjnz 4f\n\tdecq %0\n"
			 "4: decq %%rcx\n\tjnz 1b"
			 : "+r"(x), "+c"(count)::"cc");
	return x;
}

static __attribute__((noinline)) uint64_t leaf(uint64_t x) { return x * 2654435761u + 1; }
static __attribute__((noinline)) uint64_t other_leaf(uint64_t x) { return x ^ x >> 7; }

static uint64_t (*const volatile leaves[2])(uint64_t) = {leaf, other_leaf};

static uint64_t calls(uint64_t x)
{
	for (int i = 0; i < 32; i++)
		x = leaves[x & 1](x);
	return x;
}

static uint64_t memory(uint64_t x)
{
	static uint8_t a[4096], b[4096];

	memset(a, (int)x, sizeof a);
	memcpy(b, a, sizeof b);
	return x + b[x & 4095];
}

static uint64_t syscalls(uint64_t x) { return x + (uint64_t)syscall(SYS_getppid); }

/* As daemons close what may be open; it is not. */
static uint64_t closes(uint64_t x) { return x + !close(1000 + (int)(x & 0xffff)) + 1; }

static const struct kind {
	const char *name;
	uint64_t (*round)(uint64_t);
} kinds[] = {{"branches", branches}, {"shorts", shorts},     {"calls", calls},
	     {"memory", memory},     {"syscalls", syscalls}, {"closes", closes}};

int main(int argc, char **argv)
{
	long count = argc == 3 ? atol(argv[2]) : 0;

	for (size_t i = 0; argc == 3 && i < sizeof kinds / sizeof kinds[0]; i++) {
		uint64_t x = 27;

		if (strcmp(kinds[i].name, argv[1]))
			continue;
		while (count-- > 0)
			x = kinds[i].round(x);
		printf("%llu\n", (unsigned long long)x);
		return 0;
	}
	return 2;
}
