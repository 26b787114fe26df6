/* SPDX-License-Identifier: MIT */
/* splices_out: writes to its standard output, a pipe, by write(2) and by vmsplice(2). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

int main(void)
{
	const struct iovec pieces[] = {{"spliced, ", 9}, {"second piece\n", 13}};

	if (write(1, "first\n", 6) != 6 || vmsplice(1, pieces, 2, 0) != 22)
		return 1;
	return write(1, "last\n", 5) != 5;
}
