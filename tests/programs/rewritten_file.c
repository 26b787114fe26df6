/* SPDX-License-Identifier: MIT */
/* rewritten_file WHO FILE: code that is privately mapped from FILE, which is written to meanwhile: by a child, by the program itself, or (crash)
 * by a child in such a way that the code ends the program. Prints what the code said before and then. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, LATER_US = 1500000, TOO_LONG = 90 };

static const uint8_t old_code[] = {0xb8, 1, 0, 0, 0, 0xc3}; /* mov eax, 1; ret */
static const uint8_t new_code[] = {0xb8, 2, 0, 0, 0, 0xc3};
static const uint8_t bad_code[] = {0x0f, 0x0b}; /* ud2 */

static int file;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void put(const uint8_t *code, size_t n)
{
	if (pwrite(file, code, n, 64) != (ssize_t)n)
		fail("pwrite");
}

static void put_later(const uint8_t *code, size_t n)
{
	pid_t child = fork();

	if (child < 0)
		fail("fork");
	if (child)
		return;
	usleep(LATER_US); /* it has been looked at meanwhile */
	put(code, n);
	_exit(0);
}

int main(int argc, char **argv)
{
	uint8_t page[PAGE] = {0};
	int (*code)(void), before, now;

	if (argc != 3)
		return 2;
	alarm(TOO_LONG);
	file = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0700);
	memcpy(page + 64, old_code, sizeof old_code);
	if (file < 0 || write(file, page, sizeof page) != sizeof page)
		fail(argv[2]);
	code = (int (*)(void))(void *)((uint8_t *)mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) + 64);
	before = code();
	if (!strcmp(argv[1], "child"))
		put_later(new_code, sizeof new_code);
	else if (!strcmp(argv[1], "crash"))
		put_later(bad_code, sizeof bad_code);
	else
		put(new_code, sizeof new_code);
	while ((now = code()) == before)
		;
	printf("%d, then %d\n", before, now);
	while (wait(NULL) > 0)
		;
	return 0;
}
