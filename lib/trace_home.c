/* SPDX-License-Identifier: MIT */
#include "lib/trace_home.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int trace_home(char dir[BT_PATH_MAX], struct bt_error *err)
{
	const char *own = getenv("BTREC_TRACE_DIR"), *data = getenv("XDG_DATA_HOME"),
		   *home = getenv("HOME");

	if (own && *own) {
		snprintf(dir, BT_PATH_MAX, "%s", own);
		return 0;
	}
	if (data && *data == '/') { /* the specification: relative ones are ignored */
		snprintf(dir, BT_PATH_MAX, "%s/btrec", data);
		return 0;
	}
	if (!home || !*home) {
		const struct passwd *pw = getpwuid(getuid());

		home = pw ? pw->pw_dir : NULL;
	}
	if (!home)
		return bt_fail(err, BT_E_IO, 0,
			       "no place for traces: HOME is not set; set BTREC_TRACE_DIR, or name "
			       "the trace");
	snprintf(dir, BT_PATH_MAX, "%s/.local/share/btrec", home);
	return 0;
}

int trace_home_latest(char path[BT_PATH_MAX], struct bt_error *err)
{
	char dir[BT_PATH_MAX];
	int rc = trace_home(dir, err);

	if (!rc)
		snprintf(path, BT_PATH_MAX, "%.4000s/latest", dir);
	return rc;
}

void trace_home_find(const char *name, char path[BT_PATH_MAX])
{
	char dir[BT_PATH_MAX];

	if (*name && !strchr(name, '/') && access(name, F_OK) && !trace_home(dir, NULL)) {
		snprintf(path, BT_PATH_MAX, "%.3700s/%.300s", dir, name);
		if (!access(path, F_OK))
			return;
	}
	snprintf(path, BT_PATH_MAX, "%s", name);
}
