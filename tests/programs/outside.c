// SPDX-License-Identifier: MIT
/* outside [spin]: says its pid and waits, blocked in a system call or spinning, for a signal from outside. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile unsigned long spins;

__attribute__((noinline)) static void spin_here(void)
{
	for (;;)
		spins++;
}

__attribute__((noinline)) static void wait_here(void)
{
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	printf("%d\n", (int)getpid());
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "spin"))
		spin_here();
	wait_here();
}
