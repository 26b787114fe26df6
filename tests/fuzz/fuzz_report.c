/* SPDX-License-Identifier: MIT */
/* A whole trace in memory through symbols, stacks, faults and all reports. Whatever the bytes are,
 * the text has no character that acts on a terminal and the JSON is JSON. */
#include "tests/fuzz/fuzz.h"

#include <jansson.h>

#include "decoder/json.h"
#include "decoder/report.h"
#include "lib/array_size.h"
#include "lib/escape.h"
#include "tests/fuzz/trace_bytes.h"

typedef int print_report(FILE *to, const struct model *m, struct symbols *s,
			 const struct report_options *o, struct bt_error *err);

/* What the report printed; free() it. */
static char *print(print_report *report, const struct model *m, struct symbols *s,
		   const struct report_options *o, size_t *len, int *rc)
{
	struct bt_error err;
	char *text = NULL;
	FILE *to = open_memstream(&text, len);

	MUST(to);
	*rc = report(to, m, s, o, &err);
	MUST(!fclose(to));
	return text;
}

static void look_at_text(print_report *report, const struct model *m, struct symbols *s,
			 const struct report_options *o)
{
	size_t len;
	int rc;
	char *text = print(report, m, s, o, &len, &rc);

	for (size_t i = 0, n; i < len; i += n) {
		n = text[i] == '\n' ? 1 : bt_printable((const uint8_t *)text + i, len - i);
		MUST(n && (o->utf8 || n == 1));
	}
	free(text);
}

static void look_at_json(print_report *report, const struct model *m, struct symbols *s,
			 const struct report_options *o)
{
	size_t len;
	int rc;
	char *text = print(report, m, s, o, &len, &rc);
	json_t *json = json_loadb(text, len, 0, NULL);

	/* nothing is printed when there is no such thread, or no CPU */
	MUST(json ? json_is_object(json) : rc == 1 && !len);
	json_decref(json);
	free(text);
}

static void look_at_trace(const struct trace_file *files, size_t n)
{
	static const struct report_options options[] = {
		{.count = 40, .utf8 = true},
		{.count = 100, .has_thread = true, .thread = 2},
		{.function = "main"},
	};
	struct symbols *s;
	struct bt_error err;
	struct trace *t;
	struct model *m;

	if (trace_open_memory(&t, files, n, &err))
		return;
	MUST(!model_load(&m, t, &err));
	MUST(!symbols_open(&s, m, &err));
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		look_at_text(report_print, m, s, &options[i]);
		look_at_text(report_print_by_cpu, m, s, &options[i]);
		look_at_json(json_print, m, s, &options[i]);
		look_at_json(json_print_by_cpu, m, s, &options[i]);
	}
	symbols_close(s);
	model_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	trace_bytes_show(data, size, look_at_trace);
	return 0;
}
