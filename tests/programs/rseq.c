/* SPDX-License-Identifier: MIT */
/* Says whether rseq(2) is there: a bad length is EINVAL where it is. */
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	long rc = syscall(SYS_rseq, 0, 0, 0, 0);

	printf("%s\n", rc && errno == ENOSYS ? "refused" : "there");
	return 0;
}
