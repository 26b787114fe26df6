// SPDX-License-Identifier: MIT
/* Fails in the ways that its arguments name, one after the other: failing WAY... What is expected of each: tests/e2e/failures.py. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int *volatile no_int;
static volatile sig_atomic_t handled;
static volatile long rounds;
static sigjmp_buf back;

__attribute__((noinline)) static void work(long count)
{
	for (rounds = 0; rounds < count;)
		rounds++;
}

__attribute__((noinline)) static int parse(int depth)
{
	return depth ? parse(depth - 1) + 1 : *no_int; /* @parse */
}

__attribute__((noinline)) static void give_up(int status)
{
	exit(status); /* @give-up */
}

static void note(int signo)
{
	handled = signo;
}

static void jump_back(int signo)
{
	siglongjmp(back, signo);
}

static void leave(int signo)
{
	_exit(signo - 4);
}

static void handle(int signo, void (*handler)(int))
{
	sigaction(signo, &(struct sigaction){.sa_handler = handler}, NULL);
}

/* A child ends, and the handler of SIGCHLD runs. */
static void see_child(void)
{
	handle(SIGCHLD, note);
	handled = 0;
	if (!fork())
		_exit(0);
	while (!handled)
		;
	wait(NULL);
}

/* A fault whose handler the program goes on from. */
static void survive_fault(void)
{
	handle(SIGSEGV, jump_back);
	if (!sigsetjmp(back, 1))
		parse(1);
	handle(SIGSEGV, SIG_DFL);
}

/* so many children, each of which fails */
static void fail_children(int count)
{
	for (int i = 0; i < count; i++) {
		if (!fork())
			_exit(7);
		wait(NULL);
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *way = argv[i];

		if (!strncmp(way, "work=", 5))
			work(atol(way + 5));
		else if (!strncmp(way, "say=", 4))
			fprintf(stderr, "%s\n", way + 4);
		else if (!strncmp(way, "exit=", 5))
			give_up(atoi(way + 5));
		else if (!strncmp(way, "children=", 9))
			fail_children(atoi(way + 9));
		else if (!strcmp(way, "null"))
			parse(3);
		else if (!strcmp(way, "see-child"))
			see_child();
		else if (!strcmp(way, "survive-fault"))
			survive_fault();
		else if (!strcmp(way, "leave-fault"))
			handle(SIGSEGV, leave);
		else
			return 99;
	}
	return 0;
}
