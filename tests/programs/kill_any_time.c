// SPDX-License-Identifier: MIT
/* kill_any_time [computes|returns]: does without end what is made at stops of the recorder, or nothing but compute, in branches of all kinds, or
 * call itself, which returns in cycles without a conditional; and says "ready" when it begins: to be killed at any moment. tests/e2e/kills.py */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile sig_atomic_t count;
static volatile unsigned long sum;

static void note(int signo) { count += signo > 0; }

static void __attribute__((noinline)) add(unsigned long n) { sum += n; }

static void __attribute__((noinline)) mix(unsigned long n) { sum ^= n & 1 ? n : n << 3; }

static void __attribute__((noinline)) descend(unsigned long n)
{
	if (n & 7)
		descend(n - 1);
	sum++;
}

static void __attribute__((noreturn)) compute(void)
{
	void (*const does[])(unsigned long) = {add, mix, descend, add};

	for (unsigned long x = 1;; x = x * 6364136223846793005u + 1442695040888963407u) {
		does[x >> 60 & 3](x >> 33);
		for (unsigned long i = x >> 59; i; i--)
			if (x >> i & 1)
				mix(i);
	}
}

static void __attribute__((noreturn)) go_down(void)
{
	for (unsigned long x = 1;; x = x * 6364136223846793005u + 1442695040888963407u)
		descend(x >> 33);
}

int main(int argc, char **argv)
{
	struct sigaction a = {.sa_handler = note};
	int parity = 0;

	sigaction(SIGUSR1, &a, NULL);
	sigaction(SIGUSR2, &a, NULL);
	(void)!write(1, "ready\n", 6);
	if (argc > 1 && *argv[1] == 'c')
		compute();
	if (argc > 1)
		go_down();
	for (;;) {
		void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		raise(++parity & 1 ? SIGUSR1 : SIGUSR2);
		if (page != MAP_FAILED && count & 1)
			mprotect(page, 4096, PROT_READ | PROT_WRITE);
		munmap(page, 4096);
	}
}
