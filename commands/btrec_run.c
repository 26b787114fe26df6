/* SPDX-License-Identifier: MIT */
/* btrec run: finds the program, makes the trace, starts front and recorder.
 *
 * run_command() reads the options, chooses backend and branch source (by the doctor, if the user
 * does not choose), and finds the program. An error up to there ends it with a message.
 * start_recorder() forks: the parent becomes the front (front.h), the child the recorder, and a
 * pipe leads from child to parent.
 *
 * record_program() is the recorder's life: raise limits, open the source, make the trace, start the
 * program stopped, adopt it, serve it until all of it has ended, close the trace. A failure before
 * the program runs is sent to the front; if the program could not be executed, its trace is
 * removed.
 *
 * A timer interrupts the recorder's waiting. Then on_tick() passes on signals that the front was
 * sent, serves the control socket (control.h), and lets go of processes that are to be detached.
 *
 * At the end summarize_recording() tells the front how it ended, when the initial process has, even
 * if others live on. The front writes the line for the user (ending.h). */
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/backend/pmu/pmu.h"
#include "collector/doctor/doctor.h"
#include "collector/record/recording.h"
#include "collector/supervisor/detach.h"
#include "collector/supervisor/launch.h"
#include "collector/supervisor/program.h"
#include "collector/supervisor/terminal.h"
#include "collector/task/limits.h"
#include "commands/btrec_commands.h"
#include "commands/cause.h"
#include "commands/control.h"
#include "commands/from_names.h"
#include "commands/front.h"
#include "commands/inherited.h"
#include "commands/missed_stop_points.h"
#include "commands/mode.h"
#include "commands/proc_mount.h"
#include "commands/run_options.h"
#include "config.h"
#include "lib/directories.h"
#include "lib/large_heap.h"
#include "lib/page.h"
#include "lib/processor.h"
#include "lib/say.h"

enum {
	END_PATIENCE = 500,    /* looks at whether the front has taken note of the end */
	PAUSE_MOST = 10000000, /* ns between two looks */
	OURS = 125,            /* everything of ours that fails before the program started */
	NAMES_MAX = 100000,    /* NAME-N tried */
};

struct run {
	struct run_options options;
	const struct perf_kernel *kernel; /* gives access to a processor's branch records */
	const struct backend_ops *runner; /* below the pmu backend */
	/* Found out: */
	struct doctor_choice choice;
	const struct mode *mode;
	struct backend_ops backend;
	const struct branch_source_ops *source; /* of the processor; NULL: none of those */
	struct pmu pmu;
	const char *source_name, *reason; /* in the trace's header */
	char *trace;                      /* BT_PATH_MAX, of front and recorder together */
	char program[4096], directory[BT_PATH_MAX], cache[BT_PATH_MAX];
	char **argv;
	struct sigaction actions[NSIG];
	sigset_t mask;
	int front; /* the recorder's end of the pipe */
	pid_t front_pid;
	struct inherited inherited;
	const char *from; /* --from, as the user says it */
	char from_address[FROM_ADDRESS_MAX];
	struct launch launch;
	struct recording session; /* while it runs */
	struct control control;
	timer_t timer;
	struct front_group group;
	bool front_due;    /* the program goes on, and so must the front */
	bool dropped;      /* the trace is not kept: --only-crashes */
	bool ending;       /* by a SIGTERM to the recorder of a daemon */
	bool linked;       /* `latest` names the trace */
	bool told_stopped; /* the user was told that nothing more is recorded */
	bool told_slow;    /* the user was told that a process is single-stepped */
	bool told_log_ended;
	int exec_failure;
};

/* ---- The trace ---- */

