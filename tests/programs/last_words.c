// SPDX-License-Identifier: MIT
/* last_words WAY...: writes to its standard error in each of these ways (=TEXT: that), and dies: of SIGABRT, by "killed" of SIGKILL; by "status" it exits
 * with 3. For "short" it prints how much of what it wrote was taken. tests/e2e/last_words.py */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static char *volatile nowhere = (char *)8;

static void lines(int n)
{
	char filling[150];

	memset(filling, '.', sizeof filling - 1);
	filling[sizeof filling - 1] = '\0';
	for (int i = 0; i < n; i++)
		fprintf(stderr, "line %d of %d, %s\n", i, n, filling);
}

static void *from_thread(void *arg)
{
	lines(12);
	return arg;
}

static void many_pieces(void)
{
	enum { PIECES = 40 };
	static char text[PIECES][200];
	struct iovec v[PIECES];

	for (int i = 0; i < PIECES; i++) {
		memset(text[i], 'a' + i % 26, sizeof text[i]);
		v[i] = (struct iovec){text[i], (size_t)(i % 7 ? i : 0) * 4};
	}
	if (writev(STDERR_FILENO, v, PIECES) < 0)
		exit(2);
}

/* Less is taken than was given. */
static void short_writes(void)
{
	static char text[100000], sink[sizeof text];
	int ends[2];
	size_t taken = 0;

	if (pipe2(ends, O_NONBLOCK) || dup2(ends[1], STDERR_FILENO) < 0)
		exit(2);
	for (size_t i = 0; i < sizeof text; i += 1000)
		memset(text + i, 'a' + (int)(i / 1000 % 26), 1000);
	for (int i = 0; i < 3; i++) {
		struct iovec v[] = {{text, 70000}, {text + 70000, 30000}};
		ssize_t n = i == 1 ? writev(STDERR_FILENO, v, 2) : write(STDERR_FILENO, text, sizeof text);

		if (n < 0 || read(ends[0], sink, sizeof sink) != n || memcmp(sink, text, (size_t)n))
			exit(2);
		taken += (size_t)n;
	}
	printf("%zu ", taken);
	fwrite(sink + taken / 3 - 4096, 1, 4096, stdout);
	fflush(stdout);
}

static volatile sig_atomic_t alarms;

static void count_alarm(int signo)
{
	(void)signo;
	alarms++;
}

/* What a call leaves as it is stays so, flags included. */
static void write_checked(void)
{
	struct sigaction action = {.sa_handler = count_alarm, .sa_flags = SA_RESTART};
	char line[200];

	sigaction(SIGALRM, &action, NULL);
	for (size_t i = 0; i < 20; i++) {
		unsigned long rax = 1, rdi = STDERR_FILENO, rsi = (unsigned long)line, rdx = i * 8 + 1, rbx = ~i, flags;
		register unsigned long r8 __asm__("r8") = i * 3, r9 __asm__("r9") = i * 5, r10 __asm__("r10") = i * 7;

		memset(line, 'a' + (int)(i % 26), sizeof line);
		__asm__ volatile("cmp $20, %[rbx]\n\tstd\n\tsyscall\n\tpushf\n\tcld\n\tpop %[flags]"
				 : "+a"(rax), "+D"(rdi), "+S"(rsi), "+d"(rdx), [rbx] "+b"(rbx), "+r"(r8), "+r"(r9), "+r"(r10), [flags] "=&r"(flags)
				 :
				 : "rcx", "r11", "memory", "cc");
		/* cmp of a small negative number with 20: no carry, no zero, the sign; and the direction */
		if (rax != i * 8 + 1 || rdi != STDERR_FILENO || rsi != (unsigned long)line || rdx != i * 8 + 1 || rbx != ~i || r8 != i * 3 || r9 != i * 5 ||
		    r10 != i * 7 || (flags & 0xcc1) != 0x480)
			exit(4);
	}
}

static void do_as(const char *way, char **rest)
{
	pthread_t threads[4];

	if (*way == '=' && write(STDERR_FILENO, way + 1, strlen(way + 1)) < 0)
		exit(2);
	if (!strcmp(way, "lines"))
		lines(40);
	if (!strcmp(way, "pieces"))
		many_pieces();
	if (!strcmp(way, "short"))
		short_writes();
	if (!strcmp(way, "failing") && (write(STDERR_FILENO, nowhere, 100) != -1 || errno != EFAULT))
		exit(2);
	if (!strcmp(way, "wild") && write(STDERR_FILENO, nowhere, 100) != 100) /* /dev/null does not look */
		exit(2);
	if (!strcmp(way, "checked"))
		write_checked();
	if (!strcmp(way, "exec"))
		execv("/proc/self/exe", rest);
	if (!strcmp(way, "status"))
		exit(3);
	if (!strcmp(way, "killed"))
		raise(SIGKILL);
	if (!strcmp(way, "threads")) {
		for (int i = 0; i < 4; i++)
			pthread_create(&threads[i], NULL, from_thread, NULL);
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
	}
	if (!strcmp(way, "child")) {
		int status = 0;

		if (!fork()) {
			fprintf(stderr, "the child's\n");
			_exit(7);
		}
		wait(&status);
		fprintf(stderr, "the parent's\n");
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		do_as(argv[i], argv + i);
	abort();
}
