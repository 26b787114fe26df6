// SPDX-License-Identifier: MIT
/* stacks big|deep|overflow|alternate|threads|headless: dies where its stack is large, or that of a handler ("large-exit": ends with 3 in 10 MB of it); or waits
 * with three threads, behind "headless" without its first one. tests/e2e/stacks.py */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile unsigned sum;

/* More branches than the test lets be kept. */
static void forget(void)
{
	for (unsigned i = 0; i < 20000; i++)
		sum += i % 3 ? i : 1;
}

__attribute__((noinline)) static void leaf(const char *text)
{
	forget();
	*(volatile char *)(uintptr_t)(text[5] - '5') = 1;
}

__attribute__((noinline)) static void parse(int depth, bool dies)
{
	char text[400000];

	memset(text, '5', sizeof text);
	if (depth)
		parse(depth - 1, dies);
	else if (dies)
		leaf(text);
	else
		exit(3);
	sum += (unsigned)text[sum % sizeof text];
}

__attribute__((noinline)) static void descend(int depth)
{
	volatile char bytes[400];

	bytes[0] = (char)depth;
	if (depth)
		descend(depth - 1);
	else
		leaf("555555");
	sum += (unsigned)bytes[0];
}

__attribute__((noinline)) static void on_alternate(int signo)
{
	(void)signo;
	forget();
	abort();
}

__attribute__((noinline)) static void innermost(volatile int *at)
{
	*at = 1;
	sum++;
}

__attribute__((noinline)) static void caller(void)
{
	innermost((volatile int *)8);
	sum++;
}

__attribute__((noinline)) static void die_in_handler(void)
{
	enum { SIZE = 1 << 16 };
	stack_t stack = {.ss_sp = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), .ss_size = SIZE};
	struct sigaction action = {.sa_handler = on_alternate, .sa_flags = SA_ONSTACK};

	sigaltstack(&stack, NULL);
	sigaction(SIGSEGV, &action, NULL);
	caller();
}

static int ready[2];

__attribute__((noinline)) static void *wait_for_end(void *arg)
{
	(void)!write(ready[1], "", 1);
	while (pause() < 0)
		;
	return arg;
}

static void wait_in_threads(void)
{
	enum { THREADS = 3 };
	pthread_t thread;
	char byte;

	if (pipe(ready))
		exit(2);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread, NULL, wait_for_end, NULL);
	for (int i = 0; i < THREADS; i++)
		(void)!read(ready[0], &byte, 1);
	printf("%d\n", (int)getpid());
	fflush(stdout);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "big"))
		parse(4, true);
	if (!strcmp(argv[1], "deep"))
		descend(1500);
	if (!strcmp(argv[1], "overflow"))
		descend(INT32_MAX);
	if (!strcmp(argv[1], "large-exit"))
		parse(24, false);
	if (!strcmp(argv[1], "alternate"))
		die_in_handler();
	wait_in_threads();
	if (!strcmp(argv[1], "headless"))
		pthread_exit(NULL);
	wait_for_end(NULL);
}
