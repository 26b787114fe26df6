/* SPDX-License-Identifier: MIT */
/* A file that the user vouches for, or a folder of such (btview --symbols): which of them may be a
 * module's. Whether it is looked into is for image.c to say. Used by symbols. */
#ifndef BT_VOUCHED_H
#define BT_VOUCHED_H

#include <stdbool.h>

#include "lib/error.h"

struct vouched {
	const char *path; /* borrowed; NULL: there is none */
	bool is_folder;
	bool used; /* something of it was */
};

/* Errors: BT_E_MISUSE: there is no such file, or it is no file and no folder; BT_E_PERMISSION. */
int vouched_init(struct vouched *v, const char *path, struct bt_error *err) BT_MUST_USE;

/* Offers the files that may be the module's, opened, until take() takes one: it returns true, and
 * the descriptor is its own. In a folder they are found by build-id (.build-id/xx/yyy, the same
 * with .debug; hex, "" none), and by the path of the module or an end of it, also with .debug
 * behind it. A file is offered to modules of its name or build-id. Returns whether one was taken.
 */
bool vouched_offer(const struct vouched *v, const char *module, const char *build_id,
		   bool (*take)(void *arg, int fd, const char *path), void *arg);

/* Whether an ELF file has its code, which debug files lack. */
bool vouched_has_code(int fd);

/* The build-id of an ELF file, hex; "" none. */
void vouched_build_id(int fd, char hex[2 * 64 + 1]);

#endif
