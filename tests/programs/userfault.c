// SPDX-License-Identifier: MIT
/* Page faults that another thread of the process serves (userfaultfd(2)). tests/e2e/engine_calls.py */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	PAGES = 12,
	USER_ONLY = 1, /* UFFD_USER_MODE_ONLY, Linux 5.11: needs no privilege */
};

static int fd;
static unsigned char pages[3 * PAGE] __attribute__((aligned(4096)));

static int seven(void) { return 7; }

static void *serve(void *arg)
{
	static char page[PAGE];
	struct uffd_msg m;

	(void)arg;
	while (read(fd, &m, sizeof m) == sizeof m) {
		struct uffdio_copy copy = {.dst = m.arg.pagefault.address & ~(__u64)(PAGE - 1), .src = (__u64)(unsigned long)page, .len = PAGE};

		if (m.event != UFFD_EVENT_PAGEFAULT)
			continue;
		memset(page, (int)(copy.dst / PAGE % 200), sizeof page);
		if (copy.dst == (__u64)(unsigned long)(pages + PAGE))
			*(int (**)(void))(void *)(page + 8) = seven;
		/* It may be there: a fault that was interrupted is told of again. */
		if (ioctl(fd, UFFDIO_COPY, &copy) && errno != EEXIST)
			perror("UFFDIO_COPY");
	}
	return NULL;
}

int main(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	struct uffdio_register own = {.range = {(__u64)(unsigned long)(pages + PAGE), PAGE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
	volatile unsigned char *at;
	int bad = 0, got;
	pthread_t t;

	fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | USER_ONLY);
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &own)) {
		puts("none");
		return 0;
	}
	pthread_create(&t, NULL, serve, NULL);
	/* Through a pointer on a page that nobody has touched yet, not far from where it becomes one that is waited for. */
	__asm__ volatile("call *%c1(%%rip)" : "=a"(got) : "i"(pages + PAGE + 8) : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
	bad += got != 7;
	at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (__u64)(unsigned long)at;
	range.range.len = PAGES * PAGE;
	bad += ioctl(fd, UFFDIO_REGISTER, &range) != 0;
	for (int i = 0; i < PAGES; i++)
		bad += at[i * PAGE + i] != ((unsigned long)at / PAGE + (unsigned long)i) % 200;
	printf("%d wrong\n", bad);
	return 0;
}
