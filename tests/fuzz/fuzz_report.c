/* SPDX-License-Identifier: MIT */
/* A whole trace in memory through symbols, stacks, faults and all reports. Whatever the bytes are,
 * the text has no character that acts on a terminal and the JSON is JSON. */
#include "tests/fuzz/fuzz.h"

#include <jansson.h>
#include <string.h>

#include "decoder/cause/annotation.h"
#include "decoder/cause/headline.h"
#include "decoder/report/json.h"
#include "decoder/report/report.h"
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

/* Each is one line, whatever names a trace has. */
static void look_at_headline(const struct model *m, struct symbols *s)
{
	struct text line = {.utf8 = true}, annotation = {.utf8 = true};
	struct bt_error err;
	struct headline h;
	int rc = headline_make(&h, m, s, &err);

	MUST(rc >= 0);
	if (rc)
		return;
	headline_put(&h, &line);
	annotation_put_github(&h, "/src", &annotation);
	MUST(!line.buf.failed && !annotation.buf.failed);
	MUST(!memchr(line.buf.data, '\n', line.buf.len));
	MUST((uint8_t *)memchr(annotation.buf.data, '\n', annotation.buf.len) ==
	     annotation.buf.data + annotation.buf.len - 1);
	buf_release(&line.buf);
	buf_release(&annotation.buf);
}

static void look_at_trace(const struct trace_file *files, size_t n)
{
	static const struct report_options options[] = {
		{.count = 40, .utf8 = true},
		{.count = 100, .has_thread = true, .thread = 2},
		{.function = "main"},
		{.summary = true},
	};
	struct symbols *s;
	struct bt_error err;
	struct trace *t;
	struct model *m;

	if (trace_open_memory(&t, files, n, &err))
		return;
	MUST(!model_load(&m, t, &err));
	MUST(!symbols_open(&s, m, &err));
	look_at_headline(m, s);
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
