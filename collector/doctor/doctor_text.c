/* SPDX-License-Identifier: MIT */
/* The doctor's table: a line for each row, and below it what changes those that are not as they
 * could be. */
#include <string.h>

#include "collector/doctor/doctor_private.h"
#include "lib/say.h"

enum {
	NAME_WIDTH = 17,
};

static const char *const headings[GROUPS] = {
	[GROUP_RECORD] = "What can record",
	[GROUP_PERMIT] = "What is permitted",
	[GROUP_PROCESSOR] = "Processor and kernel",
	[GROUP_AROUND] = "Around it",
};

static const char *const answers[] = {
	[DOCTOR_YES] = "yes",
	[DOCTOR_PARTLY] = "partly",
	[DOCTOR_NO] = "no",
	[DOCTOR_FACT] = "-",
};

/* Paths, servers and patterns come from outside. */
static void print_escaped(FILE *to, const char *text)
{
	char escaped[1024];

	fputs(say_safely(escaped, sizeof escaped, text), to);
}

static bool has_change(const struct doctor *d, int row) { return *d->verdicts[row].change; }

/* Rows with the same remedy share a line. */
static void print_changes(FILE *to, const struct doctor *d)
{
	bool told[DOCTOR_ROWS] = {false}, any = false;

	for (int i = 0; i < DOCTOR_ROWS; i++) {
		const char *change = d->verdicts[i].change;

		if (!has_change(d, i) || told[i])
			continue;
		fprintf(to, "%s  %s", any ? "" : "\nTo change it\n", doctor_rows[i].name);
		for (int k = i + 1; k < DOCTOR_ROWS; k++)
			if (!strcmp(d->verdicts[k].change, change)) {
				fprintf(to, ", %s", doctor_rows[k].name);
				told[k] = true;
			}
		fputs(": ", to);
		print_escaped(to, change);
		fputc('\n', to);
		any = true;
	}
}

int doctor_print_text(FILE *to, struct doctor *d)
{
	struct doctor_choice choice;

	doctor_choose(d, &choice);
	if (choice.backend)
		fprintf(to, "btrec run uses the backend %s here: %s\n", choice.backend,
			choice.reason);
	else
		fprintf(to, "btrec run cannot record here: %s\n", choice.reason);
	for (int group = 0; group < GROUPS; group++) {
		fprintf(to, "\n%s\n", headings[group]);
		for (int i = 0; i < DOCTOR_ROWS; i++)
			if (doctor_rows[i].group == (enum doctor_group)group) {
				const struct doctor_verdict *v = doctor_ask(d, (enum doctor_row)i);

				fprintf(to, "  %-*s%-8s", NAME_WIDTH, doctor_rows[i].name,
					answers[v->answer]);
				print_escaped(to, v->why);
				fputc('\n', to);
			}
	}
	print_changes(to, d);
	return choice.backend != NULL;
}
