/* SPDX-License-Identifier: MIT */
/* Programs that btrec run asks something: btview, which has the libraries for symbols, and the
 * dynamic linker. Each runs as a process of its own, for a bounded time. */
#ifndef BT_HELPER_H
#define BT_HELPER_H

#include <linux/limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* One that runs. */
struct helper {
	pid_t pid; /* -1: none */
	int from;  /* its output is read here */
};

/* The path of the btview that lies beside this program. False: there is none. */
bool helper_btview(char path[PATH_MAX]);

/* Runs argv[0], a path, for patience ms at most, with nothing to read and its stderr thrown away.
 * out[size] gets what it prints, cut to that, NUL-terminated. Returns whether it ended with 0 in
 * time; it is killed otherwise. */
bool helper_ask(const char *const *argv, int patience, char *out, size_t size);

/* The same in steps. helper_start() returns false where it could not be started; helper_end() is to
 * be called all the same. */
bool helper_start(struct helper *h, const char *const *argv);

/* Waits for patience ms at most until it has closed its output; whether it has. */
bool helper_read(struct helper *h, int patience, char *out, size_t size);

/* Waits for patience ms at most, then kills it. Returns whether it has ended with 0. */
bool helper_end(struct helper *h, int patience);

#endif
