/* SPDX-License-Identifier: MIT */
/* own_results: reads the processor's clock where the kernel has been told to forbid it, and what sgdt and its like store; then by code that came through a pipe. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <x86intrin.h>

static sigjmp_buf back;

static void on_fault(int signo, siginfo_t *info, void *context)
{
	(void)context;
	printf("signal %d, code %d\n", signo, info->si_code);
	siglongjmp(back, 1);
}

int main(void)
{
	/* ds rdtsc; shl rdx, 32; or rax, rdx; ret */
	static const char code[] = "\x3e\x0f\x31\x48\xc1\xe2\x20\x48\x09\xd0\xc3";
	const struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	int pipes[2];
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	static unsigned char stored[34];
	unsigned long word = 0;

	__asm__ volatile("sgdt %1; sidt %2; smsw %3; str %4; sldt %5; smsw %0"
			 : "+r"(word), "=m"(*stored), "=m"(stored[10]), "=m"(stored[20]), "=m"(stored[24]), "=m"(stored[28])::"memory");
	for (unsigned i = 0; i < sizeof stored; i++)
		printf("%02x", stored[i]);
	printf(" %lx\n", word);
	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGILL, &fault, NULL);
	for (int i = 0; i < 2; i++) {
		prctl(PR_SET_TSC, i ? PR_TSC_ENABLE : PR_TSC_SIGSEGV);
		if (!sigsetjmp(back, 1))
			printf("%llu\n", (unsigned long long)__rdtsc());
	}
	if (page == MAP_FAILED || pipe(pipes) || write(pipes[1], code, sizeof code) != sizeof code || read(pipes[0], page, sizeof code) != sizeof code)
		return 1;
	printf("%llu\n", ((unsigned long long (*)(void))page)());
	return 0;
}
