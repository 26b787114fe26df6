/* SPDX-License-Identifier: MIT */
#include "decoder/model/signals.h"

#include <stdio.h>

#include "lib/array_size.h"

enum {
	REAL_TIME_FIRST = 34, /* the kernel's 32 and 33 are libc's own */
	REAL_TIME_LAST = 64,
};

struct code_row {
	uint32_t signo;
	int32_t code;
	const char *name, *text;
};

static const struct {
	const char *name, *text;
} signals[] = {
#define BT_SIGNAL(number, id, meaning) [number] = {"SIG" #id, meaning},
#include "lib/signals.def"
};

static const struct code_row codes[] = {
#define BT_SIGNAL_CODE(signal, number, id, meaning) {signal, number, #id, meaning},
#include "lib/signals.def"
};

const char *signal_name(uint32_t signo, char name[SIGNAL_NAME_MAX])
{
	if (signo < ARRAY_SIZE(signals) && signals[signo].name)
		snprintf(name, SIGNAL_NAME_MAX, "%s", signals[signo].name);
	else if (signo >= REAL_TIME_FIRST && signo <= REAL_TIME_LAST)
		snprintf(name, SIGNAL_NAME_MAX, "SIGRTMIN+%u", signo - REAL_TIME_FIRST);
	else
		snprintf(name, SIGNAL_NAME_MAX, "signal %u", signo);
	return name;
}

const char *signal_text(uint32_t signo)
{
	return signo < ARRAY_SIZE(signals) && signals[signo].text ? signals[signo].text : "";
}

/* The codes of signal 0 apply to every signal. */
static const struct code_row *code_of(uint32_t signo, uint32_t code)
{
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if ((codes[i].signo == signo || !codes[i].signo) && codes[i].code == (int32_t)code)
			return &codes[i];
	return NULL;
}

const char *signal_code_name(uint32_t signo, uint32_t code, char name[SIGNAL_NAME_MAX])
{
	const struct code_row *row = code_of(signo, code);

	if (row)
		snprintf(name, SIGNAL_NAME_MAX, "%s", row->name);
	else
		snprintf(name, SIGNAL_NAME_MAX, "%d", (int32_t)code);
	return name;
}

const char *signal_code_text(uint32_t signo, uint32_t code)
{
	const struct code_row *row = code_of(signo, code);

	return row ? row->text : "";
}
