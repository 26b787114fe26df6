/* SPDX-License-Identifier: MIT */
/* From a line of a source to an address in a program's file, by its debug information. Used by
 * btview for --from of btrec run. */
#ifndef BT_SOURCE_ADDRESS_H
#define BT_SOURCE_ADDRESS_H

#include <stdint.h>

#include "lib/error.h"

/* Finds where the code of a line ("config.c:10", lib/name_pattern.h) begins: the lowest link-time
 * address of the first source that has it. Returns 0; 1 when the file tells of none;
 * -BT_E_NOT_FOUND: it cannot be read. */
int source_address_find(const char *program, const char *place, uint64_t *addr,
			struct bt_error *err) BT_MUST_USE;

#endif
