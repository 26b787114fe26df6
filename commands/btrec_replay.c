/* SPDX-License-Identifier: MIT */
/* btrec replay: runs a recording again. The process that it runs in is this program, executed once
 * more, traced, and emptied before its first instruction (host.h). */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/replay/host.h"
#include "collector/replay/replaying.h"
#include "collector/supervisor/launch.h"
#include "commands/btrec_commands.h"
#include "commands/cause.h"
#include "commands/log_digest.h"
#include "commands/mode.h"
#include "commands/proc_mount.h"
#include "commands/replay_checksum.h"
#include "commands/replay_look.h"
#include "commands/replay_window.h"
#include "commands/shell_word.h"
#include "commands/trace_shelf.h"
#include "decoder/model/signals.h"
#include "lib/array_size.h"
#include "lib/directories.h"
#include "lib/say.h"
#include "lib/trace_home.h"

struct replay_arguments {
	const char *backend;
	const char *to_text; /* of --to; NULL: not given */
	struct destination to;
	struct {
		const char *text;        /* of --window; NULL: not given */
		struct destination from; /* the window's beginning */
		uint64_t ticks;          /* not 0: the beginning is so many ticks before the end */
		const char *output;
	} window;
	struct replay_look look;
	unsigned long long checksum; /* every so many events; 0: none */
	uint64_t memory;             /* bytes that the host may have; 0: not said */
	bool no_output, json, quiet, help, force;
};

static int set_end(struct replay_arguments *args, const char *option, const char *value,
		   struct bt_error *err)
{
	args->to_text = value;
	return destination_parse(value, &args->to)
		       ? 0
		       : bt_fail(err, BT_E_MISUSE, 0,
				 "%s: %s is none of EVENT, "
				 "@[TASK:]TICK[+TRANSFERS][@ADDRESS[,RCX]], crash, end",
				 option, value);
}

static int set_to(void *target, const char *value, struct bt_error *err)
{
	return set_end(target, "--to", value, err);
}

enum {
	WHERE_MAX = 128, /* bytes of the first destination of --window */
	NAMES_MAX = 1000,
	SYMBOLS_MS = 2000, /* for names that the first screen does not need */
	SYMBOLS_PATIENCE_MS = 60000,
	CAUSE_MAX = sizeof(((struct divergence *)NULL)->cause),
};

static const char WINDOW_TICKS[] = "1M"; /* of a --window without an argument */

static int ticks_parse(const char *text, uint64_t *ticks, struct bt_error *err)
{
	static const struct option_unit units[] = {
		{'\0', 1}, {'K', 1000}, {'M', 1000000}, {'G', 1000000000}, {'k', 1000}};

	if (options_amount(text, units, ARRAY_SIZE(units), ticks))
		return bt_fail(err, BT_E_MISUSE, 0,
			       "--window: %s is no number of ticks: 5000, or with K, M or G", text);
	return 0;
}

/* The word behind --window may be the trace. */
static bool is_window(const char *word)
{
	return !strchr(word, '/') && ((*word >= '0' && *word <= '9') || strstr(word, ".."));
}

/* A..B: B is the destination of --to. A number alone: so many ticks before that. */
static int set_window(void *target, const char *given, struct bt_error *err)
{
	struct replay_arguments *args = target;
	const char *value = given ? given : WINDOW_TICKS, *dots = strstr(value, "..");
	char from[WHERE_MAX] = "@0";

	args->window.text = value;
	args->window.ticks = 0;
	if (!dots && *value >= '0' && *value <= '9')
		return ticks_parse(value, &args->window.ticks, err);
	if (!dots || dots - value >= WHERE_MAX)
		return bt_fail(
			err, BT_E_MISUSE, 0,
			"--window: %s is not A..B, two destinations of --to, and no number of "
			"ticks",
			value);
	if (dots > value)
		snprintf(from, sizeof from, "%.*s", (int)(dots - value), value);
	if (*from == '-' && ticks_parse(from + 1, &args->window.ticks, err))
		return -BT_E_MISUSE;
	if (!args->window.ticks && (!destination_parse(from, &args->window.from) ||
				    args->window.from.kind == DESTINATION_END))
		return bt_fail(err, BT_E_MISUSE, 0,
			       "--window: %s is no destination where a stretch can begin", from);
	if (dots[2] && args->to_text)
		return bt_fail(err, BT_E_MISUSE, 0, "--window ends at %s, --to says %s", dots + 2,
			       args->to_text);
	return dots[2] ? set_end(args, "--window", dots + 2, err) : 0;
}

