/* SPDX-License-Identifier: MIT */
/* Which backends, branch sources and histories go together: one table (btrec(1), MODES). Used by
 * btrec run. Constant. */
#ifndef BT_MODE_H
#define BT_MODE_H

#include "collector/backend/backend.h"
#include "lib/error.h"

/* The options that choose a mode. */
struct mode_wish {
	const char *backend, *source; /* "auto" for any */
	bool history_off;             /* --history off */
	bool history_on;              /* --history with a number */
	bool parallel;                /* --parallel */
	bool replayable;              /* --replayable */
};

struct mode {
	const char *backend; /* as in --backend */
	const struct backend_ops *ops;
	const char
		*source; /* as in --source; "auto": the first of the processor's that can be used */
	bool parallel;   /* threads of a process can run side by side */
	bool replayable; /* its points are exact, and it runs what replays */
};

/* Finds the first row of the table that fits. Returns 0, or -BT_E_MISUSE with a text that names the
 * combinations. */
int mode_find(const struct mode_wish *wish, const struct mode **out,
	      struct bt_error *err) BT_MUST_USE;

/* Whether some row has this name. */
bool mode_has_backend(const char *name);
bool mode_has_source(const char *name);

#endif