static int open_writer(const struct run *run, const char *path, struct trace_writer **w,
		       struct bt_error *err)
{
	char cpu[PROCESSOR_NAME], cwd[4096] = "", kernel[256];
	struct buf argv = {0};
	struct timespec now;
	struct utsname u;
	struct bt_record_header h = {
		.program = bt_str(run->program),
		.backend = bt_str(run->backend.name),
		.source = bt_str(run->source_name),
		.reason = bt_str(run->reason),
		.tick_classes = run->backend.tick_classes,
		.ring = run->options.recording.history,
		.page_size = BT_PAGE,
		.recorder_pid = (uint32_t)getpid(),
		.from = bt_str(run->from),
		.deterministic = run->options.supervisor.deterministic,
		.version = bt_str(PACKAGE_VERSION),
		.parallel = run->options.supervisor.parallel || run->backend.native,
	};
	int rc;

	clock_gettime(CLOCK_REALTIME, &now);
	uname(&u);
	processor_name(cpu);
	snprintf(kernel, sizeof kernel, "%s %s", u.sysname, u.release);
	if (!getcwd(cwd, sizeof cwd))
		cwd[0] = '\0';
	for (char **a = run->argv; *a; a++)
		buf_put(&argv, *a, strlen(*a) + 1);
	h.started = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	h.argv = slice_of(argv.data, argv.len);
	h.cwd = bt_str(cwd);
	h.cpu = bt_str(cpu);
	h.kernel = bt_str(kernel);
	rc = trace_writer_open(w, path, &h, err);
	buf_release(&argv);
	return rc;
}

static int make_trace(struct run *run, struct trace_writer **w, struct bt_error *err)
{
	int rc;

	if (run->options.output) {
		/* Absolute, because the line at the end and `latest` are read elsewhere. */
		char cwd[2048];

		if (*run->options.output != '/' && getcwd(cwd, sizeof cwd))
			snprintf(run->trace, BT_PATH_MAX, "%s/%.2000s", cwd, run->options.output);
		else
			snprintf(run->trace, BT_PATH_MAX, "%s", run->options.output);
		return open_writer(run, run->options.output, w, err);
	}
	rc = directory_new_traces(run->directory, err);
	for (unsigned n = 0; !rc && n < NAMES_MAX; n++) {
		directory_trace_candidate(run->trace, run->directory, run->program, n);
		if (!access(run->trace, F_OK))
			continue;
		rc = open_writer(run, run->trace, w, err);
		if (rc != -BT_E_EXISTS)
			return rc;
		rc = 0;
	}
	if (!rc)
		rc = bt_fail(err, BT_E_EXISTS, 0, "%s: no name is left for a trace of %s",
			     run->directory, run->program);
	return rc;
}

/* ---- The recorder process ---- */

static void send_message(const struct run *run, const struct front_message *m)
{
	struct timespec pause = {.tv_nsec = 100000}; /* mostly it has only to be its turn */
	static const struct front_message went_on = {.type = FRONT_WENT_ON};

	if (write(run->front, m, sizeof *m) != sizeof *m)
		return;
	if (m->type == FRONT_STOPPED)
		(void)!write(run->front, &went_on, sizeof went_on);
	if (m->type != FRONT_ENDED)
		return;
	/* The front may have stopped with the program. */
	for (int i = 0; i < END_PATIENCE && getppid() == run->front_pid &&
			!front_goes_on(run->front, run->front_pid);
	     i++) {
		kill(run->front_pid, SIGCONT);
		nanosleep(&pause, NULL);
		pause.tv_nsec = pause.tv_nsec < PAUSE_MOST / 2 ? 2 * pause.tv_nsec : PAUSE_MOST;
	}
}

/* The program, or one that it started. */
static bool has_failed(const struct run *run, const struct supervisor *sup)
{
	return sup->outcome.kind == BT_EXIT_SIGNAL || sup->outcome.status || run->session.crashes;
}

/* Names the first function of --snap-at-function that no file of the program had, if there is one.
 */
static void name_unfound(const struct recording *r, char *text, size_t size)
{
	for (size_t i = 0; i < r->options.function_count; i++)
		if (!recording_found_function(r, i)) {
			snprintf(text, size,
				 "; --snap-at-function %.60s: the program and the libraries it "
				 "loaded have no such function",
				 r->options.functions[i]);
			return;
		}
}

