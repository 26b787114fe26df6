// SPDX-License-Identifier: MIT
/* kill_any_time: does without end what is made at stops of the recorder, and says "ready" when it begins: to be killed at any moment.
 * tests/e2e/kills.py */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile sig_atomic_t count;

static void note(int signo) { count += signo > 0; }

int main(void)
{
	struct sigaction a = {.sa_handler = note};
	int parity = 0;

	sigaction(SIGUSR1, &a, NULL);
	sigaction(SIGUSR2, &a, NULL);
	(void)!write(1, "ready\n", 6);
	for (;;) {
		void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		raise(++parity & 1 ? SIGUSR1 : SIGUSR2);
		if (page != MAP_FAILED && count & 1)
			mprotect(page, 4096, PROT_READ | PROT_WRITE);
		munmap(page, 4096);
	}
}
