/* SPDX-License-Identifier: MIT */
/* A whole trace in memory, in every form of other tools. */
#include "tests/fuzz/fuzz.h"

#include "export/export.h"
#include "tests/fuzz/trace_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_file files[TRACE_BYTES_FILES] = {{.number = 0}};
	size_t n = trace_bytes_split(data, size, files);
	struct bt_error err = {0};
	FILE *to = fopen("/dev/null", "w");
	struct trace *t;

	MUST(to);
	if (!trace_open_memory(&t, files, n, &err)) {
		for (const struct export_kind *k = export_kinds; k->name; k++) {
			int rc = k->print(to, t, &err);

			MUST(rc == 0 || rc == 1);
		}
		trace_close(t);
	}
	fclose(to);
	return 0;
}
