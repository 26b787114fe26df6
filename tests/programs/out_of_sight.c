// SPDX-License-Identifier: MIT
/* out_of_sight dumpable|user [PROGRAM ARG...]: takes from others what it takes to look into its memory, or becomes another user; a thread computes
 * meanwhile. Then it writes code anew in pages that cannot be written while they can be executed, in itself and in a child, and executes PROGRAM.
 * Prints how often other code than that was executed. tests/e2e/out_of_sight.py */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_bool over;

static void *compute(void *arg)
{
	unsigned *sum = arg;

	while (!over)
		*sum = *sum % 3 ? *sum * 7 : *sum + 1;
	return NULL;
}

static int run(uint8_t *page, uint8_t value)
{
	uint8_t bytes[] = {0xb8, value, 0, 0, 0, 0xc3}; /* mov eax, value; ret */
	int (*function)(void);

	mprotect(page, 4096, PROT_READ | PROT_WRITE);
	memcpy(page, bytes, sizeof bytes);
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	memcpy(&function, &page, sizeof function);
	return function();
}

static int wrong(uint8_t *page, uint8_t first)
{
	int n = 0;

	for (uint8_t i = first; i < first + 20; i++)
		n += run(page, i) != i;
	return n;
}

int main(int argc, char **argv)
{
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned sum = 1;
	pthread_t thread;
	int status = 0;

	if (argc < 2 || page == MAP_FAILED || pthread_create(&thread, NULL, compute, &sum))
		return 2;
	printf("wrong before: %d\n", wrong(page, 0));
	if (!strcmp(argv[1], "dumpable") ? prctl(PR_SET_DUMPABLE, 0) : (int)syscall(SYS_setresuid, 65534, 65534, 65534))
		return 3;
	printf("wrong behind it: %d\n", wrong(page, 30));
	fflush(stdout);
	if (!fork())
		_exit(wrong(page, 60));
	wait(&status);
	printf("wrong in a child: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 1000);
	fflush(stdout);
	over = true;
	pthread_join(thread, NULL);
	if (argc > 2)
		execv(argv[2], argv + 2);
	return 0;
}
