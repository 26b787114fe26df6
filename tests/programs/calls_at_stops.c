// SPDX-License-Identifier: MIT
/* calls_at_stops N: makes N system calls that the engine makes at stops, says so when it has made a twentieth of them and when all, and ends when its
 * standard input does. tests/e2e/surroundings.py */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 0;
	char byte;

	for (long i = 1; i <= n; i++) {
		kill(getpid(), 0);
		if (i == n / 20 || i == n) {
			printf("%ld\n", i);
			fflush(stdout);
			while (read(0, &byte, 1) == 1 && byte != '\n')
				;
		}
	}
	return 0;
}
