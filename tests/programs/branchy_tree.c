// SPDX-License-Identifier: MIT
/* branchy_tree PROCESSES ROUNDS: processes that take many branches, of which conditionals and indirect ones go either way, and stay until
 * standard input ends. Prints a line when all stand. tests/e2e/history.py */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static unsigned add(unsigned x) { return x * 3 + 1; }
__attribute__((noinline)) static unsigned flip(unsigned x) { return x ^ 0x55; }

static unsigned (*volatile const either[])(unsigned) = {add, flip};

static unsigned work(unsigned x, unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds; i++) {
		x = x * 1103515245u + 12345u;
		if (x & 0x10000)
			x ^= (unsigned)i;
		x = either[x >> 20 & 1](x);
	}
	return x;
}

int main(int argc, char **argv)
{
	int processes = argc > 1 ? atoi(argv[1]) : 1, ready[2], end[2], bad = 0, status;
	unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 0) : 100000;
	volatile unsigned sum;
	char byte = 0;

	if (pipe(ready) || pipe(end))
		return 3;
	for (int i = 0; i < processes; i++) {
		if (fork())
			continue;
		close(end[1]);
		sum = work((unsigned)i * 7919 + 1, rounds);
		(void)sum;
		_exit(write(ready[1], &byte, 1) != 1 || read(end[0], &byte, 1) != 0);
	}
	for (int i = 0; i < processes; i++)
		bad += read(ready[0], &byte, 1) != 1;
	puts("all stand");
	fflush(stdout);
	bad += read(STDIN_FILENO, &byte, 1) != 0;
	close(end[1]);
	while (wait(&status) > 0)
		bad += status != 0;
	return bad != 0;
}
