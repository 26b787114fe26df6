/* SPDX-License-Identifier: MIT */
/* Preloaded into btrec: between what it has read and the stop that it makes of that there is half a second. The file LATE_RAISE names is
 * there from the beginning of it, and holds a byte when btrec goes on behind the stop. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int raise(int signo)
{
	const char *path = getenv("LATE_RAISE");
	int fd, rc;

	if (!path || strcmp(program_invocation_short_name, "btrec"))
		return (int)syscall(SYS_tgkill, getpid(), gettid(), signo);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	usleep(500000);
	rc = (int)syscall(SYS_tgkill, getpid(), gettid(), signo);
	(void)!write(fd, "1", 1);
	close(fd);
	return rc;
}
