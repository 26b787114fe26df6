/* SPDX-License-Identifier: MIT */
/* replayed FILE: much that a replay has to give again. Reads and maps FILE, changes mappings, gets signals of
 * all kinds, tells time and random numbers. Exits with 3. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t alarms, sent, code;
static sigjmp_buf back;
static volatile char *grown;
static volatile double fraction = 1.0;

static void on_alarm(int signo)
{
	(void)signo;
	alarms++;
	fraction /= 3.0; /* extended state that the interrupted code must have again */
}

static void on_sent(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)context;
	sent++;
	code = info->si_code;
}

static void on_fault(int signo)
{
	siglongjmp(back, signo);
}

static void on_child_like(int signo, siginfo_t *info, void *context)
{
	char *local = alloca(100);

	(void)context;
	snprintf(local, 100, "on another stack: %d %d\n", signo, info->si_value.sival_int);
	fputs(local, stdout);
}

static void set_handler(int signo, void (*simple)(int), void (*full)(int, siginfo_t *, void *),
			int flags)
{
	struct sigaction a = {.sa_flags = flags | (full ? SA_SIGINFO : 0)};

	if (full)
		a.sa_sigaction = full;
	else
		a.sa_handler = simple;
	sigaction(signo, &a, NULL);
}

static void files(const char *path)
{
	int fd = open(path, O_RDONLY), pipes[2];
	char text[64] = "", more[64] = "", *shared;
	struct iovec v[2] = {{text, 3}, {more, 60}};

	printf("readv %zd: %s %s", readv(fd, v, 2), text, more);
	shared = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	printf("mapped: %s", shared);
	munmap(shared, 4096);
	close(fd);
	if (pipe(pipes))
		exit(1);
	printf("%zd", write(pipes[1], "through a pipe", 14));
	printf(" %zd %.14s\n", read(pipes[0], more, sizeof more), more);
	errno = 0;
	printf("%d %s\n", open("/does/not/exist", O_RDONLY), strerror(errno));
	v[0] = (struct iovec){"by writev, ", 11};
	v[1] = (struct iovec){"twice\n", 6};
	fflush(stdout);
	if (writev(2, v, 2) != 17)
		exit(1);
}

static void mappings(void)
{
	char *one = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	     *two;
	char *heap = sbrk(0);

	memset(one, 'a', 1 << 16);
	two = mremap(one, 1 << 16, 1 << 18, MREMAP_MAYMOVE);
	printf("%d %c %c\n", two[1 << 17], two[0], two[(1 << 16) - 1]);
	two[1 << 17] = 'b';
	madvise(two + (1 << 17), 4096, MADV_DONTNEED);
	printf("%d\n", two[1 << 17]);
	munmap(two + 4096, 4096);
	/* what grows has the protection of what was there */
	one = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	one = mremap(one, 4096, 8192, MREMAP_MAYMOVE);
	grown = one + 4096;
	mprotect(two, 4096, PROT_READ);
	sbrk(1 << 20);
	memset(heap, 'c', 1 << 20);
	sbrk(-(1 << 19));
	printf("%c %p %p %p\n", heap[100], (void *)one, (void *)two, (void *)heap);
}

static void signals(void)
{
	static char stack[1 << 16];
	const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
	struct itimerval each = {{0, 1000}, {0, 1000}}, none = {0};
	unsigned long x = 1;
	char byte;
	int pipes[2];

	set_handler(SIGALRM, on_alarm, NULL, SA_RESTART);
	set_handler(SIGUSR1, NULL, on_sent, 0);
	set_handler(SIGSEGV, on_fault, NULL, SA_NODEFER);
	set_handler(SIGUSR2, NULL, on_child_like, SA_ONSTACK);
	signal(SIGCHLD, SIG_IGN);
	kill(getpid(), SIGUSR1);
	kill(getpid(), SIGCHLD);
	printf("sent %d code %d\n", (int)sent, (int)code);
	sigaltstack(&other, NULL);
	sigqueue(getpid(), SIGUSR2, (union sigval){.sival_int = 77});
	if (!sigsetjmp(back, 1))
		*(volatile char *)8 = 1;
	else
		printf("back from a fault\n");
	if (!sigsetjmp(back, 1))
		*grown = 1;
	else
		printf("back from a write to a page that cannot be written\n");
	setitimer(ITIMER_REAL, &each, NULL);
	while (alarms < 20)
		for (int i = 0; i < 1000; i++)
			x = x * 6364136223846793005ul + (unsigned long)alarms;
	/* a loop without a conditional branch in it but one, and REP */
	for (int i = 0; i < 300; i++)
		memset(stack, i, sizeof stack);
	if (pipe(pipes))
		exit(1);
	fcntl(pipes[0], F_SETFL, O_NONBLOCK);
	/* calls that are interrupted: one that is made again, one that is not */
	printf("%zd", read(pipes[0], &byte, 1));
	printf(" %d", usleep(5000));
	setitimer(ITIMER_REAL, &none, NULL);
	printf(" %lx %d %g\n", x, (int)alarms, fraction);
}

static void numbers(void)
{
	unsigned char bytes[8];
	unsigned low, high;
	struct timespec now;

	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		exit(1);
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	clock_gettime(CLOCK_REALTIME, &now);
	printf("%02x%02x %u %u %ld.%09ld pid %d\n", bytes[0], bytes[7], low, high, (long)now.tv_sec,
	       now.tv_nsec, getpid());
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 1;
	files(argv[1]);
	mappings();
	signals();
	numbers();
	fprintf(stderr, "done\n");
	return 3;
}
