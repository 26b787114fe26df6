/* SPDX-License-Identifier: MIT */
/* own_stack_limit HOW SIZE DEPTH [PROGRAM ARGUMENT..]: sets the limit of its own stack (RLIMIT_STACK) to SIZE bytes by
 * setrlimit: that call;
 * pid0, pid: prlimit64 of process 0, of its own number, which gives the limit of before, too;
 * fails: prlimit64 that fails, for it cannot write the limit of before: the limit is set by then;
 * compat: setrlimit of 32-bit code (int 0x80);
 * refused: setrlimit with a soft limit above the hard one: nothing is set.
 * Then it executes PROGRAM, or uses DEPTH bytes of its stack, and says so.
 * PROGRAM has no environment: where its arguments and environment are more than a page its stack grows for them, which
 * the limit may not let it. execve then fails (E2BIG, the program ends with 7), and the environment of make check is
 * more than a page (MAKEFLAGS). */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FRAME = 1000 };

static struct {
	uint32_t now, most;
} of_32_bits; /* below 4 GB in a program that is linked statically, without -pie */

static int deeper(long bytes)
{
	volatile char room[FRAME];

	room[bytes % FRAME] = 1;
	return bytes < FRAME ? room[bytes % FRAME] : deeper(bytes - FRAME) + room[0];
}

static long set_by_32_bits(const struct rlimit *limit)
{
	long result;

	of_32_bits.now = (uint32_t)limit->rlim_cur;
	of_32_bits.most = (uint32_t)limit->rlim_max; /* all ones: no limit, in 32 bits, too */
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(75), "b"(RLIMIT_STACK), "c"(&of_32_bits) : "memory", "r8", "r9", "r10", "r11");
	return result;
}

static long set_limit(const char *how, rlim_t size)
{
	struct rlimit limit, before;

	getrlimit(RLIMIT_STACK, &limit);
	limit.rlim_cur = size;
	if (!strcmp(how, "setrlimit"))
		return syscall(SYS_setrlimit, RLIMIT_STACK, &limit);
	if (!strcmp(how, "pid0"))
		return syscall(SYS_prlimit64, 0, RLIMIT_STACK, &limit, &before);
	if (!strcmp(how, "pid"))
		return syscall(SYS_prlimit64, getpid(), RLIMIT_STACK, &limit, &before);
	if (!strcmp(how, "fails"))
		return syscall(SYS_prlimit64, 0, RLIMIT_STACK, &limit, (void *)8) != -1;
	if (!strcmp(how, "compat"))
		return set_by_32_bits(&limit);
	limit.rlim_max = size - 1;
	return syscall(SYS_setrlimit, RLIMIT_STACK, &limit) != -1;
}

int main(int argc, char **argv)
{
	if (argc < 4 || set_limit(argv[1], strtoul(argv[2], NULL, 0))) {
		puts("not set");
		return 2;
	}
	puts("set");
	fflush(stdout);
	if (argc > 4)
		return execve(argv[4], argv + 4, (char *[]){NULL}) && errno == E2BIG ? 7 : 1;
	printf("%d\n", deeper(atol(argv[3])) > 0);
	return 0;
}
