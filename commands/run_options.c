/* SPDX-License-Identifier: MIT */
#include "commands/run_options.h"

#include <stdlib.h>
#include <string.h>

#include "collector/record/start_place.h"
#include "lib/array_size.h"
#include "lib/options.h"

enum {
	HISTORY = 1 << 20,
	HISTORY_MEMORY_MB = 512,
	MEMORY_MAX_MB = 1 << 24,
};

static int set_history(void *target, const char *value, struct bt_error *err)
{
	unsigned long long n = !strcmp(value, "full") ? HISTORY : 0;
	int rc = n || !strcmp(value, "off")
			 ? 0
			 : options_number("--history", value, 1, UINT64_MAX, &n, err);

	if (rc)
		return bt_fail(err, BT_E_MISUSE, 0,
			       "--history: %s is neither a number of at least 1 nor full nor off",
			       value);
	if (n > 1ull << 32)
		return bt_fail(err, BT_E_MISUSE, 0, "--history: %s is more than 4294967296", value);
	((struct run_options *)target)->recording.history = n;
	((struct run_options *)target)->wish.history_off = !n;
	((struct run_options *)target)->wish.history_on = n;
	return 0;
}

static int set_history_memory(void *target, const char *value, struct bt_error *err)
{
	unsigned long long n;
	int rc = options_number("--history-memory", value, 1, MEMORY_MAX_MB, &n, err);

	if (!rc)
		((struct run_options *)target)->recording.history_memory = n << 20;
	return rc;
}

static int set_from(void *target, const char *value, struct bt_error *err)
{
	if (!*value)
		return bt_fail(err, BT_E_MISUSE, 0, "--from: an empty name");
	if (!start_place_is_one(value))
		return bt_fail(err, BT_E_MISUSE, 0,
			       "--from: %s is neither a name nor an address (hexadecimal, of 64 "
			       "bits, beginning with a digit)",
			       value);
	((struct run_options *)target)->recording.from = value;
	return 0;
}

static int set_snap_at(void *target, const char *value, struct bt_error *err)
{
	struct run_options *o = target;
	struct stop_point *more =
		realloc(o->stop_points, (o->recording.stop_point_count + 1) * sizeof *more);

	if (!more)
		return bt_no_memory(err, NULL);
	o->stop_points = more;
	o->recording.stop_points = more;
	if (!stop_point_parse(value, &more[o->recording.stop_point_count]))
		return bt_fail(err, BT_E_MISUSE, 0,
			       "--snap-at: %s is no point: [TASK:]TICK[+TRANSFERS][@ADDRESS[,RCX]]",
			       value);
	o->recording.stop_point_count++;
	qsort(more, o->recording.stop_point_count, sizeof *more, stop_point_compare);
	return 0;
}

static int set_snap_at_function(void *target, const char *value, struct bt_error *err)
{
	enum { MOST = 1000 };
	struct run_options *o = target;
	const char **more;

	if (!*value)
		return bt_fail(err, BT_E_MISUSE, 0, "--snap-at-function: an empty name");
	if (o->recording.function_count == MOST)
		return bt_fail(err, BT_E_MISUSE, 0, "--snap-at-function: more than %d names", MOST);
	more = realloc(o->functions, (o->recording.function_count + 1) * sizeof *more);
	if (!more)
		return bt_no_memory(err, NULL);
	o->functions = more;
	o->recording.functions = more;
	more[o->recording.function_count++] = value;
	return 0;
}

static int set_snap_exit(void *target, const char *value, struct bt_error *err)
{
	static const char *const names[] = {[SNAP_EXIT_NEVER] = "never",
					    [SNAP_EXIT_FAILURE] = "failure",
					    [SNAP_EXIT_ALWAYS] = "always"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(value, names[i])) {
			((struct run_options *)target)->recording.snap_exit = (enum snap_exit)i;
			return 0;
		}
	return bt_fail(err, BT_E_MISUSE, 0, "--snap-exit: %s is none of never, failure, always",
		       value);
}

