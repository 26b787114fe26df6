/* SPDX-License-Identifier: MIT */
/* Says of each call through which memory is written later whether the kernel knows it: all others have an error of their own, as the arguments are wrong. */
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static void say(const char *name, long rc)
{
	printf("%s %s\n", name, rc < 0 && errno == ENOSYS ? "refused" : "there");
}

int main(void)
{
	say("io_setup", syscall(SYS_io_setup, 0, NULL));
	say("io_uring_setup", syscall(SYS_io_uring_setup, 0, NULL));
	say("userfaultfd", syscall(SYS_userfaultfd, -1));
	return 0;
}
