/* SPDX-License-Identifier: MIT */
/* Reads a core file of an x86-64 process (core(5)): threads with registers, mapped files, stacks
 * and other dumped memory near register values, and the signal that ended it. They become one fatal
 * snapshot without branch history. Used by capture.c. Survives any bytes. */
#ifndef BT_CORE_FILE_H
#define BT_CORE_FILE_H

#include "import/importer.h"

/* Whether the bytes begin like an ELF core file. */
bool core_file_is(struct slice bytes);

/* Imports it. Errors, with the offset where there is one: BT_E_UNSUPPORTED (of another machine),
 * BT_E_CORRUPT. */
int core_file_import(struct importer *im, struct slice bytes, struct bt_error *err) BT_MUST_USE;

#endif
