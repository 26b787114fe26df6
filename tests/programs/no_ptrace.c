// SPDX-License-Identifier: MIT
/* no_ptrace [--kill NUMBER] PROGRAM ARGS: runs a program as a container does whose seccomp profile denies ptrace; or, with a system
 * call's number, as one that kills whoever makes that call. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SECCOMP_RET_KILL_PROCESS
#define SECCOMP_RET_KILL_PROCESS 0x80000000u
#endif

int main(int argc, char **argv)
{
	int kill = argc > 3 && !strcmp(argv[1], "--kill");
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kill ? (unsigned)atoi(argv[2]) : SYS_ptrace, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, kill ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 4, .filter = filter};

	argv += kill ? 3 : 1;
	if (!*argv || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 77;
	/* A btrec built with ASan looks for leaks by ptrace. */
	setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
	execv(argv[0], argv);
	return 127;
}
