/* SPDX-License-Identifier: MIT */
/* changes_mapped shared|private FILE: changes FILE while it is mapped so, in ways that tell little of what
 * they change, and prints what the mapping holds after each. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 4, SIZE = PAGES * PAGE };

static char *mapped;
static sigjmp_buf back;

static void on_fault(int signo)
{
	siglongjmp(back, signo);
}

static void show(const char *at)
{
	int signo = sigsetjmp(back, 1);

	if (signo) {
		printf(" signal-%d", signo);
	} else { /* printf() has a thousand instructions, and each may be a step */
		unsigned byte = *(volatile const unsigned char *)at;

		putchar(' ');
		putchar("0123456789abcdef"[byte >> 4]);
		putchar("0123456789abcdef"[byte & 15]);
	}
}

static void tell(const char *what)
{
	static const int places[] = {0, 99, 100, 200, PAGE - 1, PAGE, 2 * PAGE + 5, SIZE - 1};

	printf("%s:", what);
	for (unsigned i = 0; i < sizeof places / sizeof *places; i++)
		show(mapped + places[i]);
	puts("");
}

static void fill(int fd)
{
	static char bytes[SIZE];

	memset(bytes, 'a', SIZE);
	if (ftruncate(fd, 0) || pwrite(fd, bytes, SIZE, 0) != SIZE)
		_exit(2);
	tell("filled");
}

/* Opens the file with O_TRUNC by no name of its own. Not every file system, nor every user, can have that: -1. */
static int cut_by_handle(const char *path)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u = {.h = {.handle_bytes = MAX_HANDLE_SZ}};
	int mount, fd = open(path, O_RDONLY);

	return name_to_handle_at(fd, "", &u.h, &mount, AT_EMPTY_PATH) ? -1 : open_by_handle_at(fd, &u.h, O_RDWR | O_TRUNC);
}

int main(int argc, char **argv)
{
	const char *path = argv[argc - 1];
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), again;
	struct iovec v = {(void *)"vector", 6};
	int is_shared = argc > 2 && !strcmp(argv[1], "shared");

	mapped = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, is_shared ? MAP_SHARED : MAP_PRIVATE, fd, 0);
	signal(SIGBUS, on_fault);
	fill(fd);
	if (!is_shared)
		mapped[2 * PAGE] = 'b';
	again = open(path, O_RDWR | O_TRUNC);
	if (ftruncate(again, SIZE))
		return 2;
	tell("cut when it was opened, and grown");
	fill(fd);
	if (truncate(path, 100) || ftruncate(fd, 2 * PAGE))
		return 2;
	tell("cut by its path, and grown");
	fill(fd);
	close(creat(path, 0600));
	if (write(again, "first", 5) != 5)
		return 2;
	tell("made anew, and written to");
	if (ftruncate(fd, 100))
		return 2;
	mapped[200] = 'c';
	if (pwrite(fd, "d", 1, SIZE - 1) != 1)
		return 2;
	tell("grown behind what was stored behind its end");
	fill(fd);
	if (ftruncate(fd, PAGE))
		return 2;
	syscall(SYS_pwritev2, fd, &v, 1, 10l, 0l, 0x10);
	tell("appended by a flag");
	fcntl(fd, F_SETFL, O_APPEND);
	syscall(SYS_pwritev2, fd, &v, 1, 95l, 0l, 0x20);
	tell("not appended by a flag");
	fill(fd);
	if (cut_by_handle(path) >= 0 && ftruncate(fd, SIZE))
		return 2;
	tell("cut by its handle, and grown");
	return 0;
}