static int set_checksum(void *target, const char *value, struct bt_error *err)
{
	return options_number("--checksum", value, 1, UINT64_MAX,
			      &((struct replay_arguments *)target)->checksum, err);
}

static int set_memory(void *target, const char *value, struct bt_error *err)
{
	return replay_look_add(&((struct replay_arguments *)target)->look, value, err);
}

static int set_memory_limit(void *target, const char *value, struct bt_error *err)
{
	return shelf_size("--memory-limit", value, &((struct replay_arguments *)target)->memory,
			  err);
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
	{"checksum", 0, "N", "print a number for registers and memory at each Nth event",
	 .set = set_checksum},
	{"window", 0, "[TICKS|A..B]",
	 "write the branch history of the last TICKS (1M) before --to, or from A to B, as a trace",
	 .set = set_window, .is_argument = is_window},
	{"output", 'o', "DIR", "where that trace is made",
	 .at = offsetof(struct replay_arguments, window.output)},
	{"memory-limit", 0, "SIZE",
	 "the memory that the program may have: 500M, 2G (what this machine has)",
	 .set = set_memory_limit},
	{"force", 0, NULL, "replay though this processor lacks features that the recording had",
	 .at = offsetof(struct replay_arguments, force)},
	{"no-output", 0, NULL, "do not repeat what the program wrote",
	 .at = offsetof(struct replay_arguments, no_output)},
	{"json", 0, NULL, "print a divergence, or what is there, as JSON",
	 .at = offsetof(struct replay_arguments, json)},
	{"quiet", 'q', NULL, "no line at the end, unless something went wrong",
	 .at = offsetof(struct replay_arguments, quiet)},
	{"help", 'h', NULL, "show this", .at = offsetof(struct replay_arguments, help)},
};

enum { BEGIN, MESSAGE, END, DESTINATIONS };

/* The questions about a replay, and their answers. */
struct question {
	const struct replay_arguments *args;
	const char *path;
	struct destination destinations[DESTINATIONS];
	size_t first;     /* of these: END where no stretch is asked for */
	bool has_message; /* in the stretch; else that destination is BEGIN once more */
	const struct replaying *replay;
	struct replay_look *look;
	struct replay_checksum checksum;
	bool unreadable; /* memory for the checksum could not be read */
	struct replay_window window;
	char window_path[BT_PATH_MAX]; /* "": there is none */
	const char *window_word;       /* that, as a shell takes it */
	char quoted[SHELL_WORD_MAX];
	bool no_memory;
	uint64_t memory;       /* bytes of addresses that the host may have */
	char cause[CAUSE_MAX]; /* a possible cause of a divergence; "": none is known */
};

struct replay_run {
	struct replaying session;
	struct question question;
	char path[BT_PATH_MAX];
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

	if (!mode_has_backend(wish.backend) || mode_find(&wish, &mode, err))
		return bt_fail(err, BT_E_MISUSE, 0, "--backend: %s is none of engine, step", name);
	*out = *mode->ops;
	return 0;
}

/* Nothing turns: there is one task. */
static void on_tick(void *arg, struct supervisor *sup)
{
	(void)arg;
	(void)sup;
}

/* There is one process, and it is told once. */
static void tell_slow(void *arg, const char *why)
{
	const struct replay_run *run = arg;
	struct log_digest log;

	(void)why; /* is about a program that is recorded */
	/* A replay that has ended has no room for anything. */
	if (!run->session.done && log_digest_read(&log, run->session.log.trace))
		say("note: single-stepped, at a hundred thousand instructions a second at most: "
		    "there is no room for the code cache in the memory that a replay may have "
		    "(--memory-limit, ulimit -v); %llu GB are enough",
		    (unsigned long long)log_digest_memory(&log) >> 30);
}