/* lives_on: processes of the program are left. */
static void summarize_recording(const struct run *run, const struct supervisor *sup, bool lives_on,
				struct front_message *m)
{
	const struct supervisor_outcome *o = &sup->outcome;
	const struct recording *r = &run->session;
	char stopped[128] = "", never[256] = "", missed[MISSED_STOP_POINTS_TEXT] = "",
	     unfound[200] = "";
	int failure = trace_writer_stopped(r->writer);

	m->type = FRONT_ENDED;
	m->kind = o->kind;
	m->value = o->status;
	m->failed = has_failed(run, sup);
	m->tells = m->failed || r->told_kept;
	if (failure)
		snprintf(stopped, sizeof stopped, "; recording stopped early: %.100s",
			 strerror(failure));
	if (!lives_on && r->options.from && !r->from_reached)
		snprintf(never, sizeof never, "; %.100s was never reached%s", run->from,
			 r->from_found ? ""
				       : ": no function of that name, nor code at that address, "
					 "was found in the program and the libraries it loaded");
	if (!lives_on && r->stop_points_kept < r->options.stop_point_count)
		missed_stop_points(run->trace, r->options.stop_points, r->options.stop_point_count,
				   r->stop_points_kept, missed);
	if (!lives_on)
		name_unfound(r, unfound, sizeof unfound);
	m->lives_on = lives_on;
	m->lacks = *stopped || *never || *missed || *unfound;
	snprintf(m->text, sizeof m->text, "%s%s%s%s%s%s%s",
		 sup->initial_left
			 ? "; it was detached, and ran on unrecorded (btrec info says why)"
			 : "",
		 stopped, never, *missed ? "; " : "", missed, unfound,
		 lives_on ? "; what it left running is recorded on" : "");
}

/* Tells the user, once, that btrec replay will reach up to here only. */
static void tell_log_ended(struct run *run)
{
	const char *why = replay_log_reason(&run->session.log);
	struct front_message m = {.type = FRONT_SAYS};

	if (!why || run->told_log_ended || run->options.quiet)
		return;
	run->told_log_ended = true;
	snprintf(m.text, sizeof m.text, "the log for btrec replay ends here: %s", why);
	send_message(run, &m);
}

static void notify_front(void *arg, const struct supervisor *sup, int stop_signal)
{
	struct run *run = arg;
	struct front_message m = {.type = FRONT_STOPPED, .value = stop_signal};

	if (stop_signal == SIGCONT) {
		run->front_due = true;
		kill(run->front_pid, SIGCONT);
		return;
	}
	run->front_due = false;
	trace_writer_flush(run->session.writer); /* the user may look at it now */
	if (!stop_signal) {
		tell_log_ended(run);
		summarize_recording(run, sup, true, &m);
	}
	send_message(run, &m);
}

/* Nothing failed, and nobody asked for a moment of it. */
static bool ended_well(const struct run *run, const struct supervisor *sup)
{
	return !has_failed(run, sup) && !run->session.asked_kept;
}

/* Once the program has started: a trace that is taken back leaves the one before it the latest. */
static void link_latest(struct run *run, const struct supervisor *sup)
{
	if (!run->linked && sup->started && *run->directory)
		directory_link_latest(run->directory, run->trace);
	run->linked |= sup->started;
}

static void forward_signal(struct run *run, const struct supervisor *sup, struct front_signal s,
			   int signo)
{
	if (!sup->initial_pid || (signo == SIGCONT && !sup->stopped_by))
		return;
	run->session.passed_on[signo] = s.from;
	kill(s.to, signo);
}

/* Tells the user at once that the trace cannot be written any more, not only at the end. */
static void tell_stopped(struct run *run, const struct supervisor *sup)
{
	struct front_message m = {.type = FRONT_SAYS};
	int failure = trace_writer_stopped(run->session.writer);

	if (!failure || run->told_stopped || !sup->notify)
		return;
	run->told_stopped = true;
	snprintf(m.text, sizeof m.text,
		 "%.3200s: %.100s: nothing more is recorded, the program runs on", run->trace,
		 strerror(failure));
	send_message(run, &m);
}

