/* SPDX-License-Identifier: MIT */
#include "commands/proc_mount.h"

#include <stdlib.h>
#include <unistd.h>

/* Everything about the program is read from /proc, by pids as we see them. */
int proc_mount_check(const char *use, struct bt_error *err)
{
	char self[32] = "";
	ssize_t len = readlink("/proc/self", self, sizeof self - 1);

	if (len < 0)
		return bt_fail(err, BT_E_UNSUPPORTED, 0,
			       "there is no proc(5) on /proc, which %s needs: mount -t proc proc "
			       "/proc",
			       use);
	if (atoi(self) != getpid())
		return bt_fail(err, BT_E_UNSUPPORTED, 0,
			       "/proc is that of another PID namespace: mount -t proc proc /proc, "
			       "or unshare --mount-proc");
	return 0;
}
