/* SPDX-License-Identifier: MIT */
/* Steps itself (EFLAGS.TF) over instructions with a result of their own, and prints what its handler has found in the
 * registers behind each instruction. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>

static volatile unsigned long steps, sum;

static void on_trap(int signo, siginfo_t *info, void *arg)
{
	const greg_t *regs = ((ucontext_t *)arg)->uc_mcontext.gregs;

	(void)signo;
	(void)info;
	steps++;
	sum = 31 * sum + (unsigned long)(regs[REG_RAX] ^ regs[REG_RCX] ^ regs[REG_RDX]);
}

int main(void)
{
	const struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};

	sigaction(SIGTRAP, &action, NULL);
	for (int round = 0; round < 3; round++) {
		__asm__ volatile("subq $128, %%rsp\n\t"
				 "pushfq; orl $0x100, (%%rsp); popfq\n\t"
				 "nop; rdtsc; rdtscp; xorl %%eax, %%eax; cpuid; rdtsc\n\t"
				 "pushfq; andl $~0x100, (%%rsp); popfq\n\t"
				 "addq $128, %%rsp" ::
					 : "rax", "rbx", "rcx", "rdx", "memory", "cc");
		printf("%lu steps, %lx\n", steps, sum);
	}
	return 0;
}
