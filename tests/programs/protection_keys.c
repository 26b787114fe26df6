/* SPDX-License-Identifier: MIT */
/* Code under protection keys (pkeys(7)): pages whose data the thread must not read or write are run, rewritten and faulted on. Prints what it sees,
 * which is to be the same natively and recorded. Exit status 77: the processor, or the kernel, has no keys. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, ROUNDS = 60 };

static uint8_t *code;
static int key;
static sigjmp_buf back;
static volatile siginfo_t seen;
static volatile unsigned rights_in_handler;

static unsigned rights(void)
{
	unsigned eax, edx;

	__asm__ volatile("rdpkru" : "=a"(eax), "=d"(edx) : "c"(0));
	return eax;
}

/* mov eax, n; ret */
static void write_code(int n)
{
	code[0] = 0xb8;
	memcpy(code + 1, &n, 4);
	code[5] = 0xc3;
}

static int run(void) { return ((int (*)(void))(void *)code)(); }

static void on_fault(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)context;
	memcpy((void *)(uintptr_t)&seen, info, sizeof *info);
	rights_in_handler = rights();
	siglongjmp(back, 1);
}

static void says_fault(const char *what)
{
	printf("%s: code %d at %ld key %d rights in the handler %x\n", what, seen.si_code, (long)((uint8_t *)seen.si_addr - code),
	       seen.si_code == SEGV_PKUERR ? seen.si_pkey == (unsigned)key : -1, rights_in_handler);
}

static void try_read(const char *what)
{
	unsigned was = rights();

	if (!sigsetjmp(back, 1))
		printf("%s: read %d\n", what, *(volatile uint8_t *)(code + 1));
	else
		says_fault(what);
	__asm__ volatile("wrpkru" : : "a"(was), "c"(0), "d"(0));
}

static void try_write(const char *what, int n)
{
	unsigned was = rights();

	if (!sigsetjmp(back, 1)) {
		*(volatile uint8_t *)(code + 1) = (uint8_t)n;
		printf("%s: written\n", what);
	} else {
		says_fault(what);
	}
	__asm__ volatile("wrpkru" : : "a"(was), "c"(0), "d"(0));
	printf("%s: runs %d\n", what, run());
}

static void rewrite_often(const char *what)
{
	long sum = 0;

	for (int i = 0; i < ROUNDS; i++) {
		pkey_set(key, 0);
		write_code(i);
		pkey_set(key, PKEY_DISABLE_ACCESS);
		sum += run();
	}
	printf("%s: %ld\n", what, sum);
}

static void *of_another(void *arg)
{
	(void)arg;
	printf("another thread: rights %d\n", pkey_get(key));
	rewrite_often("another thread");
	try_read("another thread");
	return NULL;
}

int main(void)
{
	struct sigaction a = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	pthread_t thread;

	setvbuf(stdout, NULL, _IOLBF, 0);
	key = pkey_alloc(0, 0);
	if (key < 0) {
		puts("no protection keys");
		return 77;
	}
	sigaction(SIGSEGV, &a, NULL);
	code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	write_code(1);
	if (code == MAP_FAILED || pkey_mprotect(code, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, key))
		return 1;
	printf("no rights taken: %d\n", run());
	pkey_set(key, PKEY_DISABLE_ACCESS);
	printf("no access: %d rights %d\n", run(), pkey_get(key));
	try_read("no access");
	try_write("no access", 2);
	pkey_set(key, PKEY_DISABLE_WRITE);
	printf("no writing: %d\n", run());
	try_read("no writing");
	try_write("no writing", 3);
	pkey_set(key, 0);
	try_write("all", 4);
	rewrite_often("rewritten");
	pthread_create(&thread, NULL, of_another, NULL);
	pthread_join(thread, NULL);
	printf("the first thread's rights: %d\n", pkey_get(key));
	pkey_set(key, PKEY_DISABLE_ACCESS);
	fflush(stdout);
	if (!fork()) {
		printf("a child: %d rights %d\n", run(), pkey_get(key));
		try_read("a child");
		rewrite_often("a child");
		exit(0);
	}
	wait(NULL);
	printf("its parent: %d\n", run());
	/* The kernel takes a key of its own for what can only be executed. */
	pkey_set(key, 0);
	write_code(77);
	if (pkey_mprotect(code, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, 0) || mprotect(code, PAGE, PROT_EXEC))
		return 1;
	printf("can only be executed: %d\n", run());
	try_read("can only be executed");
	if (mprotect(code, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC))
		return 1;
	try_read("can be read again");
	rewrite_often("at last");
	return pkey_free(key);
}
