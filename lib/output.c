/* SPDX-License-Identifier: MIT */
#include "lib/output.h"

#include <errno.h>
#include <unistd.h>

static int fail_unwritten(int cause, struct bt_error *err)
{
	return bt_fail(err, BT_E_IO, cause, "cannot write to standard output");
}

int bt_output(FILE *f, const void *bytes, size_t len, struct bt_error *err)
{
	errno = 0;
	return fwrite(bytes, 1, len, f) == len ? 0 : fail_unwritten(errno, err);
}

int bt_output_end(FILE *f, struct bt_error *err)
{
	int cause = fflush(f) ? errno : 0;

	/* The stream has dropped the failed bytes and the cause: one more byte fails with the same
	 * cause. */
	if (!cause && ferror(f) && write(fileno(f), "\n", 1) < 0)
		cause = errno;
	return cause || ferror(f) ? fail_unwritten(cause, err) : 0;
}
