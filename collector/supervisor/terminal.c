/* SPDX-License-Identifier: MIT */
#include "collector/supervisor/terminal.h"

#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

static bool leads_group(pid_t pid) { return getpgid(pid) == pid; }

void terminal_hand_on(pid_t front, pid_t program)
{
	int fd;

	if (!leads_group(program) || !leads_group(front))
		return;
	fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	if (tcgetpgrp(fd) == front)
		(void)tcsetpgrp(fd, program);
	close(fd);
}
