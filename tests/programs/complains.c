// SPDX-License-Identifier: MIT
/* Writes to its standard error in the way that its argument names, and ends: complains WAY. What is expected of each: tests/e2e/first_message.py. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long rounds;
static int *volatile no_int;

__attribute__((noinline)) static void work(long count)
{
	for (rounds = 0; rounds < count;)
		rounds++;
}

static void clean_up(void)
{
	work(200);
	if (!access("/no/such/folder", F_OK))
		abort();
}

__attribute__((noinline)) static void refuse(const char *text)
{
	fprintf(stderr, "refused: %s\n", text); /* @refuse */
	clean_up();
}

static void *refuse_and_exit(void *text)
{
	refuse(text);
	exit(5); /* @exit-thread */
}

static int exited(void)
{
	refuse("too old");
	exit(3); /* @exit */
}

static int returned(void)
{
	refuse("too old");
	return 3;
}

static int twice(void)
{
	fputs("old file\n", stderr); /* @first */
	clean_up();
	refuse("too old");
	return 3;
}

static int blank_line_first(void)
{
	fputs("\n", stderr);
	refuse("too old");
	return 3;
}

static int in_pieces(void)
{
	struct iovec pieces[] = {{"in ", 3}, {"pieces\n", 7}};

	if (writev(2, pieces, 2) != 10) /* @pieces */
		return 4;
	clean_up();
	return 3;
}

static int long_before(void)
{
	refuse("too old");
	work(2000000);
	exit(3); /* @exit-long-after */
}

static int dies(void)
{
	refuse("too old");
	return *no_int; /* @null */
}

static void handle(int signo)
{
	(void)signo;
	if (write(2, "crashed\n", 8) == 8)
		_exit(6);
}

static int handled(void)
{
	signal(SIGSEGV, handle);
	return *no_int; /* @handled */
}

static int aborts(void)
{
	refuse("too old");
	abort(); /* @abort */
}

static int ends_well(void)
{
	for (int i = 0; i < 100; i++)
		refuse("nothing");
	return 0;
}

static int of_a_thread(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, refuse_and_exit, "in a thread") || pthread_join(thread, NULL);
}

static int of_another_thread(void)
{
	refuse("in main");
	return of_a_thread();
}

static int of_a_child(int and_own)
{
	int status;

	if (!fork()) {
		refuse("in a child");
		_exit(4); /* @exit-child */
	}
	if (wait(&status) < 0)
		return 9;
	if (and_own)
		fputs("child failed\n", stderr);
	return and_own ? 3 : 0;
}

static int child_fails(void)
{
	return of_a_child(1);
}

static int child_fails_alone(void)
{
	return of_a_child(0);
}

static int again(void)
{
	refuse("before the execve");
	execl("/proc/self/exe", "complains", "returned", (char *)NULL);
	return 9;
}

static const struct {
	const char *name;
	int (*go)(void);
} ways[] = {
	{"exited", exited},         {"returned", returned},
	{"twice", twice},           {"pieces", in_pieces},
	{"long-before", long_before}, {"null", dies},
	{"abort", aborts},          {"well", ends_well},
	{"thread", of_a_thread},    {"other-thread", of_another_thread},
	{"child", child_fails},     {"child-alone", child_fails_alone},
	{"exec", again},            {"handler", handled},
	{"blank-line", blank_line_first},
};

int main(int argc, char **argv)
{
	if (open("/no/such/file", O_RDONLY) >= 0)
		return 9;
	for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof ways[0]; i++)
		if (!strcmp(argv[1], ways[i].name))
			return ways[i].go();
	return 9;
}