/* Tells the user of the first process alone: the others of a tree mostly have the same reason. */
static void tell_slow(void *arg, const char *why)
{
	struct run *run = arg;
	struct front_message m = {.type = FRONT_SAYS};

	if (run->told_slow)
		return;
	run->told_slow = true;
	snprintf(m.text, sizeof m.text, "%s", why);
	send_message(run, &m);
}

static void on_tick(void *arg, struct supervisor *sup)
{
	struct run *run = arg;
	struct front_signal s;
	int signo;

	if (!sup->notify) /* the program has ended, and the front with it; a daemon of its may be
			   * left
			   */
		run->ending |= front_asked_to_end();
	if (run->ending)
		detach_all(sup, "the recorder was asked to end");
	supervisor_watch_left(sup);
	if (sup->initial_pid)
		terminal_hand_on(run->front_pid,
				 sup->initial_pid); /* a shell's fg gives it to the front */
	while ((signo = front_forwarded(&run->group, sup->initial_pid, &s)))
		forward_signal(run, sup, s, signo);
	if (getppid() !=
	    run->front_pid) /* the front was killed: so would the program have been without us */
		forward_signal(run, sup, (struct front_signal){.to = sup->initial_pid}, SIGKILL);
	if (run->front_due && front_goes_on(run->front, run->front_pid))
		run->front_due = false;
	if (run->front_due)
		kill(run->front_pid, SIGCONT);
	if (!run->options.only_crashes) /* else it may be taken back yet */
		link_latest(run, sup);
	tell_stopped(run, sup);
	if (sup->notify)
		tell_log_ended(run);
	control_serve(&run->control, &run->session, sup);
	supervisor_adopt_orphans(sup);
	detach_leaving(sup);
}

static volatile sig_atomic_t tick;

static void set_tick(int signo)
{
	(void)signo;
	tick = 1;
}

static void set_timer(void *arg, unsigned milliseconds)
{
	const struct timespec time = {.tv_nsec = 1000000L * milliseconds};
	const struct itimerspec each = {.it_interval = time, .it_value = time};
	const struct run *run = arg;

	timer_settime(run->timer, 0, &each, NULL);
}

/* Interrupts the recorder's waiting every SUPERVISOR_SLICE_MS, or as the recorder says. */
static void start_timer(struct run *run, struct supervisor *sup)
{
	struct sigaction a = {.sa_handler = set_tick}; /* no SA_RESTART: waitpid gives EINTR */
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = front_tick_signal()};

	sigaction(front_tick_signal(), &a, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &run->timer))
		return;
	sup->hurried = true;
	sup->on_pace = set_timer;
	set_timer(run, SUPERVISOR_SLICE_MS);
}

static int fail_before_start(const struct run *run, const struct bt_error *err)
{
	struct front_message m = {.type = FRONT_FAILED, .value = OURS};
	int status = bt_error_exit_status(err->code);

	if (status == 126 || status == 127)
		m.value = status;
	snprintf(m.text, sizeof m.text, "%s", err->text);
	send_message(run, &m);
	return 1;
}

/* The execve itself failed, though all looked well: the program did not start, and there is nothing
 * to keep. */
static bool exec_failed(struct run *run, struct bt_error *err)
{
	int cause;

	if (read(run->exec_failure, &cause, sizeof cause) != sizeof cause)
		return false;
	bt_fail(err, cause == ENOENT ? BT_E_NOT_FOUND : BT_E_NOT_RECORDABLE, cause,
		"cannot execute %s", run->program);
	return true;
}

