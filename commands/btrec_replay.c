/* SPDX-License-Identifier: MIT */
/* btrec replay: runs a recording again. The process that it runs in is this program, executed once
 * more, traced, and emptied before its first instruction (host.h). */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/replay/replaying.h"
#include "collector/supervisor/launch.h"
#include "commands/btrec_commands.h"
#include "commands/mode.h"
#include "commands/replay_look.h"
#include "decoder/model/signals.h"
#include "lib/array_size.h"
#include "lib/say.h"
#include "lib/trace_home.h"

struct replay_arguments {
	const char *backend;
	const char *to_text; /* of --to; NULL: not given */
	struct place to;
	struct replay_look look;
	bool no_output, json, quiet, help;
};

static int set_to(void *target, const char *value, struct bt_error *err)
{
	struct replay_arguments *args = target;

	args->to_text = value;
	return place_parse(value, &args->to)
		       ? 0
		       : bt_fail(err, BT_E_MISUSE, 0,
				 "--to: %s is none of EVENT, "
				 "@[TASK:]TICK[+TRANSFERS][@ADDRESS[,RCX]], crash, end",
				 value);
}

static int set_memory(void *target, const char *value, struct bt_error *err)
{
	return replay_look_add(&((struct replay_arguments *)target)->look, value, err);
}

static const struct option_row rows[] = {
	{"backend", 0, "NAME", "how code is run: engine (the default), step",
	 .at = offsetof(struct replay_arguments, backend)},
	{"to", 0, "WHERE", "end there: EVENT (its number), @TICK (a point), crash, end",
	 .set = set_to},
	{"registers", 0, NULL, "print the registers there",
	 .at = offsetof(struct replay_arguments, look.registers)},
	{"memory", 0, "ADDR,LEN", "print memory there; ADDR may be a register: rsp, rbp-0x20",
	 .set = set_memory},
	{"no-output", 0, NULL, "do not repeat what the program wrote",
	 .at = offsetof(struct replay_arguments, no_output)},
	{"json", 0, NULL, "print a divergence, or what is there, as JSON",
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

/* ---- The end ---- */

/* What is asked about a replay, and of whom. */
struct question {
	const struct replay_arguments *args;
	const char *path;
	struct place to;
	struct replay_look *look; /* NULL: at no place */
	bool no_memory;
};

static void on_place(void *arg, struct supervisor *sup, struct task *task, size_t i)
{
	struct question *q = arg;

	(void)sup;
	(void)i;
	q->no_memory |= !replay_look_take(q->look, task);
}

static void say_end(const struct question *q, const struct replaying *r)
{
	char name[SIGNAL_NAME_MAX], place[PLACE_TEXT];
	const char *trace = q->path;

	place_print(&q->to, place, sizeof place);
	if (q->args->to_text && q->to.kind != PLACE_END)
		say("replayed %s: %llu events, up to %s", trace, (unsigned long long)r->events,
		    place);
	else if (r->end.kind == BT_EXIT_STATUS)
		say("replayed %s: %llu events, exited with %d", trace,
		    (unsigned long long)r->events, r->end.status);
	else if (r->end.kind == BT_EXIT_SIGNAL)
		say("replayed %s: %llu events, killed by %s", trace, (unsigned long long)r->events,
		    signal_name((uint32_t)r->end.status, name));
	else
		say("replayed %s: %llu events, up to where its log ends: %s", trace,
		    (unsigned long long)r->events, r->log.reason);
}

static int fail_unreached(const struct question *q, const struct replaying *r, struct bt_error *err)
{
	char place[PLACE_TEXT];

	place_print(&q->to, place, sizeof place);
	if (r->passed)
		return bt_fail(err, BT_E_NOT_REACHED, 0, "%s: --to %s: the task was never there",
			       q->path, place);
	return bt_fail(err, BT_E_NOT_REACHED, 0, "%s: --to %s: the replay ends before it%s%s",
		       q->path, place, *r->log.reason ? ", where its log does: " : "",
		       r->log.reason);
}

/* The replay was as the recording, up to its end. */
static int tell_place(const struct question *q, const struct replaying *r, struct bt_error *err)
{
	if (q->no_memory)
		return bt_no_memory(err, NULL);
	if (r->place < r->options.place_count)
		return fail_unreached(q, r, err);
	if (!r->options.place_count)
		return 0;
	if (!q->args->json) {
		replay_look_print(q->look, stdout);
		return 0;
	}
	fprintf(stdout, "{\"schema\": \"btrec-replay/1\", \"events\": %llu, ",
		(unsigned long long)r->events);
	replay_look_print_json(q->look, stdout);
	fputs("}\n", stdout);
	return 0;
}

static int tell_end(const struct question *q, const struct replaying *r, struct bt_error *err)
{
	int rc;

	if (r->log.damage)
		return bt_fail(err, r->log.damage, 0,
			       "%s: the log is damaged behind %llu events: %s", q->path,
			       (unsigned long long)r->events, r->log.reason);
	if (r->failure.code) {
		*err = r->failure;
		return -(int)err->code;
	}
	if (r->divergence.kind) {
		if (q->args->json)
			divergence_print_json(&r->divergence, stdout);
		else
			divergence_print(&r->divergence, stderr);
		return bt_fail(err, BT_E_DIVERGENCE, 0,
			       "%s: the replay is not as the recording was", q->path);
	}
	rc = tell_place(q, r, err);
	if (!rc && !q->args->quiet)
		say_end(q, r);
	return rc;
}

static bool asks_for_a_place(const struct replay_arguments *args)
{
	return args->to_text || args->look.registers || args->look.range_count;
}

static int replay(struct replay_run *run, struct replay_arguments *args, const char *path,
		  struct bt_error *err)
{
	struct question q = {.args = args,
			     .path = path,
			     .to = args->to_text ? args->to : (struct place){.kind = PLACE_END},
			     .look = &args->look};
	const struct replaying_options options = {.output = !args->no_output,
						  .places = &q.to,
						  .place_count = asks_for_a_place(args),
						  .on_place = on_place,
						  .arg = &q};
	struct trace *t;
	int rc = choose_backend(args->backend, &run->backend, err);

	if (rc || (rc = trace_open(&t, path, err)))
		return rc;
	rc = replaying_init(&run->session, t, &options, err);
	if (!rc)
		rc = place_find(&q.to, t, err);
	if (!rc)
		rc = run_host(run, err);
	if (!rc)
		rc = tell_end(&q, &run->session, err);
	replaying_release(&run->session);
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
	replay_look_release(&args.look);
	return rc ? btrec_complain(&err) : 0;
}
