/* SPDX-License-Identifier: MIT */
/* Asks again and again what a file is (fstat), and looks at each register behind it; and, in a handler of SIGALRM, at those that a signal finds
 * before the call and behind it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { TIMES = 60, R8 = 0x1234, R9 = 0x5678, R11 = 0x9999, RCX = 0x7777, FLAGS_ALWAYS = 0x202 };

static char nothing[1];
static struct stat status;
static volatile sig_atomic_t strange;
extern char before_call[], behind_call[];

static bool has_arguments(const greg_t *r)
{
	return r[REG_RSI] == (greg_t)nothing && r[REG_RDX] == (greg_t)&status && r[REG_R10] == AT_EMPTY_PATH && r[REG_R8] == R8 && r[REG_R9] == R9;
}

static void look(int signo, siginfo_t *info, void *context)
{
	const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)signo;
	(void)info;
	if (r[REG_RIP] == (greg_t)before_call)
		strange += !has_arguments(r) || r[REG_RAX] != SYS_newfstatat || r[REG_R11] != R11 || r[REG_RCX] != RCX;
	if (r[REG_RIP] == (greg_t)behind_call)
		strange += !has_arguments(r) || r[REG_RAX] || r[REG_RCX] != (greg_t)behind_call || !(r[REG_R11] & FLAGS_ALWAYS);
}

static bool asks(int fd)
{
	register long r10 __asm__("r10") = AT_EMPTY_PATH, r8 __asm__("r8") = R8, r9 __asm__("r9") = R9;
	long rax = SYS_newfstatat, rcx = RCX, rsi = (long)nothing, rdx = (long)&status, rdi = fd, r11;

	__asm__ volatile(".global before_call, behind_call\n\tmov %[before], %%r11\nbefore_call: syscall\nbehind_call: mov %%r11, %[flags]"
			 : "+a"(rax), "+c"(rcx), "+S"(rsi), "+d"(rdx), "+D"(rdi), "+r"(r10), "+r"(r8), "+r"(r9), [flags] "=b"(r11)
			 : [before] "i"(R11)
			 : "r11", "memory");
	return !rax && rcx == (long)behind_call && rsi == (long)nothing && rdx == (long)&status && rdi == fd && r10 == AT_EMPTY_PATH && r8 == R8 && r9 == R9 &&
	       r11 & FLAGS_ALWAYS && S_ISREG(status.st_mode);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = look, .sa_flags = SA_SIGINFO | SA_RESTART};
	char bytes[4];

	(void)argc;
	sigaction(SIGALRM, &action, NULL);
	for (int i = 0; i < TIMES; i++) {
		int fd = open(argv[0], O_RDONLY);

		strange += !asks(fd) || read(fd, bytes, sizeof bytes) != sizeof bytes || memcmp(bytes, "\177ELF", sizeof bytes);
		close(fd);
	}
	printf("strange: %d\n", (int)strange);
	return 0;
}
