/* SPDX-License-Identifier: MIT */
/* leaves_child: ends while its child goes on, as the first process of a daemon does. */
#include <unistd.h>

int main(void)
{
	pid_t pid = fork();
	char byte;

	if (!pid)
		usleep(200000); /* longer than its parent; nothing depends on how long */
	return pid < 0 || (!pid && read(0, &byte, 1) < 0);
}
