/* SPDX-License-Identifier: MIT */
/* A whole trace in memory: opened, and every record of every file read. */
#include "tests/fuzz/fuzz.h"

#include "tests/fuzz/trace_bytes.h"

static void read_file(const struct trace *t, const struct trace_file *f)
{
	size_t errors = 0;
	struct trace_cursor c;
	struct bt_record rec;
	struct bt_error err;
	int rc;

	trace_cursor_init(&c, t, f);
	while ((rc = trace_cursor_next(&c, &rec, &err))) {
		if (rc > 0)
			continue;
		MUST(err.offset <= f->size && (int)err.code == -rc);
		MUST(++errors <= 2 * f->size + 2);
	}
	trace_cursor_release(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_file files[TRACE_BYTES_FILES] = {{.number = 0}};
	size_t n = trace_bytes_split(data, size, files);
	struct bt_error err = {0};
	struct trace *t;
	int rc = trace_open_memory(&t, files, n, &err);

	if (rc) {
		MUST((int)err.code == -rc && *err.text);
		return 0;
	}
	for (size_t i = 0; i < t->file_count; i++)
		read_file(t, &t->files[i]);
	trace_close(t);
	return 0;
}
