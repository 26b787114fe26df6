/* SPDX-License-Identifier: MIT */
/* A whole trace in memory, in every form of other tools. */
#include "tests/fuzz/fuzz.h"

#include "export/export.h"
#include "tests/fuzz/trace_bytes.h"

static void export_moments(FILE *to, struct trace *t)
{
	struct report_options o = {0};
	struct bt_error err = {0};
	struct symbols *s;
	struct model *m;

	MUST(!model_load(&m, t, &err));
	MUST(!symbols_open(&s, m, &err));
	for (const struct export_kind *k = export_kinds; k->name; k++)
		if (k->print_moment) {
			int rc = k->print_moment(to, m, s, &o, &err);

			MUST(rc == 0 || rc == 1 || rc == -BT_E_UNSUPPORTED);
		}
	symbols_close(s);
	model_free(m);
}

static void look_at_trace(const struct trace_file *files, size_t n)
{
	struct bt_error err = {0};
	struct trace *t;
	FILE *to;

	if (trace_open_memory(&t, files, n, &err))
		return;
	to = fopen("/dev/null", "w");
	MUST(to);
	for (const struct export_kind *k = export_kinds; k->name; k++) {
		int rc = k->print ? k->print(to, t, &err) : 0;

		MUST(rc == 0 || rc == 1);
	}
	export_moments(to, t);
	fclose(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	trace_bytes_show(data, size, look_at_trace);
	return 0;
}
