/* SPDX-License-Identifier: MIT */
/* Reads perf.data, file and pipe mode, into an importer. Layout:
 * tools/perf/Documentation/perf.data-file-format.txt. Survives any bytes: sizes and counts in the
 * file are never trusted, memory is bounded by a multiple of the file's size. Used by capture.c. */
#ifndef BT_PERF_DATA_H
#define BT_PERF_DATA_H

#include "import/importer.h"

/* Whether the bytes begin like perf.data of any version and byte order. */
bool perf_data_is(struct slice file);

/* Imports it. A file that ends in the middle of a record was cut off: the records before count, and
 * a note in the trace says so. Fills the header's argv, cpu, kernel and source. Failures of the
 * importer itself are importer_close's. Errors, with the offset: BT_E_CORRUPT, BT_E_TRUNCATED (not
 * even a header), BT_E_UNSUPPORTED (another version or byte order), BT_E_NO_MEMORY. */
int perf_data_import(struct importer *im, struct slice file, struct bt_error *err) BT_MUST_USE;

#endif
