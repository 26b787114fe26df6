/* SPDX-License-Identifier: MIT */
/* A program with moments to keep: what it does is its first argument. */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "include/btrec.h"

static volatile int sink;

__attribute__((noinline)) void interesting(int n)
{
	for (int i = 0; i < n; i++)
		sink += i;
}

static int mark(void)
{
	int first, second;

	interesting(3);
	first = btrec_snapshot("after the third");
	interesting(5);
	second = btrec_snapshot(NULL);
	printf("recorded %d %d\n", first, second);
	return 0;
}

/* A name that is a number, too. */
__attribute__((noinline)) void fade(int n)
{
	interesting(n);
	sink++;
}

static int from_fade(void)
{
	fade(7);
	raise(SIGKILL);
	return 0;
}

static int from(void)
{
	interesting(7);
	raise(SIGKILL);
	return 0;
}

static void *other(void *arg)
{
	interesting(11);
	raise(SIGSEGV);
	return arg;
}

/* The initial thread sleeps in the kernel when another one reaches the place; both are recorded from there. */
static int from_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, other, NULL);
	pthread_join(thread, NULL);
	return 0;
}

static int from_child(void)
{
	if (fork() == 0) {
		interesting(2);
		_exit(0);
	}
	sleep(1);
	interesting(2);
	abort();
}

static int from_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*function)(long) = library ? (void (*)(long))dlsym(library, "ledger_add") : NULL;

	if (function)
		function(1);
	return 9;
}

static void *sleeps(void *arg)
{
	sem_post(arg);
	for (;;)
		pause();
}

static int from_library_beside(const char *path)
{
	pthread_t thread;
	sem_t begun;

	sem_init(&begun, 0, 0);
	pthread_create(&thread, NULL, sleeps, &begun);
	sem_wait(&begun);
	return from_library(path);
}

static int wait_forever(void)
{
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

static void *nothing_to_do(void *arg) { return arg; }

static void *pause_forever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* One thread has ended, another one waits, too. */
static int wait_with_threads(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, nothing_to_do, NULL);
	pthread_join(thread, NULL);
	pthread_create(&thread, NULL, pause_forever, NULL);
	return wait_forever();
}

static int spin_forever(void)
{
	puts("ready");
	fflush(stdout);
	for (;;)
		interesting(100);
}

/* Leaves a process behind that runs until it is killed, and prints its pid. */
/* Code that is written between one run and the next. */
static void run_code(int sleeps)
{
	static const unsigned char code[] = {0xb8, 1, 0, 0, 0, 0xc3}; /* mov eax, 1; ret */
	static unsigned char *at;

	if (!at) {
		at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memcpy(at, code, sizeof code);
	}
	for (int i = 0; i < 100; i++)
		((int (*)(void))(void *)at)();
	if (sleeps)
		poll(NULL, 0, 300);
	at[1]++;
}

static int leave_daemon(const char *how)
{
	pid_t pid = fork();

	if (pid == 0) {
		setsid();
		close(0);
		close(1);
		close(2);
		for (;;)
			if (!how)
				sleep(1);
			else if (!strcmp(how, "busy"))
				interesting(100);
			else
				run_code(!strcmp(how, "code"));
	}
	printf("%d\n", (int)pid);
	return 0;
}

static void nothing(int signo)
{
	(void)signo;
}

static int many_signals(void)
{
	signal(SIGUSR1, nothing);
	for (int i = 0; i < 200; i++)
		raise(SIGUSR1);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "mark"))
		return mark();
	if (!strcmp(what, "from"))
		return from();
	if (!strcmp(what, "from-fade"))
		return from_fade();
	if (!strcmp(what, "from-thread"))
		return from_thread();
	if (!strcmp(what, "from-child"))
		return from_child();
	if (!strcmp(what, "from-library"))
		return from_library(argv[2]);
	if (!strcmp(what, "from-library-beside"))
		return from_library_beside(argv[2]);
	if (!strcmp(what, "wait"))
		return wait_forever();
	if (!strcmp(what, "wait-with-threads"))
		return wait_with_threads();
	if (!strcmp(what, "spin"))
		return spin_forever();
	if (!strcmp(what, "daemon"))
		return leave_daemon(argc > 2 ? argv[2] : NULL);
	if (!strcmp(what, "signals"))
		return many_signals();
	if (!strcmp(what, "exit"))
		return atoi(argv[2]);
	return 99;
}
