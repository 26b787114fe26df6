/* SPDX-License-Identifier: MIT */
#include "commands/run_options.h"

#include <stdlib.h>
#include <string.h>

#include "collector/record/start_location.h"
#include "commands/cause.h"
#include "lib/array_size.h"
#include "lib/name_pattern.h"
#include "lib/options.h"

enum {
	HISTORY = 1 << 20,
	LOG_SIZE = 1 << 30, /* bytes */
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
	size_t len;
	int line;

	if (!*value)
		return bt_fail(err, BT_E_MISUSE, 0, "--from: an empty name");
	if (!start_location_is_valid(value) && !source_position_parse(value, &len, &line))
		return bt_fail(err, BT_E_MISUSE, 0,
			       "--from: %s is neither a name nor a line of a source nor an address "
			       "(hexadecimal, of 64 "
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
	enum { MOST = 100 };
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

static int set_kill_at(void *target, const char *value, struct bt_error *err)
{
	unsigned long long n;
	int rc = options_number("--kill-at", value, 1, UINT32_MAX, &n, err);

	if (!rc)
		((struct run_options *)target)->tests.kill_at = (unsigned)n;
	return rc;
}

static int set_keep(void *target, const char *value, struct bt_error *err)
{
	struct shelf_limits *l = &((struct run_options *)target)->limits;
	unsigned long long n;
	int rc = options_number("--keep", value, 1, UINT32_MAX, &n, err);

	l->has_count = true;
	l->count = n;
	return rc;
}

static int set_max_size(void *target, const char *value, struct bt_error *err)
{
	return shelf_size("--max-size", value, &((struct run_options *)target)->limits.size, err);
}

static int set_log_size(void *target, const char *value, struct bt_error *err)
{
	struct run_options *o = target;

	o->has_log_size = true;
	return shelf_size("--log-size", value, &o->recording.log_size, err);
}

static int set_patience(void *target, const char *value, struct bt_error *err)
{
	unsigned long long n;
	int rc = options_number("--patience", value, 0, 1000000, &n, err);

	if (!rc)
		((struct run_options *)target)->patience = (int)n;
	return rc;
}

static const struct option_row rows[] = {
	{"output", 'o', "DIR", "make the trace DIR, which must not exist",
	 .at = offsetof(struct run_options, output)},
	{"only-crashes", 0, NULL, "keep no trace of a run that ends well",
	 .at = offsetof(struct run_options, only_crashes)},
	{"keep", 0, "N", "keep the newest N traces in the trace directory, with this one",
	 .set = set_keep},
	{"max-size", 0, "SIZE", "the same, as many as take SIZE together: 500M, 2G",
	 .set = set_max_size},
	{"from", 0, "NAME|FILE:LINE|ADDRESS", "run natively, record from there on",
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
	{"no-aslr", 0, NULL, "give the program the same addresses each time",
	 .at = offsetof(struct run_options, no_aslr)},
	{"parallel", 0, NULL, "let threads of a process run side by side",
	 .at = offsetof(struct run_options, wish.parallel)},
	{"replayable", 0, NULL, "keep what btrec replay needs to run it again, exactly",
	 .at = offsetof(struct run_options, wish.replayable)},
	{"log-size", 0, "SIZE", "with --replayable: the most that the log may take on disk (1G)",
	 .set = set_log_size},
	{"unbound", 0, NULL, "leave it to the kernel which processors are used",
	 .at = offsetof(struct run_options, supervisor.unbound)},
	{"no-symbols", 0, NULL, "do not keep names and source lines of the program with the trace",
	 .at = offsetof(struct run_options, no_symbols)},
	{"quiet", 'q', NULL, "no line at the end, unless something was not recorded",
	 .at = offsetof(struct run_options, quiet)},
	{"deterministic", 0, NULL, NULL,
	 .at = offsetof(struct run_options, supervisor.deterministic)},
	{"alarm-each", 0, "N", NULL, .set = set_alarm_each},
	{"kill-at", 0, "N", NULL, .set = set_kill_at},
	{"patience", 0, "MS", NULL, .set = set_patience},
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
		.patience = CAUSE_PATIENCE_MS,
		.wish = {.backend = "auto", .source = "auto"},
		.recording = {.history = HISTORY,
			      .history_memory = (uint64_t)HISTORY_MEMORY_MB << 20,
			      .log_size = LOG_SIZE,
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
	int at = options_parse_to_operand(rows, ARRAY_SIZE(rows), o, argc, argv, err);

	if (at >= 0 && o->output && (o->limits.has_count || o->limits.size))
		return bt_fail(
			err, BT_E_MISUSE, 0,
			"--keep and --max-size are about the trace directory: they do not go "
			"with -o");
	if (at >= 0 && o->has_log_size && !o->wish.replayable)
		return bt_fail(err, BT_E_MISUSE, 0,
			       "--log-size is about the log that --replayable keeps");
	if (at >= 0 && o->wish.replayable && o->recording.from)
		return bt_fail(err, BT_E_MISUSE, 0,
			       "--replayable does not go with --from: what the program did before "
			       "that place is not known");
	return at;
}

void run_options_help(FILE *to) { options_help(to, rows, ARRAY_SIZE(rows)); }
