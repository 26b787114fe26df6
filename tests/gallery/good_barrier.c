// SPDX-License-Identifier: MIT
// A write barrier as garbage collectors have it: pages are protected, and the handler of SIGSEGV notes the write and lets it pass.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 8, PAGE = 4096 };

static unsigned char *heap;
static volatile sig_atomic_t dirty[PAGES];

static void on_write(int signo, siginfo_t *info, void *context)
{
	size_t page = (size_t)((unsigned char *)info->si_addr - heap) / PAGE;

	(void)signo;
	(void)context;
	if (page >= PAGES)
		_exit(3);
	dirty[page] = 1;
	mprotect(heap + page * PAGE, PAGE, PROT_READ | PROT_WRITE);
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_write, .sa_flags = SA_SIGINFO };
	int count = 0;

	heap = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &action, NULL);
	for (int i = 0; i < PAGES; i += 2)
		heap[i * PAGE + 17] = 1;
	for (int i = 0; i < PAGES; i++)
		count += dirty[i];
	printf("%d dirty pages\n", count);
	return 0;
}