static int run_host(struct replay_run *run, struct bt_error *err)
{
	static volatile sig_atomic_t never;
	static char *const argv[] = {(char *)(uintptr_t) "btrec-replay", NULL};
	static char *const envp[] = {NULL};
	char cache[BT_PATH_MAX];
	const struct supervisor_options options = {
		.ticks = true,
		.logged = true,
		.answered = true,
		.cache = directory_cache(cache) ? cache : NULL,
	};
	int failure, cause;
	sigset_t mask;
	pid_t pid;

	for (int signo = 1; signo < NSIG; signo++)
		run->actions[signo].sa_handler = SIG_DFL;
	run->launch = (struct launch){
		.path = "/proc/self/exe", .argv = argv, .envp = envp, .actions = run->actions};
	/* None that comes from outside ends it before its program goes (host_confine()). */
	sigfillset(&run->launch.mask);
	sigprocmask(SIG_SETMASK, &run->launch.mask, &mask);
	pid = launch_seized(&run->launch, &failure, err);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (pid < 0)
		return -(int)err->code;
	run->clock = bt_clock_start();
	supervisor_init(&run->sup, &run->session.session, &run->session.observer, &run->clock,
			&run->backend, &options);
	run->sup.tick = &never;
	run->sup.on_tick = on_tick;
	run->sup.backend.tell_slow = tell_slow;
	run->sup.backend.tell_arg = run;
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
	else if (!run->session.begun && !run->session.done)
		bt_fail(&run->session.failure, BT_E_GONE, 0,
			"the replaying process ended before the replay began");
	close(failure);
	return 0;
}

/* ---- The end ---- */

static void on_destination(void *arg, struct supervisor *sup, struct task *task, size_t i)
{
	struct question *q = arg;
	const struct bt_record *event = &q->replay->log.now.event;

	if (q->first + i == BEGIN) {
		replay_window_begin(&q->window, sup, task);
		return;
	}
	if (q->first + i == MESSAGE) {
		if (q->has_message)
			replay_window_message(&q->window, sup, task,
					      q->destinations[MESSAGE].event);
		return;
	}
	q->no_memory |= !replay_look_take(q->look, task);
	if (q->args->window.text)
		replay_window_end(&q->window, sup, task, &q->destinations[END],
				  event->kind == BT_RECORD_LOG_EXIT &&
						  q->destinations[END].kind == DESTINATION_END
					  ? event->u.log_exit.seq
					  : 0);
}

static void on_event(void *arg, struct task *task, uint64_t seq)
{
	struct question *q = arg;

	q->unreadable |= !replay_checksum_event(&q->checksum, task, seq, stdout);
}

static void on_stop(void *arg, struct supervisor *sup, struct task *task)
{
	struct question *q = arg;

	replay_window_relieve(&q->window, sup, task);
}

static void say_end(const struct question *q, const struct replaying *r)
{
	char name[SIGNAL_NAME_MAX], where[DESTINATION_TEXT];
	const char *trace = q->path;

	destination_print(&q->destinations[END], where, sizeof where);
	if (q->args->to_text && q->destinations[END].kind != DESTINATION_END)
		say("replayed %s: %llu events, up to %s", trace, (unsigned long long)r->events,
		    where);
	else if (r->end.kind == BT_EXIT_STATUS)
		say("replayed %s: %llu events, exited with %d", trace,
		    (unsigned long long)r->events, r->end.status);
	else if (r->end.kind == BT_EXIT_SIGNAL)
		say("replayed %s: %llu events, killed by %s", trace, (unsigned long long)r->events,
		    signal_name((uint32_t)r->end.status, name));
	else
		say("replayed %s: %llu events, up to where its log ends: %s", trace,
		    (unsigned long long)r->events, r->log.now.reason);
	if (r->unseen && !q->args->no_output)
		say("note: %llu bytes of its output are not in the log (splice), and not repeated",
		    (unsigned long long)r->unseen);
	if (*q->window_path)
		say("its branches up to there: btview %s", q->window_word);
}

static int fail_unreached(const struct question *q, const struct replaying *r, struct bt_error *err)
{
	char where[DESTINATION_TEXT];

	destination_print(&r->options.destinations[r->destination], where, sizeof where);
	if (r->passed)
		return bt_fail(err, BT_E_NOT_REACHED, 0, "%s: %s: the task was never there",
			       q->path, where);
	return bt_fail(err, BT_E_NOT_REACHED, 0, "%s: %s: the replay ends before it%s%s", q->path,
		       where, *r->log.now.reason ? ", where its log does: " : "",
		       r->log.now.reason);
}

