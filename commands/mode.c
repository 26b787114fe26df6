/* SPDX-License-Identifier: MIT */
#include "commands/mode.h"

#include <stdio.h>
#include <string.h>

#include "lib/array_size.h"

static const struct mode modes[] = {
	/* The first row that matches is taken: defaults come first. */
	{.backend = "engine",
	 .ops = &engine_ops,
	 .source = "bits",
	 .parallel = true,
	 .replayable = true},
	{.backend = "engine",
	 .ops = &engine_ops,
	 .source = "none",
	 .parallel = true,
	 .replayable = true},
	{.backend = "step", .ops = &stepper_ops, .source = "bits", .replayable = true},
	{.backend = "step", .ops = &stepper_ops, .source = "none", .replayable = true},
	{.backend = "pmu", .ops = &pmu_ops, .source = "auto", .parallel = true},
	{.backend = "pmu", .ops = &pmu_ops, .source = "lbr", .parallel = true},
	{.backend = "pmu", .ops = &pmu_ops, .source = "bts", .parallel = true},
	{.backend = "pmu", .ops = &pmu_ops, .source = "pt", .parallel = true},
	{.backend = "pmu", .ops = &pmu_ops, .source = "none", .parallel = true},
};

enum { MODES = ARRAY_SIZE(modes) };

static bool is_auto(const char *name) { return !strcmp(name, "auto"); }

static bool mode_fits(const struct mode *m, const struct mode_wish *wish)
{
	bool none = !strcmp(m->source, "none");

	if (wish->parallel && !m->parallel)
		return false;
	if (wish->replayable && (wish->parallel || !m->replayable))
		return false;
	if (wish->history_on && none)
		return false;
	if (!is_auto(wish->backend) && strcmp(wish->backend, m->backend))
		return false;
	if (!is_auto(wish->source))
		return !strcmp(wish->source, m->source) && !(wish->history_off && !none);
	return wish->history_off == none;
}

/* Lists the sources of a backend, for the message. */
static void name_sources(const char *backend, char *out, size_t size)
{
	size_t len = 0;

	*out = '\0';
	for (size_t i = 0; i < MODES && len < size; i++)
		if (!strcmp(modes[i].backend, backend) && !is_auto(modes[i].source))
			len += (size_t)snprintf(out + len, size - len, "%s%s", len ? ", " : "",
						modes[i].source);
}

int mode_find(const struct mode_wish *wish, const struct mode **out, struct bt_error *err)
{
	char sources[100];

	for (size_t i = 0; i < MODES; i++)
		if (mode_fits(&modes[i], wish)) {
			*out = &modes[i];
			return 0;
		}
	if (wish->replayable && (wish->parallel || !strcmp(wish->backend, "pmu")))
		return bt_fail(err, BT_E_MISUSE, 0, "--replayable does not go with %s: %s",
			       wish->parallel ? "--parallel" : "--backend pmu",
			       wish->parallel
				       ? "the order in which threads write to memory is not "
					 "known then"
				       : "native code runs past the points that a replay has "
					 "to reach");
	if (wish->parallel && !strcmp(wish->backend, "step"))
		return bt_fail(err, BT_E_MISUSE, 0,
			       "--parallel does not go with --backend step: one thread of a "
			       "process is stepped at a time");
	if (wish->history_off)
		return bt_fail(err, BT_E_MISUSE, 0,
			       "--history off keeps no branches: it does not go with --source %s",
			       wish->source);
	if (wish->history_on && !strcmp(wish->source, "none"))
		return bt_fail(
			err, BT_E_MISUSE, 0,
			"--source none keeps no branches: --history off is all that goes with it");
	name_sources(wish->backend, sources, sizeof sources);
	return bt_fail(err, BT_E_MISUSE, 0,
		       "--backend %s does not go with --source %s: its sources are %s",
		       wish->backend, wish->source, sources);
}

bool mode_has_backend(const char *name)
{
	for (size_t i = 0; i < MODES; i++)
		if (!strcmp(modes[i].backend, name))
			return true;
	return is_auto(name);
}

bool mode_has_source(const char *name)
{
	for (size_t i = 0; i < MODES; i++)
		if (!strcmp(modes[i].source, name))
			return true;
	return false;
}
