/* SPDX-License-Identifier: MIT */
/* Checked output of a command: output that a full disk refuses is an error. Used by the mains and
 * by code that prints much. */
#ifndef BT_OUTPUT_H
#define BT_OUTPUT_H

#include <stdio.h>

#include "lib/error.h"

/* Writes to f, which is standard output. Errors: BT_E_IO, with the cause. */
int bt_output(FILE *f, const void *bytes, size_t len, struct bt_error *err) BT_MUST_USE;

/* Flushes f. Errors: BT_E_IO, with the cause, if anything printed to f could not be written and
 * another byte cannot be written either. */
int bt_output_end(FILE *f, struct bt_error *err) BT_MUST_USE;

#endif
