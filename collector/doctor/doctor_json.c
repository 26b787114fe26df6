/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <string.h>

#include "collector/doctor/doctor_private.h"
#include "config.h"
#include "lib/array_size.h"
#include "lib/buf.h"
#include "lib/escape.h"
#include "lib/late_library.h"
#include "lib/slice.h"

#define JANSSON_FUNCTIONS(F)     \
	F(json_array)            \
	F(json_array_append_new) \
	F(json_array_size)       \
	F(json_delete) F(json_dumpf) F(json_null) F(json_pack) F(json_string) F(json_stringn)
#define JANSSON_SYMBOL(name) LATE_SYMBOL(struct jansson, name)

struct jansson {
	JANSSON_FUNCTIONS(LATE_FUNCTION)
};

static const struct late_symbol jansson_symbols[] = {JANSSON_FUNCTIONS(JANSSON_SYMBOL)};

/* Paths may hold any byte; JSON has only UTF-8. */
static json_t *text_json(const struct jansson *js, const char *s)
{
	json_t *j = *s ? js->json_string(s) : js->json_null();
	struct buf b = {0};

	if (j)
		return j;
	bt_escape(&b, slice_of(s, strlen(s)), true);
	j = js->json_stringn((const char *)b.data, b.len);
	buf_release(&b);
	return j;
}

static json_t *row_json(const struct jansson *js, struct doctor *d, int i)
{
	static const char *const answers[] = {
		[DOCTOR_YES] = "yes",
		[DOCTOR_PARTLY] = "partly",
		[DOCTOR_NO] = "no",
		[DOCTOR_FACT] = "fact",
	};
	static const char *const groups[GROUPS] = {
		[GROUP_RECORD] = "record",
		[GROUP_PERMIT] = "permit",
		[GROUP_PROCESSOR] = "processor",
		[GROUP_AROUND] = "around",
	};
	const struct doctor_verdict *v = doctor_ask(d, (enum doctor_row)i);

	return js->json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "name", doctor_rows[i].name, "group",
			     groups[doctor_rows[i].group], "answer", answers[v->answer], "why",
			     text_json(js, v->why), "change", text_json(js, v->change), "serves",
			     text_json(js, doctor_rows[i].serves));
}

int doctor_print_json(FILE *to, struct doctor *d, struct bt_error *err)
{
	struct doctor_choice choice;
	struct jansson js;
	json_t *rows, *all;
	int rc = late_library_load(JANSSON_SONAME, jansson_symbols, ARRAY_SIZE(jansson_symbols),
				   &js, err);

	if (rc)
		return rc;
	rc = -1;
	rows = js.json_array();
	doctor_choose(d, &choice);
	for (int i = 0; i < DOCTOR_ROWS; i++)
		js.json_array_append_new(rows, row_json(&js, d, i));
	all = js.json_pack("{s:s, s:{s:s?, s:s?, s:o}, s:o}", "schema", "btrec-doctor/1", "run",
			   "backend", choice.backend, "source", choice.source, "reason",
			   text_json(&js, choice.reason), "verdicts", rows);
	if (all && js.json_array_size(rows) == DOCTOR_ROWS)
		rc = js.json_dumpf(all, to, JSON_INDENT(1) | JSON_ENSURE_ASCII);
	fputc('\n', to);
	if (all)
		js.json_delete(all); /* json_decref() calls one that is linked */
	if (rc && !ferror(to))       /* errors of the output are told elsewhere */
		return bt_fail(err, BT_E_NO_MEMORY, 0, "doctor: out of memory");
	return choice.backend != NULL;
}
