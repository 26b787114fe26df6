/* SPDX-License-Identifier: MIT */
/* Indirect branches of all kinds, long runs of conditionals and cycles of jumps in turn, by chance: whatever a record is of, some comes
 * where the room for them ends. ROUNDS; prints what comes out. tests/e2e/engine_history.py */
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long step(unsigned long);

static unsigned long state = 1;

static unsigned chance(unsigned below)
{
	state = state * 6364136223846793005ul + 1442695040888963407ul;
	return (unsigned)(state >> 33) % below;
}

static __attribute__((noinline)) unsigned long twice(unsigned long x) { return 2 * x + 1; }
static __attribute__((noinline)) unsigned long down(unsigned long x) { return x & 7 ? down(x - 1) * 3 : x; }

/* Up to some hundred conditionals without a record. */
static __attribute__((noinline)) unsigned long bits(unsigned long x)
{
	unsigned long n = 0;

	for (unsigned long y = x | 1ul << 62; y; y >>= 1)
		if (y & 1)
			n += y;
		else
			n ^= x;
	return n;
}

/* Jumps through a register, and by a table. */
static __attribute__((noinline)) unsigned long jumps(unsigned long x)
{
	static void *const to[] = {&&one, &&two, &&three, &&out};
	unsigned long n = x & 15;

	goto *to[x & 1];
one:
	x += 5;
	goto *to[n ? (n--, 1 + (x & 1)) : 3];
two:
	x ^= 9;
	goto *to[n ? (n--, x & 2) : 3];
three:
	x *= 3;
	goto *to[n ? (n--, (x >> 2) % 3) : 3];
out:
	return x;
}

/* A cycle of direct jumps alone, which a counter ends: written so that a compiler cannot leave it out. */
static __attribute__((noinline)) unsigned long around(unsigned long x)
{
	unsigned long n = x % 50 + 1;

	__asm__ volatile("1: jmp 3f\n2: dec %0\njnz 1b\njmp 4f\n3: jmp 2b\n4:" : "+r"(n) : : "cc");
	return x + n;
}

int main(int argc, char **argv)
{
	static step *const steps[] = {twice, down, bits, jumps, around, twice, jumps, down};
	unsigned long sum = 0, rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 100000;
	unsigned each = 0;

	for (unsigned long i = 0; i < rounds; i++) {
		if (i % 1000 == 0) /* for a while mostly one of them */
			each = chance(8);
		sum += steps[chance(4) ? each : chance(8)](sum + i);
	}
	printf("%lx\n", sum);
	return 0;
}
