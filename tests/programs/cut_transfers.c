// SPDX-License-Identifier: MIT
/* cut_transfers NAME: calls that move more than there is room for or there comes at first, while the program gets signals, ignored and handled
 * ones. Prints what they give, and whether all of it has come; alone it prints the names. tests/e2e/engine_signals.py */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	SIZE = 1 << 20,
	PAUSE_MS = 60,
};

static volatile sig_atomic_t handled;
static unsigned char bytes[SIZE], came[SIZE];

static void note(int signo)
{
	(void)signo;
	handled++;
}

static void nap(void)
{
	struct timespec t = {.tv_nsec = PAUSE_MS * 1000000l};

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

/* The other end holds something and for a while nothing more: who writes there waits, or who reads has read it. */
static void wait_until_still(int fd)
{
	int held = 0, before = -1;

	while (!held || held != before) {
		before = held;
		nap();
		if (ioctl(fd, FIONREAD, &held))
			exit(3);
	}
}

/* A child that sends the signals one after the other as soon as the writer waits, and then reads all. */
static pid_t reader(const int fd[2], const int *signals)
{
	pid_t parent = getpid(), child = fork();
	size_t n = 0;
	ssize_t piece;

	if (child)
		return child;
	close(fd[1]);
	wait_until_still(fd[0]);
	for (; *signals; signals++) {
		kill(parent, *signals);
		nap();
	}
	while ((piece = read(fd[0], came + n, sizeof came - n)) > 0)
		n += (size_t)piece;
	_exit(n == SIZE && !memcmp(came, bytes, SIZE) ? 0 : 4);
}

static void say_child(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	printf("the rest: %s\n", status ? "not as sent" : "as sent");
}

/* Writes the rest, too. sendto: with that. */
static void write_all(int type, const int *signals)
{
	int fd[2];
	pid_t child;
	size_t n = 0;
	ssize_t piece;

	if (type ? socketpair(AF_UNIX, SOCK_STREAM, 0, fd) : pipe(fd))
		exit(3);
	if (type) { /* read from 0 as from a pipe */
		int other = fd[0];

		fd[0] = fd[1];
		fd[1] = other;
	}
	child = reader(fd, signals);
	close(fd[0]);
	while (n < SIZE) {
		piece = type ? send(fd[1], bytes + n, SIZE - n, 0) : write(fd[1], bytes + n, SIZE - n);
		if (piece < 0) {
			printf("error %d\n", errno);
			break;
		}
		n += (size_t)piece;
		/* How much a socket holds depends on more than the program. */
		printf("%s\n", n == SIZE ? "all" : type ? "some" : piece == 65536 ? "65536" : "another part");
	}
	close(fd[1]);
	say_child(child);
}

static void ignored(int type) { write_all(type, (const int[]){SIGWINCH, SIGURG, SIGCHLD, 0}); }
static void pipe_ignored(void) { ignored(0); }
static void socket_ignored(void) { ignored(1); }
static void pipe_handled(void) { write_all(0, (const int[]){SIGUSR1, 0}); }
static void pipe_both(void) { write_all(0, (const int[]){SIGWINCH, SIGCHLD, SIGUSR1, SIGWINCH, 0}); }
static void socket_both(void) { write_all(1, (const int[]){SIGWINCH, SIGUSR1, SIGURG, 0}); }

/* The registers of the arguments are as they were. */
static void registers(void)
{
	int fd[2];
	pid_t child;
	long result = SYS_write;
	unsigned long to, buffer = (unsigned long)(void *)bytes, count = SIZE;

	if (pipe(fd))
		exit(3);
	to = (unsigned long)fd[1];
	child = reader(fd, (const int[]){SIGWINCH, SIGWINCH, 0});
	close(fd[0]);
	__asm__ volatile("syscall" : "+a"(result), "+D"(to), "+S"(buffer), "+d"(count) : : "rcx", "r11", "memory");
	printf("%ld %d %d %d\n", result, to == (unsigned long)fd[1], buffer == (unsigned long)(void *)bytes, count == SIZE);
	close(fd[1]);
	say_child(child);
}

/* A child that sends a part, a signal, and what is left. */
static void receive(const int *signals)
{
	pid_t parent = getpid(), child;
	int fd[2];
	ssize_t n;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd))
		exit(3);
	child = fork();
	if (!child) {
		if (write(fd[1], bytes, 300) != 300)
			_exit(4);
		nap();
		nap();
		for (; *signals; signals++) {
			kill(parent, *signals);
			nap();
		}
		_exit(write(fd[1], bytes + 300, 700) != 700);
	}
	n = recv(fd[0], came, 1000, MSG_WAITALL);
	printf("%zd\n", n);
	if (n > 0 && n < 1000)
		printf("then %zd\n", recv(fd[0], came + n, (size_t)(1000 - n), MSG_WAITALL));
	printf("%s\n", memcmp(came, bytes, 1000) ? "not as sent" : "as sent");
	say_child(child);
}

