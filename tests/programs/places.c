/* SPDX-License-Identifier: MIT */
/* Without a C library: conditionals, REP, calls through a pointer, numbers of the processor's own,
 * and a system call in each round. Exits with 5. */
static volatile unsigned long sums[8];
static char from[64], to[64];

static long make_call(long nr, long a, long b, long c)
{
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(nr), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return result;
}

static unsigned long odd(unsigned long x)
{
	return x * 3 + 1;
}

static unsigned long even(unsigned long x)
{
	return x / 2;
}

static __attribute__((noinline)) void copy(unsigned long n)
{
	const char *source = from;
	char *target = to;

	__asm__ volatile(".globl copying\ncopying: rep movsb" : "+S"(source), "+D"(target), "+c"(n) : : "memory");
}

void _start(void)
{
	static unsigned long (*const steps[])(unsigned long) = {even, odd};

	for (unsigned long round = 1; round <= 8; round++) {
		unsigned low, high;

		__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
		sums[0] += low ^ high;
		for (unsigned long x = round * 7; x != 1; x = steps[x & 1](x))
			sums[round % 8] += x;
		from[round] = (char)round;
		copy(round * 8);
		make_call(1, 1, (long)to, 0);
	}
	make_call(231, 5, 0, 0);
	__builtin_unreachable();
}