static int set_backend(void *target, const char *value, struct bt_error *err)
{
	if (!mode_has_backend(value))
		return bt_fail(err, BT_E_MISUSE, 0,
			       "--backend: %s is none of auto, engine, step, pmu", value);
	((struct run_options *)target)->wish.backend = value;
	return 0;
}

static int set_source(void *target, const char *value, struct bt_error *err)
{
	if (!mode_has_source(value))
		return bt_fail(err, BT_E_MISUSE, 0,
			       "--source: %s is none of auto, bits, lbr, bts, pt, none", value);
	((struct run_options *)target)->wish.source = value;
	return 0;
}

static int set_alarm_each(void *target, const char *value, struct bt_error *err)
{
	unsigned long long n;
	int rc = options_number("--alarm-each", value, 1, UINT32_MAX, &n, err);

	if (!rc)
		((struct run_options *)target)->tests.alarm_each = (unsigned)n;
	return rc;
}

static const struct option_row rows[] = {
	{"output", 'o', "DIR", "make the trace DIR, which must not exist",
	 .at = offsetof(struct run_options, output)},
	{"from", 0, "SYMBOL|ADDRESS", "run natively, record from this function or address on",
	 .set = set_from},
	{"history", 0, "N|full|off", "branches kept per thread (full: 1048576); off: only counts",
	 .set = set_history},
	{"history-memory", 0, "MB", "memory for the branches of all threads (512)",
	 .set = set_history_memory},
	{"snap-at", 0, "POINT", "keep the moment there: [TASK:]TICK[+TRANSFERS][@ADDRESS[,RCX]]",
	 .set = set_snap_at},
	{"snap-at-function", 0, "NAME", "keep the moments at which this function is entered",
	 .set = set_snap_at_function},
	{"snap-exit", 0, "WHEN",
	 "keep exits: never, failure (of others than the first their last branches), always",
	 .set = set_snap_exit},
	{"backend", 0, "NAME", "how code is run: auto, engine, step, pmu", .set = set_backend},
	{"source", 0, "NAME", "where branches come from: auto, bits, lbr, bts, pt, none",
	 .set = set_source},
	{"parallel", 0, NULL, "let threads of a process run side by side",
	 .at = offsetof(struct run_options, wish.parallel)},
	{"unbound", 0, NULL, "leave it to the kernel which processors are used",
	 .at = offsetof(struct run_options, supervisor.unbound)},
	{"quiet", 'q', NULL, "no line at the end, unless something was not recorded",
	 .at = offsetof(struct run_options, quiet)},
	{"deterministic", 0, NULL, NULL,
	 .at = offsetof(struct run_options, supervisor.deterministic)},
	{"alarm-each", 0, "N", NULL, .set = set_alarm_each},
	{"plain-processor", 0, NULL, NULL,
	 .at = offsetof(struct run_options, tests.plain_processor)},
	{"predict-eagerly", 0, NULL, NULL,
	 .at = offsetof(struct run_options, tests.predict_eagerly)},
	{"switch-history", 0, NULL, NULL, .at = offsetof(struct run_options, tests.switch_history)},
	{"whole-maps", 0, NULL, NULL, .at = offsetof(struct run_options, tests.whole_maps)},
	{"help", 'h', NULL, "show this", .at = offsetof(struct run_options, help)},
};

void run_options_init(struct run_options *o)
{
	*o = (struct run_options){
		.wish = {.backend = "auto", .source = "auto"},
		.recording = {.history = HISTORY,
			      .history_memory = (uint64_t)HISTORY_MEMORY_MB << 20,
			      .snap_exit = SNAP_EXIT_FAILURE},
	};
}

void run_options_release(struct run_options *o)
{
	free(o->stop_points);
	free(o->functions);
}

int run_options_parse(struct run_options *o, int argc, char **argv, struct bt_error *err)
{
	return options_parse(rows, ARRAY_SIZE(rows), o, argc, argv, err);
}

void run_options_help(FILE *to) { options_help(to, rows, ARRAY_SIZE(rows)); }
