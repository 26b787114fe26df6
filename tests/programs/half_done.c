/* SPDX-License-Identifier: MIT */
/* half_done [TIMES]: changes mappings by calls that fail with a part of it done, so many rounds (1).
 * Prints the results, and of each page whether it can be read, written and executed, and what it
 * holds. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 6, RETURN = 0xc3 };

static sigjmp_buf back;
static char *area, *target;
static int file;

static void on_fault(int signo) { siglongjmp(back, signo); }

static bool can_read(char *at)
{
	if (sigsetjmp(back, 1))
		return false;
	(void)*(volatile char *)at;
	return true;
}

static bool can_write(char *at)
{
	if (sigsetjmp(back, 1))
		return false;
	((volatile char *)at)[1] = 'w';
	return true;
}

static bool can_execute(char *at)
{
	if (sigsetjmp(back, 1))
		return false;
	((void (*)(void))(void *)at)();
	return true;
}

/* By putchar(): all of it is stepped, and printf() has a thousand instructions. */
static void show(char *from)
{
	for (int i = 0; i < PAGES; i++) {
		char *at = from + i * PAGE;
		bool reads = can_read(at), writes = can_write(at);

		putchar(' ');
		putchar(reads ? 'r' : '-');
		putchar(writes ? 'w' : '-');
		putchar(reads && (unsigned char)*at != RETURN ? '?' : can_execute(at) ? 'x' : '-');
		if (reads) {
			putchar("0123456789abcdef"[(unsigned char)at[2] >> 4]);
			putchar("0123456789abcdef"[at[2] & 15]);
		}
	}
}

/* Six pages, of which the fourth is a hole; each begins with a return. */
static void prepare(char *at)
{
	mmap(at, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	for (int i = 0; i < PAGES; i++) {
		at[i * PAGE] = (char)RETURN;
		at[i * PAGE + 2] = (char)(i + 1);
	}
	munmap(at + 3 * PAGE, PAGE);
}

static void tell(const char *what, long result)
{
	int error = errno;

	printf("%s %d %d:", what, result == -1 ? -1 : 0, result == -1 ? error : 0);
	show(area);
	putchar('\n');
}

static void protect(const char *what, int before, int prot)
{
	long result;

	prepare(area);
	mprotect(area, 3 * PAGE, before);
	if (before & PROT_EXEC)
		can_execute(area);
	result = mprotect(area, PAGES * PAGE, prot);
	tell(what, result);
}

static void protect_shared(void)
{
	long result;

	prepare(area);
	mmap(area + 3 * PAGE, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0);
	mprotect(area, PAGE, PROT_READ);
	result = mprotect(area, 4 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	tell("mprotect, a file", result);
}

static void twice(void)
{
	long first, second;

	prepare(area);
	first = mprotect(area + PAGE, 4 * PAGE, PROT_READ);
	(void)*(volatile char *)(area + 2 * PAGE); /* which the next one takes away */
	second = mprotect(area + 2 * PAGE, 4 * PAGE, PROT_NONE);
	tell("mprotect, first", first);
	tell("mprotect, then", second);
}

static void advise(const char *what, int advice)
{
	long result;

	prepare(area);
	mprotect(area + PAGE, PAGE, PROT_READ);
	mprotect(area + 2 * PAGE, PAGE, PROT_NONE);
	result = madvise(area, 5 * PAGE, advice);
	mprotect(area + 2 * PAGE, PAGE, PROT_READ | PROT_WRITE);
	tell(what, result);
}

/* Of what is one mapping no more. */
static void move(void)
{
	long result;

	prepare(area);
	prepare(target);
	result = (long)mremap(area + 2 * PAGE, 3 * PAGE, 3 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, target);
	tell("mremap, from", result);
	printf("to:");
	show(target);
	putchar('\n');
}

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 1;
	char path[] = "/tmp/btrec-half-XXXXXX";

	file = mkstemp(path);
	if (file < 0 || ftruncate(file, PAGE))
		return 2;
	close(file);
	file = open(path, O_RDONLY);
	unlink(path);
	signal(SIGSEGV, on_fault);
	area = mmap(NULL, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	target = mmap(NULL, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < times; i++) {
		protect("mprotect, to be read", PROT_READ | PROT_WRITE, PROT_READ);
		protect("mprotect, to be executed", PROT_READ, PROT_READ | PROT_WRITE | PROT_EXEC);
		protect("mprotect, no code any more", PROT_READ | PROT_EXEC, PROT_READ);
		protect("mprotect, nothing", PROT_READ | PROT_WRITE, PROT_NONE);
		protect_shared();
		twice();
		advise("madvise", MADV_DONTNEED);
		move();
	}
	return 0;
}
