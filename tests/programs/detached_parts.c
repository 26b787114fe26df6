/* SPDX-License-Identifier: MIT */
/* Detaches shared memory whose mapping is in parts by then: some protected, some unmapped (the first,
 * too), some replaced by memory of its own. Prints which pages can be read behind that. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>

enum { PAGE = 4096, PAGES = 8 };

static sigjmp_buf back;

static void on_fault(int signo) { siglongjmp(back, signo); }

static int value_at(const volatile char *at) { return sigsetjmp(back, 1) ? -1 : *at; }

static void detach(int id, int protected, int gone, int own)
{
	char *at = shmat(id, NULL, 0);

	memset(at, 5, PAGES * PAGE);
	mprotect(at + protected * PAGE, PAGE, PROT_READ);
	munmap(at + gone * PAGE, PAGE);
	memset(mmap(at + own * PAGE, PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
	       9, PAGE);
	printf("%d:", shmdt(at));
	for (int i = 0; i < PAGES; i++)
		printf(" %d", value_at(at + i * PAGE));
	puts("");
	munmap(at + own * PAGE, PAGE);
}

int main(void)
{
	int id = shmget(IPC_PRIVATE, PAGES * PAGE, 0600);

	signal(SIGSEGV, on_fault);
	detach(id, 2, 5, 5);
	detach(id, 2, 0, 4);
	detach(id, 0, 7, 3);
	detach(id, 7, 6, 6);
	shmctl(id, IPC_RMID, NULL);
	return 0;
}
