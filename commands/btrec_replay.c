/* SPDX-License-Identifier: MIT */
/* btrec replay: runs a recording again. The process that it runs in is this program, executed once
 * more, traced, and emptied before its first instruction (host.h). */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/replay/host.h"
#include "collector/replay/replaying.h"
#include "collector/supervisor/launch.h"
#include "commands/btrec_commands.h"
#include "commands/mode.h"
#include "commands/trace_shelf.h"
#include "decoder/model/signals.h"
#include "lib/array_size.h"
#include "lib/say.h"
#include "lib/trace_home.h"

struct replay_arguments {
	const char *backend;
	bool no_output, json, quiet, help, force;
	uint64_t memory; /* 0: not said */
};

static int set_memory(void *target, const char *value, struct bt_error *err)
{
	return shelf_size("--memory", value, &((struct replay_arguments *)target)->memory, err);
}

static const struct option_row rows[] = {
	{"backend", 0, "NAME", "how code is run: engine (the default), step",
	 .at = offsetof(struct replay_arguments, backend)},
	{"memory", 0, "SIZE",
	 "the memory that the program may have: 500M, 2G (what this machine has)",
	 .set = set_memory},
	{"force", 0, NULL, "replay though this processor lacks features that the recording had",
	 .at = offsetof(struct replay_arguments, force)},
	{"no-output", 0, NULL, "do not repeat what the program wrote",
	 .at = offsetof(struct replay_arguments, no_output)},
	{"json", 0, NULL, "print a divergence as JSON, to standard output",
	 .at = offsetof(struct replay_arguments, json)},
	{"quiet", 'q', NULL, "no line at the end, unless something went wrong",
	 .at = offsetof(struct replay_arguments, quiet)},
	{"help", 'h', NULL, "show this", .at = offsetof(struct replay_arguments, help)},
};

struct replay_run {
	struct replaying session;
	struct supervisor sup;
	struct launch launch;
	struct bt_clock clock;
	struct sigaction actions[NSIG];
	struct backend_ops backend;
};

static int choose_backend(const char *name, struct backend_ops *out, struct bt_error *err)
{
	const struct mode *mode;
	const struct mode_wish wish = {.backend = name ? name : "engine",
				       .source = "none",
				       .history_off = true,
				       .replayable = true};

	if (!mode_has_backend(wish.backend))
		return bt_fail(err, BT_E_MISUSE, 0, "--backend: %s is none of engine, step", name);
	if (mode_find(&wish, &mode, err))
		return -(int)err->code;
	*out = *mode->ops;
	return 0;
}

/* Nothing turns: there is one task. */
static void on_tick(void *arg, struct supervisor *sup)
{
	(void)arg;
	(void)sup;
}

static int run_host(struct replay_run *run, struct bt_error *err)
{
	static volatile sig_atomic_t never;
	static char *const argv[] = {(char *)(uintptr_t) "btrec-replay", NULL};
	static char *const envp[] = {NULL};
	const struct supervisor_options options = {.ticks = true, .logged = true};
	int failure, cause;
	pid_t pid;

	for (int signo = 1; signo < NSIG; signo++)
		run->actions[signo].sa_handler = SIG_DFL;
	run->launch = (struct launch){
		.path = "/proc/self/exe", .argv = argv, .envp = envp, .actions = run->actions};
	sigemptyset(&run->launch.mask);
	pid = launch_seized(&run->launch, &failure, err);
	if (pid < 0)
		return -(int)err->code;
	run->clock = bt_clock_start();
	supervisor_init(&run->sup, &run->session.session, &run->session.observer, &run->clock,
			&run->backend, &options);
	run->sup.tick = &never;
	run->sup.on_tick = on_tick;
	if (supervisor_adopt(&run->sup, pid, false, err)) {
		kill(pid, SIGKILL);
		supervisor_release(&run->sup);
		return -(int)err->code;
	}
	supervisor_run(&run->sup);
	supervisor_release(&run->sup);
	if (read(failure, &cause, sizeof cause) == sizeof cause)
		bt_fail(&run->session.failure, BT_E_IO, cause,
			"cannot execute btrec for the replay");
	close(failure);
	return 0;
}