/* The replay was as the recording, up to its end. */
static int tell_destination(const struct question *q, const struct replaying *r,
			    struct bt_error *err)
{
	if (q->no_memory)
		return bt_no_memory(err, NULL);
	if (r->destination < r->options.destination_count)
		return fail_unreached(q, r, err);
	if (!r->options.destination_count)
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

/* Why the recording of the trace stopped early; false: it did not, or it is not known. */
static bool find_stopped(const struct trace *t, char *why, size_t room)
{
	struct trace_cursor c;
	struct bt_record rec;
	struct bt_error err;
	bool found = false;

	trace_cursor_init(&c, t, &t->files[0]);
	while (!found && trace_cursor_next(&c, &rec, &err) == 1) {
		found = rec.kind == BT_RECORD_STOPPED;
		if (found)
			snprintf(why, room, "%.*s", (int)rec.u.stopped.text.len,
				 (const char *)rec.u.stopped.text.at);
	}
	trace_cursor_release(&c);
	return found;
}

/* The session has failed: adds what would help, or why that is. */
static int tell_failure(const struct question *q, const struct bt_error *failure,
			const struct trace *t, struct bt_error *err)
{
	char why[200], enough[LOG_REMEDY_MAX];
	struct log_digest log;

	*err = *failure;
	if (failure->code == BT_E_NO_MEMORY && log_digest_read(&log, t) &&
	    log_digest_memory(&log) > host_allowed_memory(q->memory))
		bt_fail(err, failure->code, failure->os_errno, "%s: %s", failure->text,
			log_digest_memory_remedy(&log, enough));
	else if (failure->code == BT_E_TRUNCATED && find_stopped(t, why, sizeof why))
		bt_fail(err, failure->code, failure->os_errno, "%s: %s: recording stopped: %s",
			q->path, failure->text, why);
	else if (failure->code == BT_E_TRUNCATED)
		bt_fail(err, failure->code, failure->os_errno, "%s: %s", q->path, failure->text);
	return -(int)err->code;
}

static int tell_end(const struct question *q, struct replaying *r, const struct trace *t,
		    struct bt_error *err)
{
	char most[24];
	int rc;

	if (r->log.now.damage)
		return bt_fail(err, r->log.now.damage, 0, "%s: the log %s behind %llu events: %s",
			       q->path, log_damage_words(r->log.now.damage),
			       (unsigned long long)r->events, r->log.now.reason);
	if (r->log.now.full)
		return bt_fail(err, BT_E_NO_MEMORY, 0,
			       "%s: one event of the log, behind %llu others, takes more than "
			       "%s (--memory-limit SIZE; half of it is for that)",
			       q->path, (unsigned long long)r->events,
			       size_words(r->log.most, most));
	if (r->failure.code)
		return tell_failure(q, &r->failure, t, err);
	if (r->divergence.kind) {
		memcpy(r->divergence.cause, q->cause, sizeof r->divergence.cause);
		if (r->stack_wanted && r->signo == SIGSEGV && !*r->divergence.cause)
			snprintf(r->divergence.cause, sizeof r->divergence.cause,
				 "the stack could become larger than the hard limit here allows "
				 "(ulimit -Hs)");
		if (r->shared_at && !*r->divergence.cause)
			snprintf(r->divergence.cause, sizeof r->divergence.cause,
				 "others could write to memory of the program, at %#" PRIx64
				 ": what they wrote is not in the log",
				 r->shared_at);
		if (q->args->json)
			divergence_print_json(&r->divergence, stdout);
		else
			divergence_print(&r->divergence, stderr);
		return bt_fail(err, BT_E_DIVERGENCE, 0,
			       "%s: the replay is not as the recording was", q->path);
	}
	rc = tell_destination(q, r, err);
	if (!rc && r->unwritten && r->unwritten != EPIPE) /* whose reader has what it wants */
		rc = bt_fail(err, BT_E_IO, r->unwritten, "cannot write to standard output");
	if (!rc && !q->args->quiet)
		say_end(q, r);
	return rc;
}

static bool asks_for_a_destination(const struct replay_arguments *args)
{
	return args->to_text || args->look.registers || args->look.range_count || args->window.text;
}

/* The tick of the log's last event. */
static int last_tick(const struct trace *t, uint64_t memory, uint64_t *tick, struct bt_error *err)
{
	struct log_reader log;
	int rc = log_reader_open(&log, t, memory, err);

	*tick = 0;
	if (rc)
		return rc;
	while (log_reader_next(&log))
		*tick = bt_record_point(&log.now.event)->tick;
	log_reader_close(&log);
	return 0;
}

static bool is_in_order(const struct destination *a, const struct destination *b)
{
	return a->kind == DESTINATION_END || b->kind == DESTINATION_END ||
	       a->at.task != b->at.task || stop_point_compare(&a->at, &b->at) <= 0;
}

static int check_order(const struct destination *begin, const struct destination *end,
		       struct bt_error *err)
{
	char from[DESTINATION_TEXT], to[DESTINATION_TEXT];

