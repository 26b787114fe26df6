/* SPDX-License-Identifier: MIT */
#include "commands/ending.h"

#include <stdio.h>
#include <string.h>

#include "commands/cause.h"
#include "commands/shell_word.h"
#include "decoder/model/signals.h"
#include "lib/say.h"

/* Writes how the first process ended, and the cause. The cause begins with that end if it is the
 * first process that it is about. */
static void describe_end(const struct front_message *m, const char *cause, char *how, size_t size)
{
	char name[SIGNAL_NAME_MAX], ended[64];
	bool killed = m->kind == BT_EXIT_SIGNAL;

	if (killed)
		snprintf(ended, sizeof ended, "%s", signal_name((uint32_t)m->value, name));
	else
		snprintf(ended, sizeof ended, "exited with %d", m->value);
	if (!strncmp(cause, ended, strlen(ended)))
		snprintf(how, size, "%s", cause);
	else
		snprintf(how, size, "%s%s%s%s", killed ? "killed by " : "", ended,
			 *cause ? "; " : "", cause);
}

void ending_say(const struct front_message *m, const char *trace, const char *cause)
{
	char how[CAUSE_TEXT_MAX + 128], quoted[SHELL_WORD_MAX];

	describe_end(m, cause, how, sizeof how);
	if (m->dropped)
		say("%s%s; no trace is kept", how, m->text);
	else if (m->failed)
		say("%s%s; btview %s", how, m->text, shell_word(trace, quoted));
	else
		say("%s%s; trace: %s", how, m->text, trace);
}
