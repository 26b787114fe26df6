/* SPDX-License-Identifier: MIT */
#include "lib/output.h"

#include <errno.h>

int bt_output_end(FILE *f, struct bt_error *err)
{
	int cause = fflush(f) ? errno : 0; /* of what failed before nothing more is known */

	return cause || ferror(f) ? bt_fail(err, BT_E_IO, cause, "cannot write") : 0;
}
