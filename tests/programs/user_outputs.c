/* SPDX-License-Identifier: MIT */
/* Writes to its standard output and error in all ways that a recorder may let pass without a stop.
 * argv[1]: "all", with argv[2], the file that standard output is; or "for ever". */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, MUCH = 600000 };

static char bytes[MUCH];

static void say(int fd, const char *text) { write(fd, text, strlen(text)); }

/* Of all sizes, from all offsets; more than any log of a stretch has room for. */
static void write_sizes(void)
{
	for (size_t n = 0; n < 300; n++)
		write(1, bytes + n % 9, n);
	for (size_t n = 1; n <= MUCH; n = n * 3 + 1)
		write(1 + n % 2, bytes, n);
	for (int i = 0; i < 600; i++)
		write(1 + i % 5 / 4, bytes + i, 3000);
	write(1, bytes, MUCH);
}

/* The same files by other numbers and names, and others by theirs. */
static void write_around(const char *name)
{
	int copy = dup(1), high = fcntl(2, F_DUPFD, 500), again = open(name, O_WRONLY | O_APPEND),
	    other = open("/dev/null", O_WRONLY);

	for (int i = 0; i < 3; i++) {
		say(copy, "by a copy\n");
		say(high, "by a high number\n");
		say(again, "by its name\n");
		say(other, "not seen\n");
		pwrite(copy, "at its place\n", 13, 1000000 + i * 20);
	}
	close(copy);
	copy = open("/dev/null", O_WRONLY); /* the number is another file's now */
	say(copy, "not seen\n");
	dup2(copy, 1);
	for (int i = 0; i < 3; i++)
		say(1, "not seen\n");
	dup2(again, 1);
	say(1, "seen again\n");
	dup2(2, copy);
	say(copy, "to standard error\n");
}

/* From memory of which a part is not there, and where signals of that are not served. */
static void write_holes(void)
{
	char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0);
	sigset_t all, before;
	long sum = 0;

	memset(pages, 'p', 3 * PAGE);
	munmap(pages + PAGE, PAGE);
	mprotect(pages + 2 * PAGE, PAGE, PROT_NONE);
	sum = sum * 7 + write(1, pages + PAGE - 100, 200);
	sum = sum * 7 + write(1, pages + PAGE, 200);
	sum = sum * 7 + write(1, pages + 2 * PAGE, 200);
	sum = sum * 7 + write(1, NULL, 10);
	sum = sum * 7 + write(1, pages, 0);
	signal(SIGSEGV, SIG_IGN);
	sum = sum * 7 + write(1, pages + PAGE - 10, 200);
	signal(SIGSEGV, SIG_DFL);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	sum = sum * 7 + write(1, pages + PAGE - 10, 200);
	sigprocmask(SIG_SETMASK, &before, NULL);
	snprintf(bytes, sizeof bytes, "holes: %ld\n", sum);
	say(1, bytes);
}

/* While it is mapped, what is written to it changes memory. */
static void write_mapped(const char *name)
{
	int file = open(name, O_RDWR);
	const volatile char *map = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, 0);

	for (int i = 0; i < 5; i++) {
		pwrite(file, i % 2 ? "mapped\n" : "MAPPED\n", 7, 0);
		say(2, map[0] == 'm' ? "small\n" : "large\n");
		pwrite(file, "x", 1, 3);
		say(1, map[3] == 'x' ? "x\n" : "no x\n");
	}
	munmap((void *)(uintptr_t)map, PAGE);
	say(1, "not mapped any more\n");
}

int main(int argc, char **argv)
{
	for (int i = 0; i < MUCH; i++)
		bytes[i] = (char)(i % 61 ? 'A' + i * 7 % 58 : '\n');
	if (argc > 1 && !strcmp(argv[1], "for ever"))
		for (int i = 0;; i++)
			write(1, bytes + i % 1000, (size_t)(i * 37 % 4000));
	if (argc < 3)
		return 2;
	write_sizes();
	write_around(argv[2]);
	write_holes();
	write_mapped(argv[2]);
	return 0;
}
