/* SPDX-License-Identifier: MIT */
/* Traces by the signature of their failure, for btrec list. btview tells a signature, in a process
 * of its own for each trace: it has the libraries for symbols, which no recording is to load. */
#ifndef BT_SIGNATURE_GROUPS_H
#define BT_SIGNATURE_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/error.h"

struct grouped_trace {
	const char *name; /* in dir */
	uint64_t started; /* ns since 1970 */
};

/* Opens all the traces, and prints a group in two lines, the largest first: how many they are,
 * when the newest began, hash and readable form; and the newest trace. Traces without a failure,
 * and those that cannot be read, are groups, too. Errors: BT_E_NO_MEMORY; BT_E_NOT_FOUND: there is
 * no btview beside this program; BT_E_IO: no process can be started. */
int signature_groups_print(const char *dir, const struct grouped_trace *traces, size_t count,
			   struct bt_error *err) BT_MUST_USE;

#endif