/* Opens the processor's branch source, if branches come from there. */
static int open_source(struct run *run, struct bt_error *err)
{
	int rc;

	if (run->mode->ops != &pmu_ops)
		return 0;
	if (run->options.recording.stop_point_count)
		return bt_fail(err, BT_E_MISUSE, 0,
			       "--snap-at needs ticks, which are unknown under --backend pmu");
	if (run->options.recording.function_count)
		return bt_fail(err, BT_E_MISUSE, 0,
			       "--snap-at-function needs code that is translated or stepped, "
			       "which --backend pmu does not do");
	if (!strcmp(run->mode->source, "auto") && !(run->source = pmu_choose(run->kernel, err)))
		return -(int)err->code;
	rc = pmu_open(&run->pmu, run->kernel, run->source, run->runner, err);
	if (rc)
		return rc;
	run->options.supervisor.pmu = &run->pmu;
	run->source_name = run->source ? run->source->name : "none";
	run->reason = run->pmu.how;
	if (run->pmu.lacking[0] && !run->options.quiet)
		say("%s", run->pmu.lacking);
	return 0;
}

/* Milliseconds that pass until the symbols of a run that failed are kept. */
static int keep_patience(const struct run *run)
{
	int patience = run->options.patience;

	return patience && run->options.wish.replayable && patience < CAUSE_REPLAYABLE_MS
		       ? CAUSE_REPLAYABLE_MS
		       : patience;
}

/* Of a program that left others running: the front has ended. */
static void keep_symbols(const struct run *run)
{
	struct cause cause;

	cause_begin(&cause, run->trace, CAUSE_KEEP_MS, 0);
	cause_end(&cause, keep_patience(run));
}

static int record_program(struct run *run)
{
	static const char *const fixed_environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
							"LC_ALL=C", NULL};
	struct rlimit limits[RLIM_NLIMITS];
	struct front_message m = {0};
	struct trace_writer *w;
	struct recording *r = &run->session;
	struct supervisor sup;
	struct bt_error err;
	pid_t pid;
	bool ended_early;

	run->launch = (struct launch){.path = run->program,
				      .argv = run->argv,
				      .envp = run->options.supervisor.deterministic
						      ? (char *const *)(uintptr_t)fixed_environment
						      : environ,
				      .actions = run->actions,
				      .mask = run->mask,
				      .limits = limits,
				      .fixed_addresses = run->options.supervisor.deterministic ||
							 run->options.no_aslr};
	limits_lift_own(limits);
	if (limits_room_of_own() < run->options.recording.history_memory)
		run->options.recording.history_memory = limits_room_of_own();
	if (open_source(run, &err))
		return fail_before_start(run, &err);
	if (make_trace(run, &w, &err)) {
		pmu_close(&run->pmu);
		return fail_before_start(run, &err);
	}
	pid = launch_seized(&run->launch, &run->exec_failure, &err);
	if (pid < 0) {
		pmu_close(&run->pmu);
		trace_writer_discard(w, run->trace);
		return fail_before_start(run, &err);
	}
	umask(077); /* the program has its own: under that one we might be unable to use our files
		     */
	front_program_born();
	inherited_drop(&run->inherited, 2);
	if (directory_cache(run->cache))
		run->options.supervisor.cache = run->options.recording.cache = run->cache;
	large_heap_begin();
	recording_init(r, w, &run->options.recording);
	run->options.supervisor.ticks = !run->options.recording.history;
	run->options.supervisor.late_start = run->options.recording.from;
	run->options.supervisor.tests = &run->options.tests;
	supervisor_init(&sup, &r->session, &r->observer, r->clock, &run->backend,
			&run->options.supervisor);
	if (run->pmu.lacking[0])
		supervisor_note(&sup, NULL, "%s", run->pmu.lacking);
	if (supervisor_adopt(&sup, pid, run->actions[SIGTRAP].sa_handler == SIG_IGN, &err)) {
		kill(pid, SIGKILL);
		supervisor_release(&sup);
		recording_close(r, &sup.outcome);
		return fail_before_start(run, &err);
	}
	sup.notify = notify_front;
	sup.notify_arg = run;
	sup.backend.tell_slow = tell_slow;
	sup.backend.tell_arg = run;
	sup.tick = &tick;
	sup.on_tick = on_tick;
	sup.on_tick_arg = run;
	start_timer(run, &sup);
	supervisor_run(&sup);
	control_close(&run->control, r);
	if (exec_failed(run, &err)) {
		supervisor_release(&sup);
		recording_discard(r, run->trace);
		return fail_before_start(run, &err);
	}
	run->dropped = run->options.only_crashes && ended_well(run, &sup);
	if (!run->dropped)
		link_latest(run, &sup);
	ended_early = !sup.notify;            /* the front knows already */
	(void)trace_writer_leave_code_out(w); /* before it is written, not only at the end */
	trace_writer_flush(w); /* now, so that the line says whether all of it could be written */
	if (!ended_early)
		tell_log_ended(run);
	summarize_recording(run, &sup, false, &m);
	supervisor_release(&sup);
	recording_close(r, &sup.outcome);
	m.dropped = run->dropped && !trace_remove(run->trace, NULL);
	if (!ended_early)
		send_message(run, &m);
	else if (!run->dropped && !run->options.no_symbols && m.tells)
		keep_symbols(run);
	return 0;
}

