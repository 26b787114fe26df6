/* SPDX-License-Identifier: MIT */
/* cut_alone HOW FILE: moves the bytes of FILE in one call after the other, to or from descriptor 0, while somebody else sends
 * signals: write send copy recv. Prints to stderr what each call gave, whether its arguments are still in their registers, and what came.
 * SIGUSR1 has a handler. tests/e2e/replay_restarts.py */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIZE = 1 << 20 };

static volatile sig_atomic_t handled;
static unsigned char bytes[SIZE];

static void note(int signo)
{
	(void)signo;
	handled++;
}

/* The call by its instruction: what the kernel leaves in the registers is seen. */
static long call(long nr, const unsigned long given[6])
{
	unsigned long a[6];
	register unsigned long r10 __asm__("r10") = given[3], r8 __asm__("r8") = given[4], r9 __asm__("r9") = given[5];
	long result = nr;

	memcpy(a, given, sizeof a);
	__asm__ volatile("syscall" : "+a"(result), "+D"(a[0]), "+S"(a[1]), "+d"(a[2]), "+r"(r10), "+r"(r8), "+r"(r9) : : "rcx", "r11", "memory");
	a[3] = r10;
	a[4] = r8;
	a[5] = r9;
	if (memcmp(a, given, sizeof a))
		fprintf(stderr, "other arguments\n");
	return result;
}

static const struct {
	const char *name;
	long nr;
} calls[] = {{"write", SYS_write}, {"send", SYS_sendto}, {"copy", SYS_sendfile}, {"recv", SYS_recvfrom}};

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = note};
	unsigned long sum = 0;
	long nr = -1, size;
	int file;

	if (argc < 3 || (file = open(argv[2], O_RDONLY)) < 0 || (size = read(file, bytes, SIZE)) <= 0)
		return 2;
	lseek(file, 0, SEEK_SET);
	sigaction(SIGUSR1, &action, NULL);
	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
		if (!strcmp(argv[1], calls[i].name))
			nr = calls[i].nr;
	if (nr == SYS_recvfrom)
		memset(bytes, 0, sizeof bytes);
	for (long done = 0; done < size;) {
		unsigned long at = (unsigned long)(void *)(bytes + done), left = (unsigned long)(size - done);
		const unsigned long data[6] = {0, at, left, nr == SYS_recvfrom ? MSG_WAITALL : 0}, copy[6] = {0, (unsigned long)file, 0, left};
		long n = call(nr, nr == SYS_sendfile ? copy : data);

		fprintf(stderr, "%s %s, signals %d\n", argv[1], n == size ? "all" : n > 0 ? "a part" : "failed", (int)handled);
		if (n <= 0)
			return 3;
		done += n;
	}
	/* Of half a megabyte one word of 61, as each instruction may be a step. */
	for (long i = 0; i + (long)sizeof sum <= size; i += 61 * (long)sizeof sum) {
		unsigned long word;

		memcpy(&word, bytes + i, sizeof word);
		sum = sum * 31 + word;
	}
	fprintf(stderr, "sum %lx\n", sum);
	return 0;
}
