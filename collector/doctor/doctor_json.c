/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <string.h>

#include "collector/doctor/doctor_private.h"
#include "lib/buf.h"
#include "lib/escape.h"
#include "lib/slice.h"

/* Paths may hold any byte; JSON has only UTF-8. */
static json_t *text(const char *s)
{
	json_t *j = *s ? json_string(s) : json_null();
	struct buf b = {0};

	if (j)
		return j;
	bt_escape(&b, slice_of(s, strlen(s)), true);
	j = json_stringn((const char *)b.data, b.len);
	buf_release(&b);
	return j;
}

static json_t *row(struct doctor *d, int i)
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
	const struct verdict *v = doctor_ask(d, (enum doctor_row)i);

	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "name", doctor_rows[i].name, "group", groups[doctor_rows[i].group], "answer",
			 answers[v->answer], "why", text(v->why), "change", text(v->change), "serves", text(doctor_rows[i].serves));
}

int doctor_print_json(FILE *to, struct doctor *d, struct bt_error *err)
{
	struct doctor_choice choice;
	json_t *rows = json_array(), *all;
	int rc = -1;

	doctor_choose(d, &choice);
	for (int i = 0; i < DOCTOR_ROWS; i++)
		json_array_append_new(rows, row(d, i));
	all = json_pack("{s:s, s:{s:s?, s:s?, s:o}, s:o}", "schema", "btrec-doctor/1", "run", "backend", choice.backend, "source", choice.source,
			"reason", text(choice.reason), "verdicts", rows);
	if (all && json_array_size(rows) == DOCTOR_ROWS)
		rc = json_dumpf(all, to, JSON_INDENT(1));
	fputc('\n', to);
	json_decref(all);
	if (rc)
		return bt_fail(err, BT_E_NO_MEMORY, 0, "doctor: out of memory");
	return choice.backend != NULL;
}
