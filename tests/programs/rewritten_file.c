/* SPDX-License-Identifier: MIT */
/* rewritten_file WHO FILE: code that is privately mapped from FILE, which is written to meanwhile: by a child, by the program itself, by a child
 * that then sets the time of modification back (backdated), by a child when the first thread has ended (leaderless), through a mapping that is
 * shared, again and again (through; through-later: one made when the code, which could be written, too, has run), or through one that could only
 * be read when it was made (made-writable), or (crash) by a child in such a way that the code ends the program; or which becomes shorter than the
 * code, which could be written, too (shortened). Prints what the code said before and then. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

static void put_and_set_back(void)
{
	struct stat st;

	if (fstat(file, &st))
		fail("fstat");
	put(new_code, sizeof new_code);
	if (futimens(file, (struct timespec[2]){st.st_atim, st.st_mtim}))
		fail("futimens");
}

/* No time of the file tells of more than the first time. */
static int put_through(int (*code)(void))
{
	volatile uint8_t *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	for (int i = 2; i < 6; i++) {
		at[64 + 1] = (uint8_t)i;
		printf("%d\n", code());
		fflush(stdout);
		usleep(i < 4 ? LATER_US : 0);
	}
	return 0;
}

/* Nothing is said or waited for meanwhile. */
static int put_made_writable(int (*code)(void))
{
	enum { TIMES = 5 };
	int got[TIMES];

	for (int i = 0; i < TIMES; i++) {
		volatile uint8_t *at = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, 0);

		mprotect((void *)(uintptr_t)at, PAGE, PROT_READ | PROT_WRITE);
		at[64 + 1] = (uint8_t)(i + 2);
		got[i] = code();
		munmap((void *)(uintptr_t)at, PAGE);
	}
	for (int i = 0; i < TIMES; i++)
		printf("%d\n", got[i]);
	return 0;
}

static void put_later(const uint8_t *code, size_t n, bool backdated)
{
	pid_t child = fork();

	if (child < 0)
		fail("fork");
	if (child)
		return;
	usleep(LATER_US); /* it has been looked at meanwhile */
	if (backdated)
		put_and_set_back();
	else
		put(code, n);
	_exit(0);
}

static sigjmp_buf fault;

static void on_fault(int signo) { siglongjmp(fault, signo); }

static int make_shorter(int (*code)(void))
{
	int before = code();

	signal(SIGBUS, on_fault);
	usleep(LATER_US); /* it has been looked at meanwhile */
	if (ftruncate(file, 0))
		fail("ftruncate");
	if (!sigsetjmp(fault, 1))
		while (code() == before)
			;
	printf("%d, then a fault\n", before);
	return 0;
}

static int run(const char *who)
{
	bool writable = !strcmp(who, "through-later") || !strcmp(who, "shortened");
	int prot = PROT_READ | PROT_EXEC | (writable ? PROT_WRITE : 0);
	int (*code)(void) = (int (*)(void))(void *)((uint8_t *)mmap(NULL, PAGE, prot, MAP_PRIVATE, file, 0) + 64);
	int before = code(), now;

	if (!strcmp(who, "shortened"))
		return make_shorter(code);
	if (!strncmp(who, "through", 7))
		return put_through(code);
	if (!strcmp(who, "made-writable"))
		return put_made_writable(code);
	if (!strcmp(who, "crash"))
		put_later(bad_code, sizeof bad_code, false);
	else if (strcmp(who, "itself"))
		put_later(new_code, sizeof new_code, !strcmp(who, "backdated"));
	else
		put(new_code, sizeof new_code);
	while ((now = code()) == before)
		;
	printf("%d, then %d\n", before, now);
	fflush(stdout);
	while (wait(NULL) > 0)
		;
	return 0;
}

static void *run_in_thread(void *who)
{
	usleep(10000); /* the first one has ended */
	exit(run(who));
}

int main(int argc, char **argv)
{
	uint8_t page[PAGE] = {0};
	pthread_t thread;

	if (argc != 3)
		return 2;
	alarm(TOO_LONG);
	file = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0700);
	memcpy(page + 64, old_code, sizeof old_code);
	if (file < 0 || write(file, page, sizeof page) != sizeof page)
		fail(argv[2]);
	if (strcmp(argv[1], "leaderless"))
		return run(argv[1]);
	if (pthread_create(&thread, NULL, run_in_thread, argv[1]))
		fail("pthread_create");
	pthread_exit(NULL);
}