static void receive_ignored(void) { receive((const int[]){SIGWINCH, SIGURG, 0}); }
/* Messages are received one by one, whatever waits for all of a stream, while signals never cease. */
static void receive_messages(void)
{
	enum { MESSAGES = 3000, LENGTH = 100 };
	pid_t parent = getpid(), sender, disturber;
	int fd[2], wrong = 0;

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, fd))
		exit(3);
	disturber = fork();
	while (!disturber)
		kill(parent, SIGWINCH);
	sender = fork();
	if (!sender) {
		for (int i = 0; i < MESSAGES; i++)
			if (send(fd[1], bytes + i, LENGTH, 0) != LENGTH)
				_exit(4);
		_exit(0);
	}
	for (int i = 0; i < MESSAGES; i++)
		wrong += recv(fd[0], came, 10 * LENGTH, MSG_WAITALL) != LENGTH || memcmp(came, bytes + i, LENGTH);
	printf("%d wrong\n", wrong);
	kill(disturber, SIGKILL);
	waitpid(disturber, NULL, 0);
	say_child(sender);
}

static void receive_both(void) { receive((const int[]){SIGWINCH, SIGUSR1, 0}); }

/* It takes about as long as the signals need to come. */
static void random_bytes(void)
{
	enum { MUCH = 30 << 20 };
	void *much = mmap(NULL, MUCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t parent = getpid(), child = fork();

	if (!child) {
		for (int i = 0; i < 50; i++) {
			struct timespec t = {.tv_nsec = 1000000};

			nanosleep(&t, NULL);
			kill(parent, SIGWINCH);
		}
		_exit(0);
	}
	for (int i = 0; i < 3; i++)
		printf("%d\n", getrandom(much, MUCH, 0) == MUCH);
	say_child(child);
}

static void file_to_pipe(void)
{
	FILE *f = tmpfile();
	off_t at = 0;
	pid_t child;
	ssize_t n;
	int fd[2];

	if (!f || fwrite(bytes, 1, SIZE, f) != SIZE || fflush(f) || pipe(fd))
		exit(3);
	child = reader(fd, (const int[]){SIGWINCH, SIGURG, 0});
	close(fd[0]);
	n = sendfile(fd[1], fileno(f), &at, SIZE);
	printf("%zd %ld\n", n, (long)at);
	close(fd[1]);
	say_child(child);
}

static const struct {
	const char *name;
	void (*run)(void);
} table[] = {
	{"pipe-ignored", pipe_ignored}, {"socket-ignored", socket_ignored}, {"pipe-handled", pipe_handled}, {"pipe-both", pipe_both},
	{"socket-both", socket_both}, {"registers", registers}, {"receive-ignored", receive_ignored}, {"receive-both", receive_both}, {"receive-messages", receive_messages},
	{"random-bytes", random_bytes}, {"file-to-pipe", file_to_pipe},
};

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = note};

	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (unsigned char)(i * 2654435761u >> 13);
	sigaction(SIGUSR1, &action, NULL);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		if (argc < 2)
			puts(table[i].name);
		else if (!strcmp(argv[1], table[i].name)) {
			table[i].run();
			printf("handled %d\n", (int)handled);
			return 0;
		}
	}
	return argc < 2 ? 0 : 2;
}
