/* SPDX-License-Identifier: MIT */
/* Reads perf.data, file and pipe mode, and gives an importer what it holds. Layout:
 * tools/perf/Documentation/perf.data-file-format.txt. Survives any bytes: sizes and counts in the
 * file are never trusted, memory is bounded by a multiple of the file's size. Used by capture.c. */
#ifndef BT_PERF_DATA_H
#define BT_PERF_DATA_H

#include "import/importer.h"

/* Whether the bytes begin like perf.data, of whatever version and byte order. */
bool perf_data_is(struct slice file);

/* Imports it. A file that ends in the middle of a record was cut off: what was read counts, with a
 * note in the trace. The header's argv, cpu, kernel and source are filled. What failed in the
 * importer itself is told by importer_close, not here. Errors, with the offset: BT_E_CORRUPT,
 * BT_E_TRUNCATED (not even a header), BT_E_UNSUPPORTED (another version or byte order),
 * BT_E_NO_MEMORY. */
int perf_data_import(struct importer *im, struct slice file, struct bt_error *err) BT_MUST_USE;

#endif
