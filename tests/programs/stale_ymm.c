/* SPDX-License-Identifier: MIT */
/* Whether the processor or its kernel loses the upper halves of ymm0 to ymm15 of a program that nobody traces. They are zero here, by
 * XRSTOR, while the upper halves of zmm0 are not; nothing changes them, and yet behind a switch to another process and back (two, mostly)
 * they are what they were at an earlier switch. Linux 6.18 on AMD Zen 4: XSAVES, which leaves out what is unchanged, says then that they
 * are in use. Says in which round it came, and ends with 1 then. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { ROUNDS = 1000000, SWITCHES = 4, AVX = 4, AVX512 = 0xe0 };

struct zmm {
	uint64_t words[8];
};

static void set_zmm0(const struct zmm *value)
{
	__asm__ volatile("vmovdqu64 %0, %%zmm0" : : "m"(*value));
}

static struct zmm get_zmm0(void)
{
	struct zmm value;

	__asm__ volatile("vmovdqu64 %%zmm0, %0" : "=m"(value));
	return value;
}

static void yield(void)
{
	long rc = 24; /* sched_yield, without a library that might use these registers */

	__asm__ volatile("syscall" : "+a"(rc) : : "rcx", "r11", "memory");
}

int main(void)
{
	static _Alignas(64) uint64_t area[2048];
	static const struct zmm ones = {{-1ULL, -1ULL, -1ULL, -1ULL, -1ULL, -1ULL, -1ULL, -1ULL}}, upper = {{1, 2, 3, 4, 5, 6, 7, 8}};
	const uint32_t parts = 3 | AVX | AVX512;
	uint32_t eax, ebx, ecx, edx;
	bool stale = false;
	int round;
	cpu_set_t here;
	pid_t other;

	__cpuid_count(0xd, 0, eax, ebx, ecx, edx);
	if ((eax & parts) != parts) {
		puts("no AVX-512");
		return 0;
	}
	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	sched_setaffinity(0, sizeof(here), &here);
	other = fork();
	if (!other) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			set_zmm0(&ones);
			yield();
		}
	}
	set_zmm0(&upper);
	__asm__ volatile("xsave64 %0" : "+m"(area) : "a"(parts), "d"(0));
	area[64] &= ~(uint64_t)AVX; /* XSTATE_BV */
	for (round = 0; round < ROUNDS && !stale; round++) {
		set_zmm0(&ones);
		yield();
		__asm__ volatile("xrstor64 %0" : : "m"(area), "a"(parts), "d"(0));
		for (int i = 0; i < SWITCHES && !stale; i++) {
			struct zmm now;

			yield();
			now = get_zmm0();
			stale = now.words[2] || now.words[3];
		}
	}
	kill(other, SIGKILL);
	printf("%s in %d rounds\n", stale ? "changed" : "unchanged", round);
	return stale;
}
