/* SPDX-License-Identifier: MIT */
/* Says whether rseq(2) is there: a bad length is EINVAL where it is; and whether there are shadow stacks (arch_prctl(2), ARCH_SHSTK_ENABLE). */
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	long rc = syscall(SYS_rseq, 0, 0, 0, 0);

	printf("%s\n", rc && errno == ENOSYS ? "refused" : "there");
	rc = syscall(SYS_arch_prctl, 0x5001, 1);
	printf("%s\n", rc && errno == EOPNOTSUPP ? "refused" : "there");
	fflush(stdout);
	_exit(0); /* main has no shadow of its return, where there is such a stack */
}