/* ---- The command ---- */

static void save_signals(struct run *run)
{
	for (int signo = 1; signo < NSIG; signo++)
		sigaction(signo, NULL, &run->actions[signo]);
	sigprocmask(SIG_SETMASK, NULL, &run->mask);
}

/* Removes what --keep and --max-size leave no room for. */
static void prune_traces(void *arg)
{
	const struct run *run = arg;
	struct shelf_limits limits = run->options.limits;
	char dir[BT_PATH_MAX], *slash;
	struct bt_error err;

	snprintf(dir, sizeof dir, "%s", run->trace);
	slash = strrchr(dir, '/');
	if (!slash || !(limits.has_count || limits.size))
		return;
	*slash = '\0';
	limits.spare = slash + 1;
	if (trace_shelf_prune(dir, &limits, false, NULL, NULL, &err))
		btrec_complain(&err);
}

static int start_recorder(struct run *run)
{
	int pipes[2];
	pid_t recorder;

	inherited_note(&run->inherited);
	save_signals(run);
	run->front_pid = getpid();
	front_shield(); /* before the fork: the front may pass a signal on before the recorder has
			   run at all */
	run->trace =
		mmap(NULL, BT_PATH_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run->trace == MAP_FAILED || pipe2(pipes, O_CLOEXEC) || (recorder = fork()) < 0) {
		say("cannot start the recorder: %s", strerror(errno));
		return OURS;
	}
	if (recorder == 0) {
		close(pipes[0]);
		run->front = pipes[1];
		_exit(record_program(run));
	}
	close(pipes[1]);
	inherited_drop(&run->inherited, 1); /* the front writes to stderr */
	inherited_release(&run->inherited);
	return front_wait(pipes[0], recorder,
			  &(struct front_options){.quiet = run->options.quiet,
						  .patience = run->options.patience,
						  .keep_patience = keep_patience(run),
						  .keep_symbols = !run->options.no_symbols,
						  .trace = run->trace,
						  .at_end = prune_traces,
						  .arg = run});
}

/* Asks the doctor. If nothing can record, the default backend stays, and its failure says why. */
static int choose_backend(struct run *run, struct bt_error *err)
{
	struct doctor *doctor = malloc(sizeof *doctor);

	if (!doctor)
		return bt_no_memory(err, NULL);
	doctor_init(doctor, machine_here());
	doctor_presume(doctor, DOCTOR_PTRACE); /* about to be tried in earnest */
	doctor_hurry(doctor);
	doctor_choose(doctor, &run->choice);
	if (run->choice.backend)
		run->options.wish.backend = run->choice.backend;
	free(doctor);
	return 0;
}

