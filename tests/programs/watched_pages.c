// SPDX-License-Identifier: MIT
/* watched_pages NAME: code on pages that can be written, where what is known of them could part from what they are. Prints what the code gives;
 * alone it prints the names. tests/e2e/engine_written.py */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	MANY = 16384, /* pages that the engine knows at once */
	SOME = 256,
};

static void nap_ms(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static uint8_t *pages(size_t n)
{
	uint8_t *p = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		exit(3);
	return p;
}

/* mov eax, value; ret */
static void put(uint8_t *p, uint32_t value)
{
	memcpy(p, "\xb8____\xc3", 6);
	memcpy(p + 1, &value, sizeof value);
}

static int call(const uint8_t *p)
{
	int (*code)(void);

	memcpy(&code, &p, sizeof code);
	return code();
}

/* More pages than are known at once: one of those that are forgotten had been written to. */
static void forgotten(void)
{
	uint8_t *p = pages(MANY + 4);
	int sum = 0;

	for (size_t i = 0; i < MANY + 4; i++)
		put(p + i * PAGE, 1);
	put(p + 64, 7);
	printf("%d %d\n", call(p), call(p + 64));
	*(volatile uint8_t *)(p + 1) = 2;
	for (size_t i = 1; i < MANY; i++)
		sum += call(p + i * PAGE);
	for (size_t i = 1; i < 10; i++)
		*(volatile uint8_t *)(p + i * PAGE + 100) = 1;
	for (size_t i = MANY; i < MANY + 3; i++)
		sum += call(p + i * PAGE);
	printf("%d %d\n", sum, call(p + 64));
	*(volatile uint8_t *)(p + 2000) = 1;
	printf("%d\n", call(p + 64));
	printf("%d\n", call(p));
}

static volatile char selector;
static volatile sig_atomic_t dispatches;

static void dispatched_to(int signo)
{
	(void)signo;
	dispatches++;
	selector = 0;
}

/* System calls are dispatched while pages are written to and run (prctl(2), PR_SET_SYSCALL_USER_DISPATCH). */
static void dispatched(void)
{
	uint8_t *p = pages(2);
	int got[3];

	signal(SIGSYS, dispatched_to);
	put(p, 1);
	put(p + PAGE, 1);
	got[0] = call(p);
	if (prctl(59, 1, 0, 0, &selector)) {
		puts("none here");
		return;
	}
	selector = 1;
	got[0] += call(p + PAGE);
	p[1] = 3;
	got[1] = call(p);
	p[PAGE + 1] = 4;
	got[2] = call(p + PAGE);
	selector = 0;
	printf("%d %d %d, %d dispatched\n", got[0], got[1], got[2], (int)dispatches);
}

/* A file that a page is privately mapped from, and not yet another's, is written to: seen within some time (doc/LIMITS.md). */
static void mapped(void)
{
	char name[] = "mapped.XXXXXX";
	uint8_t first[PAGE] = {0}, value = 6, *p;
	int n = 0, fd = mkstemp(name);

	put(first, 1);
	if (fd < 0 || write(fd, first, PAGE) != PAGE)
		exit(3);
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		exit(3);
	printf("%d\n", call(p));
	nap_ms(1500);
	if (pwrite(fd, &value, 1, 1) != 1)
		exit(3);
	while (call(p) != 6 && n++ < 30000)
		nap_ms(1);
	printf("%d\n", call(p));
	unlink(name);
}

static uint8_t *code;
static volatile int stop;

static int rewrite_and_call(size_t i, uint32_t value)
{
	memcpy(code + i * PAGE + 1, &value, sizeof value);
	return call(code + i * PAGE);
}

static void *rewrite(void *unused)
{
	(void)unused;
	for (unsigned n = 0; !stop; n++) {
		if (rewrite_and_call(n % SOME, n) != (int)n)
			exit(4);
		for (volatile int i = 0; i < 100000; i++)
			;
	}
	return NULL;
}

/* Forks that take long, while another thread writes to pages of code. */
static void forked(void)
{
	size_t size = 200u << 20;
	char *much = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status, bad = 0;
	pthread_t thread;

	if (much == MAP_FAILED)
		exit(3);
	madvise(much, size, MADV_NOHUGEPAGE);
	memset(much, 1, size);
	code = pages(SOME);
	for (size_t i = 0; i < SOME; i++) {
		put(code + i * PAGE, 0);
		rewrite_and_call(i, (uint32_t)i);
	}
	pthread_create(&thread, NULL, rewrite, NULL);
	for (int n = 0; n < 15; n++) {
		pid_t child;

		nap_ms(60);
		child = fork();
		for (size_t i = 0; !child && i < SOME; i++)
			if (rewrite_and_call(i, (uint32_t)i + 7) != (int)i + 7)
				_exit(1);
		if (!child)
			_exit(0);
		waitpid(child, &status, 0);
		bad += status != 0;
	}
	stop = 1;
	pthread_join(thread, NULL);
	printf("%d children ended badly\n", bad);
}

/* A child that asks not to be traced changes code that its parent has run. */
static void untraced(void)
{
	uint8_t *p = pages(1);
	int sum = 0, status;
	unsigned long flags = CLONE_UNTRACED | SIGCHLD;
	long child = SYS_clone;

	put(p, 1);
	for (int i = 0; i < 1000; i++)
		sum += call(p);
	fflush(stdout);
	{
		register long fourth __asm__("r10") = 0;
		unsigned long rdi = flags;

		__asm__ volatile("syscall" : "+a"(child), "+D"(rdi) : "S"(0l), "d"(0l), "r"(fourth) : "rcx", "r11", "memory");
		if (!child) {
			p[1] = 9;
			_exit(call(p));
		}
		printf("%d\n", rdi == flags);
	}
	waitpid((pid_t)child, &status, 0);
	printf("%d %d\n", sum, status >> 8);
}

static int faults;

static void *serve(void *unused)
{
	static char page[PAGE] __attribute__((aligned(PAGE)));

	(void)unused;
	for (;;) {
		struct pollfd ready = {faults, POLLIN, 0};
		struct uffd_msg message;
		struct uffdio_copy copy = {.src = (uintptr_t)page, .len = PAGE};

		poll(&ready, 1, -1);
		if (read(faults, &message, sizeof message) != sizeof message)
			continue;
		copy.dst = message.arg.pagefault.address & ~(uint64_t)(PAGE - 1);
		ioctl(faults, UFFDIO_COPY, &copy);
	}
	return NULL;
}

/* The kernel meets a page fault in a call that otherwise returns at once, and another thread serves it. */
static void served(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	int fd = open("/proc/self/exe", O_RDONLY);
	struct timespec *now;
	pthread_t thread;
	char *p, byte;

	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api)) {
		puts("none here");
		return;
	}
	p = mmap(NULL, (size_t)16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (uintptr_t)p;
	range.range.len = (size_t)16 * PAGE;
	if (ioctl(faults, UFFDIO_REGISTER, &range))
		exit(3);
	pthread_create(&thread, NULL, serve, NULL);
	nap_ms(20);
	for (int i = 0; i < 3; i++)
		if (read(fd, &byte, 1) != 1)
			exit(3);
	printf("%zd\n", pread(fd, p + PAGE, 100, 0));
	now = (struct timespec *)(void *)(p + (size_t)3 * PAGE);
	printf("%ld %d\n", syscall(SYS_clock_gettime, CLOCK_MONOTONIC, now), now->tv_sec > 0);
}

static const struct {
	const char *name;
	void (*run)(void);
} table[] = {
	{"forgotten", forgotten}, {"dispatched", dispatched}, {"mapped", mapped}, {"forked", forked}, {"untraced", untraced}, {"served", served},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		if (argc < 2)
			puts(table[i].name);
		else if (!strcmp(argv[1], table[i].name)) {
			table[i].run();
			return 0;
		}
	}
	return argc < 2 ? 0 : 2;
}