	if (is_in_order(begin, end))
		return 0;
	destination_print(begin, from, sizeof from);
	destination_print(end, to, sizeof to);
	return bt_fail(err, BT_E_MISUSE, 0, "--window: %s comes after %s, where it is to end", from,
		       to);
}

static void find_message(struct question *q, const struct trace *t)
{
	struct destination *d = q->destinations, message = {.kind = DESTINATION_EVENT,
							    .event = replay_window_find_message(t)};
	struct bt_error err;

	q->has_message = message.event && !destination_find(&message, t, &err) &&
			 message.is == BT_RECORD_SYSCALL_ENTER &&
			 is_in_order(&d[BEGIN], &message) && is_in_order(&message, &d[END]);
	d[MESSAGE] = q->has_message ? message : d[BEGIN];
}

static int find_destinations(struct question *q, const struct trace *t, struct bt_error *err)
{
	struct destination *begin = &q->destinations[BEGIN], *end = &q->destinations[END];
	uint64_t last = 0;
	int rc = destination_find(end, t, err);

	if (!rc && q->args->window.text)
		rc = destination_find(begin, t, err);
	if (rc || !q->args->window.ticks)
		return rc || !q->args->window.text ? rc : check_order(begin, end, err);
	rc = end->kind == DESTINATION_END ? last_tick(t, q->memory, &last, err) : 0;
	if (end->kind != DESTINATION_END)
		last = end->at.at.tick;
	*begin = (struct destination){
		.at = {.task = end->kind == DESTINATION_END ? 1 : end->at.task,
		       .at.tick = last > q->args->window.ticks ? last - q->args->window.ticks : 0}};
	return rc;
}

/* Makes the trace of --window: at -o, else where traces are, with the program's name. */
static int open_window(struct replay_run *run, struct question *q, const struct trace *t,
		       struct bt_error *err)
{
	char directory[BT_PATH_MAX], program[BT_PATH_MAX];
	const char *output = q->args->window.output;
	int rc = output ? 0 : directory_new_traces(directory, err);