static void say_end(const struct replaying *r, const char *trace)
{
	char name[SIGNAL_NAME_MAX];

	if (r->end.kind == BT_EXIT_STATUS)
		say("replayed %s: %llu events, exited with %d", trace,
		    (unsigned long long)r->events, r->end.status);
	else if (r->end.kind == BT_EXIT_SIGNAL)
		say("replayed %s: %llu events, killed by %s", trace, (unsigned long long)r->events,
		    signal_name((uint32_t)r->end.status, name));
	else
		say("replayed %s: %llu events, up to where its log ends: %s", trace,
		    (unsigned long long)r->events, r->log.reason);
}

/* Another maker's results of some instructions differ in their last bits. */
static void compare_makers(const struct log_events *l, const struct processor_offer *here,
			   bool quiet, char cause[160])
{
	char then[PROCESSOR_MAKER], now[PROCESSOR_MAKER];

	processor_offer_maker(&l->processor, then);
	processor_offer_maker(here, now);
	if (!strcmp(then, now))
		return;
	snprintf(cause, 160,
		 "it was recorded on a processor of %s, and this one is of %s: rcpps, rsqrtps and "
		 "functions of the x87 give other results",
		 then, now);
	if (!quiet)
		say("note: %s", cause);
}

/* Compares the processor with that of the recording. */
static int compare_processors(const struct replaying *r, const struct replay_arguments *args,
			      const char *path, char cause[160], struct bt_error *err)
{
	const struct log_events *l = &r->log;
	char missing[240];

	if (!l->has_processor)
		return 0;
	if (processor_offer_missing(&l->processor, &r->here, missing, sizeof missing) &&
	    !args->force)
		return bt_fail(err, BT_E_UNSUPPORTED, 0,
			       "%s: cannot be replayed: this processor lacks what the recording "
			       "had: %s (--force tries it)",
			       path, missing);
	compare_makers(l, &r->here, args->quiet, cause);
	return 0;
}

static int replay(struct replay_run *run, const struct replay_arguments *args, const char *path,
		  struct bt_error *err)
{
	const struct replaying_options options = {.output = !args->no_output,
						  .memory = args->memory ? args->memory
									 : host_usual_memory()};
	struct replaying *r = &run->session;
	char cause[160] = "";
	struct trace *t;
	int rc = choose_backend(args->backend, &run->backend, err);

	if (rc || (rc = trace_open(&t, path, err)))
		return rc;
	rc = replaying_init(r, t, &options, err);
	if (!rc)
		rc = compare_processors(r, args, path, cause, err);
	if (!rc)
		rc = run_host(run, err);
	if (!rc && r->log.damage) {
		rc = bt_fail(err, r->log.damage, 0, "%s: the log is damaged behind %llu events: %s",
			     path, (unsigned long long)r->events, r->log.reason);
	} else if (!rc && r->log.full) {
		rc = bt_fail(
			err, BT_E_NO_MEMORY, 0,
			"%s: one event of the log, behind %llu others, takes more than %llu MB "
			"(--memory SIZE; half of it is for that)",
			path, (unsigned long long)r->events,
			(unsigned long long)(r->log.most >> 20));
	} else if (!rc && r->failure.code) {
		*err = r->failure;
		rc = -(int)err->code;
	} else if (!rc && r->divergence.kind) {
		strcpy(r->divergence.cause, cause);
		if (args->json)
			divergence_print_json(&r->divergence, stdout);
		else
			divergence_print(&r->divergence, stderr);
		rc = bt_fail(err, BT_E_DIVERGENCE, 0, "%s: the replay is not as the recording was",
			     path);
	} else if (!rc && !args->quiet) {
		say_end(r, path);
	}
	replaying_release(r);
	trace_close(t);
	return rc;
}

int btrec_replay(int argc, char **argv)
{
	struct replay_arguments args = {0};
	struct replay_run *run;
	char path[BT_PATH_MAX];
	struct bt_error err;
	int at = options_parse(rows, ARRAY_SIZE(rows), &args, argc, argv, &err), rc;

	if (at >= 0 && args.help) {
		puts("Usage: btrec replay [OPTIONS] [TRACE]\nRuns a recording of btrec run "
		     "--replayable again, the latest by default: each\ninstruction, without the "
		     "program, its files and its machine.\n\nOptions:");
		options_help(stdout, rows, ARRAY_SIZE(rows));
		return 0;
	}
	if (at < 0 || btrec_trace_argument(argc, argv, at, path, &err))
		return btrec_complain(&err);
	run = calloc(1, sizeof *run);
	if (!run)
		return btrec_complain((bt_no_memory(&err, NULL), &err));
	rc = replay(run, &args, path, &err);
	free(run);
	return rc ? btrec_complain(&err) : 0;
}