/* Finds the row of the table that fits the user's options. */
static int choose_mode(struct run *run, struct bt_error *err)
{
	bool wished = strcmp(run->options.wish.backend, "auto") != 0 ||
		      strcmp(run->options.wish.source, "auto") != 0 || run->options.wish.replayable;
	int rc = wished ? 0 : choose_backend(run, err);

	if (rc)
		return rc;
	rc = mode_find(&run->options.wish, &run->mode, err);
	if (rc)
		return rc;
	run->backend = *run->mode->ops;
	run->source_name = run->mode->source;
	run->reason = wished ? "asked for" : run->choice.reason;
	if (!strcmp(run->mode->source, "none"))
		run->options.recording.history = 0;
	run->options.recording.replayable = run->options.supervisor.logged =
		run->options.wish.replayable;
	run->options.supervisor.parallel =
		run->options.wish.parallel && run->mode->ops == &engine_ops;
	if (run->mode->ops != &pmu_ops)
		return 0;
	run->backend.native = run->runner->native;
	run->source = branch_source_find(run->mode->source);
	if (!run->source && strcmp(run->mode->source, "auto") != 0 &&
	    strcmp(run->mode->source, "none") != 0)
		return bt_fail(err, BT_E_UNSUPPORTED, 0, "--source %s: not in this version",
			       run->mode->source);
	return 0;
}

/* Filters of containers may refuse it. */
static int check_no_aslr(struct bt_error *err)
{
	unsigned long own = (unsigned long)personality(0xffffffff);

	if (personality(own | ADDR_NO_RANDOMIZE) < 0)
		return bt_fail(err, BT_E_PERMISSION, errno,
			       "--no-aslr: personality(2) is refused here");
	personality(own);
	return 0;
}

/* A name that is not known is no error: code that is loaded later may have it. */
static int find_from(struct run *run, struct bt_error *err)
{
	bool known;
	int rc;

	run->from = run->options.recording.from;
	if (!run->from)
		return 0;
	rc = from_names_find(run->program, run->from, run->from_address, &known, err);
	if (rc)
		return rc;
	if (*run->from_address)
		run->options.recording.from = run->from_address;
	if (!known)
		say("--from: no function %s in %s and the libraries that it starts with: it is "
		    "waited for in what is loaded later",
		    run->from, run->program);
	return 0;
}

static int run_command(struct run *run, int argc, char **argv)
{
	struct bt_error err;
	int at = run_options_parse(&run->options, argc, argv, &err), status;

	if (at >= 0 && run->options.help) {
		puts("Usage: btrec run [OPTIONS] [--] PROGRAM [ARG...]\nRecords a program and "
		     "everything it starts; ends as the program ends.\n\nOptions:");
		run_options_help(stdout);
		return 0;
	}
	if (at >= 0 && at >= argc)
		at = bt_fail(&err, BT_E_MISUSE, 0, "run: no program given (see btrec run --help)");
	if (at < 0 || choose_mode(run, &err)) {
		btrec_complain(&err);
		return OURS;
	}
	run->argv = argv + at;
	if (program_find(argv[at], run->program, &err)) {
		status = btrec_complain(&err);
		return status == 126 || status == 127 ? status : OURS;
	}
	if ((run->options.no_aslr && check_no_aslr(&err)) || find_from(run, &err) ||
	    proc_mount_check("recording", &err)) {
		btrec_complain(&err);
		return OURS;
	}
	return start_recorder(run);
}

int btrec_run_on(int argc, char **argv, const struct perf_kernel *kernel,
		 const struct backend_ops *runner)
{
	struct run *run = calloc(1, sizeof *run);
	int status;

	if (!run) {
		say("out of memory");
		return OURS;
	}
	run_options_init(&run->options);
	run->kernel = kernel;
	run->runner = runner;
	status = run_command(run, argc, argv);
	run_options_release(&run->options);
	free(run);
	return status;
}

int btrec_run(int argc, char **argv) { return btrec_run_on(argc, argv, &perf_kernel, &native_ops); }
