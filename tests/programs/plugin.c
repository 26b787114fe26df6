// SPDX-License-Identifier: MIT
/* A shared library of which there are several, as long in memory as each other: VALUE (a small number) tells them apart. tests/programs/plugins.c */
static long called;

__attribute__((noinline)) static long step(long sum, long k)
{
	return k & VALUE ? sum * 3 + VALUE : sum + k * VALUE;
}

/* Its data begins anew each time it is loaded. */
long plugin(long x);

long plugin(long x)
{
	long sum = VALUE;

	for (long k = 0; k < x; k++)
		sum = step(sum, k);
	return sum + ++called * 1000003;
}
