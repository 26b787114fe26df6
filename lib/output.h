/* SPDX-License-Identifier: MIT */
/* The end of what a command prints: on a full disk it is not there, and that is no success. Used by the mains. */
#ifndef BT_OUTPUT_H
#define BT_OUTPUT_H

#include <stdio.h>

#include "lib/error.h"

/* Writes what f still holds. Errors: BT_E_IO where that, or anything printed to f before, could not be written. */
int bt_output_end(FILE *f, struct bt_error *err) BT_MUST_USE;

#endif
