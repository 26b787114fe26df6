/* SPDX-License-Identifier: MIT */
/* A jump to an address that no page can have, FROM to TO rounds of a loop of one conditional behind the start of a stretch: some come just
 * behind where the room for records was full, before the next record. The handler is to be told of the jump itself.
 * Prints how many jumps there were. tests/e2e/engine_history.py */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

extern const char wild_jump[];
static sigjmp_buf back;
static volatile sig_atomic_t right;

static void handler(int signo, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;

	right = signo == SIGSEGV && !info->si_addr && u->uc_mcontext.gregs[REG_RIP] == (greg_t)wild_jump && !u->uc_mcontext.gregs[REG_RCX];
	siglongjmp(back, 1);
}

static __attribute__((noinline)) void jump_after(unsigned long rounds)
{
	__asm__ volatile("1: dec %%rcx\n\tjnz 1b\n"
			 ".globl wild_jump\nwild_jump: jmp *%1"
			 : "+c"(rounds)
			 : "a"(1ul << 63)
			 : "memory", "cc");
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	unsigned long jumps = 0;

	if (argc < 3)
		return 2;
	sigaction(SIGSEGV, &sa, NULL);
	for (volatile unsigned long n = strtoul(argv[1], NULL, 0); n < strtoul(argv[2], NULL, 0); n++) {
		if (!sigsetjmp(back, 1))
			jump_after(n);
		if (!right) {
			printf("after %lu rounds the handler was told something else\n", n);
			return 1;
		}
		right = 0;
		jumps++;
	}
	printf("%lu jumps\n", jumps);
	return 0;
}
