/* SPDX-License-Identifier: MIT */
/* AMX: products of tiles with branches between them, interrupted by a timer whose handler takes the tiles for itself, in two threads and a child.
 * Looks itself whether each product is right. Argument: rounds. Exit status 77: the processor, or the kernel, has no tiles. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <immintrin.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18, ROWS = 16, ROW_BYTES = 64, WANTED = 20 };

static int rounds = 400;

struct configuration {
	uint8_t palette, start_row, reserved[14];
	uint16_t row_bytes[16];
	uint8_t rows[16];
} __attribute__((aligned(64)));

static volatile sig_atomic_t handled, wrong;

__attribute__((target("amx-tile"))) static void configure(void)
{
	struct configuration c = {.palette = 1};

	for (int i = 0; i < 3; i++) {
		c.rows[i] = ROWS;
		c.row_bytes[i] = ROW_BYTES;
	}
	_tile_loadconfig(&c);
}

/* Each element of a is x, of b is y: of the product, 64 x y. */
__attribute__((target("amx-tile,amx-int8"))) static int product_is_right(int8_t x, int8_t y)
{
	int8_t a[ROWS * ROW_BYTES], b[ROWS * ROW_BYTES];
	int32_t c[ROWS * ROW_BYTES / 4];

	memset(a, x, sizeof a);
	memset(b, y, sizeof b);
	configure();
	_tile_zero(0);
	_tile_loadd(1, a, ROW_BYTES);
	_tile_loadd(2, b, ROW_BYTES);
	for (volatile int i = 0; i < 20; i++)
		;
	_tile_dpbssd(0, 1, 2);
	_tile_stored(0, c, ROW_BYTES);
	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++)
		if (c[i] != 64 * x * y)
			return 0;
	return 1;
}

static void on_alarm(int signo)
{
	const struct itimerval next = {{0, 0}, {0, 2000}};

	(void)signo;
	handled++;
	if (!product_is_right((int8_t)(handled % 7 + 1), 3))
		wrong++;
	setitimer(ITIMER_REAL, &next, NULL);
}

static void *multiply(void *arg)
{
	const char *who = arg;
	int right = 0;

	for (int i = 0; i < rounds || handled < WANTED; i++) {
		int fine = product_is_right((int8_t)(i % 100), (int8_t)(who[0] % 50 - i % 17));

		if (i < rounds)
			right += fine;
		else if (!fine)
			wrong++;
	}
	printf("%s: %d of %d\n", who, right, rounds);
	return NULL;
}

int main(int argc, char **argv)
{
	const struct itimerval first = {{0, 0}, {0, 2000}};
	pthread_t thread;

	if (syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA)) {
		puts("no tiles");
		return 77;
	}
	if (argc > 1)
		rounds = atoi(argv[1]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("a signal's frame: %lu\n", getauxval(AT_MINSIGSTKSZ));
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &first, NULL);
	multiply("the first");
	if (pthread_create(&thread, NULL, multiply, "another"))
		return 1;
	pthread_join(thread, NULL);
	signal(SIGALRM, SIG_IGN);
	if (!fork()) {
		multiply("a child");
		exit(wrong);
	}
	wait(NULL);
	printf("wrong: %d\n", (int)wrong);
	return wrong;
}
