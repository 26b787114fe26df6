/* SPDX-License-Identifier: MIT */
/* What a command prints, and its end: on a full disk it is not there, and that is no success. Used
 * by the mains and by what prints much. */
#ifndef BT_OUTPUT_H
#define BT_OUTPUT_H

#include <stdio.h>

#include "lib/error.h"

/* Writes to f, which is standard output. Errors: BT_E_IO, with the cause. */
int bt_output(FILE *f, const void *bytes, size_t len, struct bt_error *err) BT_MUST_USE;

/* Writes what f still holds. Errors: BT_E_IO where that, or anything printed to f before, could not
 * be written, with the cause, if another byte cannot be written either. */
int bt_output_end(FILE *f, struct bt_error *err) BT_MUST_USE;

#endif
