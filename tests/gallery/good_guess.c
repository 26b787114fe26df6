// SPDX-License-Identifier: MIT
// Looks whether an address can be read, as conservative collectors and unwinders do: by reading it, with a handler that jumps out.
// It ends with 1, since it has found no difference: that is its answer, as of cmp(1).
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

static sigjmp_buf back;

static void on_fault(int signo)
{
	siglongjmp(back, signo);
}

static int readable(const volatile char *address)
{
	if (sigsetjmp(back, 1))
		return 0;
	(void)*address;
	return 1;
}

int main(void)
{
	char here = 1;
	void *closed = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int count;

	signal(SIGSEGV, on_fault);
	count = readable(&here) + readable(closed) + readable("text");
	printf("%d can be read\n", count);
	return count == 2;
}
