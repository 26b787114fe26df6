/* SPDX-License-Identifier: MIT */
/* private_file FILE: makes FILE, maps it privately, and changes it in many ways. Tells after each what the mappings show. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 6 };

static volatile char *written, *only_read;
static sigjmp_buf back;

static void on_fault(int signo)
{
	siglongjmp(back, signo);
}

static void show(volatile const char *page)
{
	int signo = sigsetjmp(back, 1);

	if (signo)
		printf(" signal-%d", signo);
	else
		printf(" %02x", *page & 0xff);
}

static void tell(const char *what)
{
	printf("%s:", what);
	for (int i = 0; i < PAGES; i++) {
		show(written + i * PAGE);
		show(only_read + i * PAGE + 5);
	}
	puts("");
}

int main(int argc, char **argv)
{
	static char bytes[PAGE * PAGES];
	struct iovec v = {bytes, 3 * PAGE};
	int fd, from;
	loff_t at = 2 * PAGE;

	if (argc < 2 || (fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600)) < 0)
		return 1;
	signal(SIGBUS, on_fault);
	memset(bytes, 'a', sizeof bytes);
	if (write(fd, bytes, sizeof bytes) != sizeof bytes)
		return 1;
	written = mmap(NULL, sizeof bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	only_read = mmap(NULL, sizeof bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	*written = 'b'; /* this page follows the file no more */
	tell("mapped");
	memset(bytes, 'c', sizeof bytes);
	if (pwrite(fd, bytes, 2 * PAGE, 0) < 0)
		return 1;
	tell("pwrite");
	memset(bytes, 'd', sizeof bytes);
	if (pwritev(fd, &v, 1, PAGE) < 0)
		return 1;
	tell("pwritev");
	if (ftruncate(fd, 3 * PAGE))
		return 1;
	tell("shorter");
	if (truncate(argv[1], sizeof bytes))
		return 1;
	tell("longer");
	memset(bytes, 'e', sizeof bytes);
	lseek(fd, 4 * PAGE, SEEK_SET);
	if (write(fd, bytes, PAGE) < 0)
		return 1;
	tell("write");
	fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE, PAGE);
	tell("fallocate");
	from = open("/proc/self/exe", O_RDONLY);
	lseek(fd, 3 * PAGE, SEEK_SET);
	sendfile(fd, from, NULL, PAGE);
	tell("sendfile");
	syscall(SYS_copy_file_range, from, NULL, fd, &at, PAGE, 0);
	tell("copy_file_range");
	close(open(argv[1], O_WRONLY | O_TRUNC));
	tell("open");
	return 0;
}