	snprintf(program, sizeof program, "%.*s", (int)t->header.program.len,
		 (const char *)t->header.program.at);
	if (rc)
		return rc;
	for (unsigned n = 0; n < NAMES_MAX; n++) {
		if (output)
			snprintf(q->window_path, BT_PATH_MAX, "%s", output);
		else
			directory_trace_candidate(q->window_path, directory, program, n);
		rc = replay_window_open(&q->window, t, q->window_path, run->backend.name,
					&run->session, err);
		if (rc != -BT_E_EXISTS || output)
			break;
	}
	if (rc)
		*q->window_path = '\0';
	q->window_word = shell_word(q->window_path, q->quoted);
	return rc;
}

/* Whether all programs that were executed can still be read. */
static bool are_programs_there(const struct trace *t)
{
	struct trace_cursor c;
	struct bt_record rec;
	struct bt_error err;
	bool are_there = true;

	trace_cursor_init(&c, t, &t->files[0]);
	while (are_there && trace_cursor_next(&c, &rec, &err) == 1) {
		char path[BT_PATH_MAX];

		if (rec.kind != BT_RECORD_EXEC)
			continue;
		snprintf(path, sizeof path, "%.*s", (int)rec.u.exec.path.len,
			 (const char *)rec.u.exec.path.at);
		are_there = !access(path, R_OK);
	}
	trace_cursor_release(&c);
	return are_there;
}

/* Names and source lines for the window's trace: of the programs' files, or, where one is gone,
 * those that the trace that is replayed has. */
static void keep_symbols(const struct trace *t, const char *trace)
{
	struct cause cause;

	if (!are_programs_there(t) && replay_window_keep_symbols(t, trace))
		return;
	cause_begin(&cause, trace, SYMBOLS_MS, 0);
	cause_end(&cause, SYMBOLS_PATIENCE_MS);
}

/* ---- Before it begins ---- */

/* Another maker's results of some instructions differ in their last bits. */
static void compare_makers(const struct log_reader *l, const struct processor_offer *here,
			   bool quiet, char cause[CAUSE_MAX])
{
	char then[PROCESSOR_MAKER], now[PROCESSOR_MAKER];

	processor_offer_maker(&l->processor, then);
	processor_offer_maker(here, now);
	if (!strcmp(then, now))
		return;
	snprintf(cause, CAUSE_MAX,
		 "it was recorded on a processor of %s, and this one is of %s: rcpps, rsqrtps and "
		 "functions of the x87 give other results",
		 then, now);
	if (!quiet)
		say("note: %s", cause);
}

/* Compares the processor with that of the recording. */
static int compare_processors(const struct replaying *r, const struct replay_arguments *args,
			      const char *path, char cause[CAUSE_MAX], struct bt_error *err)
{
	const struct log_reader *l = &r->log;
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

static int replay_trace(struct replay_run *run, struct question *q, const struct trace *t,
			struct bt_error *err)
{
	struct replaying_options options = {
		.output = !q->args->no_output,
		.memory = q->memory,
		.destinations = q->destinations + q->first,
		.destination_count = asks_for_a_destination(q->args) ? DESTINATIONS - q->first : 0,
		.on_destination = on_destination,
		.arg = q};
	struct bt_error cause;
	int rc = find_destinations(q, t, err), closed;

	if (!rc && q->args->window.text) {
		find_message(q, t);
		/* A reader of the output that goes, or a limit of file sizes, leaves no half trace:
		 * errno tells of them. */
		signal(SIGPIPE, SIG_IGN);
		signal(SIGXFSZ, SIG_IGN);
		rc = open_window(run, q, t, err);
	}
	if (rc)
		return rc;
	if (q->args->checksum)
		options.on_event = on_event;
	if (*q->window_path) {
		options.observer = &q->window.observer;
		options.keeper = &q->window.recording.session;
		options.on_stop = on_stop;
		options.pause = REPLAY_WINDOW_PAUSE;
	}
	rc = replaying_init(&run->session, t, &options, err);
	if (!rc)
		rc = compare_processors(&run->session, q->args, q->path, q->cause, err);
	if (!rc)
		rc = run_host(run, err);
	closed = *q->window_path ? replay_window_close(&q->window, q->window_path, &cause) : 0;
	if (!rc && closed)
		rc = (*err = cause, closed);
	if (!rc)
		rc = tell_end(q, &run->session, t, err);
	if (!rc && *q->window_path)
		keep_symbols(t, q->window_path);
	replaying_release(&run->session);
	return rc;
}

static int make_replay(struct replay_run *run, struct replay_arguments *args, const char *path,
		       struct bt_error *err)
{
	struct question *q = &run->question;
	struct trace *t;
	int rc = choose_backend(args->backend, &run->backend, err);

	*q = (struct question){
		.args = args,
		.path = path,
		.destinations = {[BEGIN] = args->window.from,
				 [END] = args->to_text
						 ? args->to
						 : (struct destination){.kind = DESTINATION_END}},
		.first = args->window.text ? BEGIN : END,
		.replay = &run->session,
		.look = &args->look,
		.checksum = {.every = args->checksum, .json = args->json},
		.memory = args->memory ? args->memory : host_usual_memory()};
	if (!rc && args->window.output && !args->window.text)
		rc = bt_fail(err, BT_E_MISUSE, 0, "-o says where the trace of --window is made");
	if (rc || (rc = trace_open(&t, path, err)))
		return rc;
	rc = proc_mount_check("a replay", err);
	if (!rc)
		rc = replay_trace(run, q, t, err);
	replay_checksum_release(&q->checksum);
	trace_close(t);
	return rc;
}

int btrec_replay(int argc, char **argv)
{
	struct replay_arguments args = {0};
	struct replay_run *run;
	struct bt_error err;
	int at = options_parse(rows, ARRAY_SIZE(rows), &args, argc, argv, &err), rc;

	if (at >= 0 && args.help) {
		puts("Usage: btrec replay [OPTIONS] [TRACE]\nRuns a recording of btrec run "
		     "--replayable again, the latest by default: each\ninstruction, without the "
		     "program, its files and its machine.\n\nOptions:");
		options_help(stdout, rows, ARRAY_SIZE(rows));
		return 0;
	}
	if (at < 0)
		return btrec_complain(&err);
	run = calloc(1, sizeof *run);
	if (!run)
		return btrec_complain((bt_no_memory(&err, NULL), &err));
	rc = btrec_trace_argument(argc, argv, at, run->path, &err);
	if (!rc)
		rc = make_replay(run, &args, run->path, &err);
	free(run);
	replay_look_release(&args.look);
	return rc ? btrec_complain(&err) : 0;
}
