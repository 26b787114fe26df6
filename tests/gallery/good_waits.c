// SPDX-License-Identifier: MIT
// A service that waits for work, until somebody ends it.
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	int ends[2];
	struct pollfd work;

	if (pipe(ends) != 0)
		return 1;
	work.fd = ends[0];
	work.events = POLLIN;
	puts("ready");
	fflush(stdout);
	while (poll(&work, 1, 1000) >= 0)
		;
	return 1;
}
