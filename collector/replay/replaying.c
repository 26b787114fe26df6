/* SPDX-License-Identifier: MIT */
/* The log's present event is the one that comes next. Calls and faults come by themselves: they are
 * compared when they do, and missed when the task is far behind them. An asynchronous signal, or an
 * end by a signal, comes at a point where the task is stopped for it (stop_point.h). */
#include "collector/replay/replaying.h"

#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "collector/replay/effects.h"
#include "collector/replay/host.h"
#include "collector/replay/kept_parts.h"
#include "collector/replay/outcome.h"
#include "collector/replay/silent_observer.h"
#include "collector/replay/told_output.h"
#include "collector/replay/unheard_events.h"
#include "collector/tracee/tracee.h"
#include "format/log_values.h"
#include "syscalls/syscall_names.h"

/* Ticks behind an event that has not come by itself until it is given up. */
enum { OVERRUN = 1 << 20 };

static struct replaying *replaying_of(struct session *session)
{
	return (struct replaying *)session;
}

/* ---- Destinations ---- */

/* The next destination, if it is a point of the task's; NULL: it is none. raised: a signal has been
 * raised. */
static const struct destination *next_point(const struct replaying *r, const struct task *task,
					    bool raised)
{
	const struct destination *p = r->options.destinations + r->destination;

	return r->destination < r->options.destination_count && p->kind != DESTINATION_END &&
			       p->at.task == task->number && (raised || !p->raised)
		       ? p
		       : NULL;
}

/* Sets the task's stop point: the first of the next destination, event and pause. */
static void set_stop_point(struct replaying *r, struct supervisor *sup, struct task *task)
{
	const struct destination *p = next_point(r, task, false);
	const struct stop_point *first = &r->next;

	if (r->options.pause && r->destination) {
		r->pause = (struct stop_point){.task = task->number,
					       .at.tick = task_tick(task) + r->options.pause};
		if (stop_point_compare(&r->pause, first) < 0)
			first = &r->pause;
	}
	if (p && stop_point_compare(&p->at, first) <= 0)
		first = &p->at;
	sup->backend.ops->stop_at(&sup->backend, task, first);
}

/* The task is at the next destination. */
static void come_to_destination(struct replaying *r, struct supervisor *sup, struct task *task)
{
	r->options.on_destination(r->options.arg, sup, task, r->destination++);
}

/* The task stands between two instructions, or where an event comes: serves destinations there.
 * False: the replay ends here. */
static bool serve_destinations(struct replaying *r, struct supervisor *sup, struct task *task,
			       bool raised)
{
	enum stop_point_side side;
	const struct destination *p;

	while ((p = next_point(r, task, raised)) &&
	       (side = stop_point_side_of(&p->at, task)) != STOP_POINT_AHEAD) {
		r->passed = side == STOP_POINT_PASSED;
		if (!r->passed)
			come_to_destination(r, sup, task);
		if (r->passed || r->destination == r->options.destination_count) {
			sup->backend.ops->stop_at(&sup->backend, task, NULL);
			outcome_finish(r, task);
			return false;
		}
		set_stop_point(r, sup, task);
	}
	return true;
}

/* Nothing more of the log is to come. */
static void serve_end(struct replaying *r, struct supervisor *sup, struct task *task)
{
	const struct destination *p = r->options.destinations + r->destination;

	if (r->destination < r->options.destination_count && p->kind == DESTINATION_END &&
	    !r->log.now.damage)
		come_to_destination(r, sup, task);
}

/* ---- The next event ---- */

/* rcx may be a result. */
static bool is_same_place(const struct bt_point *a, const struct bt_point *b)
{
	return a->tick == b->tick && a->transfers == b->transfers && a->rip == b->rip;
}

/* Whether the task, which has just met an event, is stopped where the next one comes. A signal that
 * comes at once was sent in the call, or is of a frame that sigreturn found wrong; or the next
 * instruction would raise it, which makes no difference. */
static bool is_stopped_for(const struct task *task, const struct bt_record *rec)
{
	const struct bt_point *at = log_event_point(rec);
	struct bt_point now;

	if (rec->kind != BT_RECORD_LOG_SIGNAL)
		return rec->kind == BT_RECORD_LOG_EXIT && rec->u.log_exit.kind == BT_EXIT_SIGNAL;
	now = task_point(task);
	return log_event_is_given(rec) || is_same_place(&now, at);
}

/* Where a task that is to be stopped for the event is. */
static struct stop_point stop_of(const struct task *task, const struct bt_record *rec)
{
	struct stop_point stop = {
		.task = task->number, .at = *log_event_point(rec), .iteration = true};
	uint64_t dispatched = log_event_dispatched_from(rec);

	if (dispatched)
		stop.at.rip = dispatched;
	if (dispatched || rec->kind == BT_RECORD_LOG_EXIT)
		stop.iteration = host_repeats(task->host_tid, stop.at.rip);
	return stop;
}

static struct stop_point far_behind(const struct task *task, uint64_t tick)
{
	return (struct stop_point){.task = task->number, .at.tick = tick + OVERRUN};
}

/* The event behind the calls that are queued. NULL: it is not known, or there is none. */
static const struct bt_record *event_behind(const struct replaying *r)
{
	const struct log_item *behind = &r->log.behind;

	return r->log.has_behind && !behind->over && !log_event_is_nothing(&behind->event)
		       ? &behind->event
		       : NULL;
}

/* Where a task that comes to calls that are queued is stopped next. */
static struct stop_point stop_behind_calls(const struct replaying *r, const struct task *task)
{
	const struct bt_logged_call *calls;
	size_t n = log_reader_calls(&r->log, &calls);
	const struct bt_record *behind = event_behind(r);

	return behind && log_event_needs_stop(behind) ? stop_of(task, behind)
						      : far_behind(task, calls[n - 1].tick);
}

/* Goes on to the next event that means something, and sets the stop point that it needs. */
static void replay_advance(struct replaying *r, struct supervisor *sup, struct task *task)
{
	bool more;

	r->events += r->begun;
	if (r->begun && r->options.on_event)
		r->options.on_event(r->options.arg, task, log_event_seq(&r->log.now.event));
	if (log_event_seq(&r->log.now.event))
		r->met = log_event_seq(&r->log.now.event);
	do
		more = log_reader_next(&r->log);
	while (more && log_event_is_nothing(&r->log.now.event));
	if (!more) {
		sup->backend.ops->stop_at(&sup->backend, task, NULL);
		serve_end(r, sup, task);
		outcome_finish(r, task);
		return;
	}
	/* A handler is entered for a signal, whose event comes before. */
	if (r->log.now.event.kind == BT_RECORD_LOG_HANDLER && !r->delivers) {
		outcome_diverge(r, task, DIVERGENCE_EVENT, "no signal");
		return;
	}
	r->next = stop_of(task, &r->log.now.event);
	r->stops = is_stopped_for(task, &r->log.now.event);
	if (!r->stops)
		r->next = r->log.of_calls ? stop_behind_calls(r, task)
					  : far_behind(task, r->next.at.tick);
	set_stop_point(r, sup, task);
}

static void replay_note_end(struct replaying *r, struct supervisor *sup, struct task *task)
{
	const struct bt_record_log_exit *e = &r->log.now.event.u.log_exit;

	r->end = (struct task_end){.kind = (enum bt_exit_kind)e->kind, .status = (int)e->status};
	r->events++;
	serve_end(r, sup, task);
	outcome_finish(r, task);
}

/* Goes on behind a signal that is the present event. False: the replay ends there. */
static bool pass_signal(struct replaying *r, struct supervisor *sup, struct task *task)
{
	r->delivers = true;
	replay_advance(r, sup, task);
	r->delivers = false;
	return !r->done;
}

/* Whether the present event is the SIGSEGV that comes in the place of a handler whose frame has no
 * room on the stack. */
static bool comes_for_frame(const struct replaying *r)
{
	const struct bt_record *event = &r->log.now.event;

	return event->kind == BT_RECORD_LOG_SIGNAL && event->u.log_signal.signo == SIGSEGV;
}

/* The present event is a signal that the task has come to. If a handler was entered, the task
 * stands at its first instruction behind this. */
static void replay_deliver_signal(struct replaying *r, struct supervisor *sup, struct task *task)
{
	struct bt_branch entry = {.kind = BT_BRANCH_ASYNC, .flags = BT_BRANCH_TAKEN};
	bool handled;

	do {
		handled = r->log.now.event.u.log_signal.action == BT_ACTION_HANDLER;
		if (!pass_signal(r, sup, task))
			return;
		if (handled && comes_for_frame(r) &&
		    !(effects_apply(r, task) && serve_destinations(r, sup, task, true) &&
		      outcome_compare(r, task, "its point")))
			return;
	} while (handled && comes_for_frame(r));
	entry.from = task->regs.rip;
	/* SIGKILL may come before a handler is entered, or before the recorder hears of that. */
	if (r->log.now.event.kind == BT_RECORD_LOG_EXIT &&
	    (!handled || r->log.now.event.u.log_exit.kind == BT_EXIT_SIGNAL)) {
		replay_note_end(r, sup, task);
		return;
	}
	if (!handled) {
		outcome_diverge(r, task, DIVERGENCE_EVENT, "a deadly signal");
		return;
	}
	if (r->log.now.event.kind != BT_RECORD_LOG_HANDLER) {
		outcome_diverge(r, task, DIVERGENCE_EVENT, "a signal with a handler");
		return;
	}
	if (!effects_apply(r, task))
		return;
	entry.to = task->regs.rip;
	task_epoch(task);
	task_branch(task, &entry, false);
	if (outcome_compare(r, task, "the handler"))
		replay_advance(r, sup, task);
}

/* ---- Operations ---- */

/* The host's own program has been executed, and goes before its first instruction. */
static void on_program(struct session *session, struct supervisor *sup, struct task *task)
{
	struct replaying *r = replaying_of(session);

	if (host_confine(task->host_tid, r->options.memory, &r->failure)) {
		outcome_finish(r, task);
		return;
	}
	task->process->filter_is_ours = true;
	if (!log_reader_next(&r->log) && !r->log.now.cut_off && !r->log.now.damage) {
		bt_fail(&r->failure, BT_E_TRUNCATED, 0,
			"the log ended before the program began: %s", r->log.now.reason);
		outcome_finish(r, task);
		return;
	}
	if (r->log.now.over || r->log.now.event.kind != BT_RECORD_LOG) {
		bt_fail(&r->failure, r->log.now.cut_off ? BT_E_TRUNCATED : BT_E_CORRUPT, 0, "%s",
			!r->log.now.cut_off ? "the log does not begin with a program"
			: r->log.trace->being_written
				? "the log has no program yet: it is still being written"
				: "the log was cut off before the program began");
		outcome_finish(r, task);
		return;
	}
	if (r->log.now.event.u.log.version > BT_LOG_VERSION) {
		outcome_fail(r, task, BT_E_UNSUPPORTED, "the log is of a later version of btrec");
		return;
	}
	r->tells_saved_parts = r->log.now.event.u.log.version >= BT_LOG_SAVED_PARTS;
	if (!effects_apply(r, task))
		return;
	address_space_refresh(task->process->space, task->host_tid);
	if (!outcome_compare(r, task, "the beginning"))
		return;
	replay_advance(r, sup, task);
	r->begun = true;
}

static void on_stop(struct session *session, struct supervisor *sup, struct task *task,
		    bool goes_on)
{
	const struct replaying *r = replaying_of(session);

	if (r->options.on_stop && !goes_on && !r->done)
		r->options.on_stop(r->options.arg, sup, task);
}

static void on_stop_point(struct session *session, struct supervisor *sup, struct task *task,
			  enum stop_point_side side)
{
	struct replaying *r = replaying_of(session);

	if (!serve_destinations(r, sup, task, false))
		return;
	if (task->stop_point == &r->pause)
		set_stop_point(r, sup, task);
	if (task->stop_point != &r->next)
		return;
	side = stop_point_side(task);
	if (side == STOP_POINT_AHEAD)
		return;
	if (side != STOP_POINT_HERE || !r->stops) {
		sup->backend.ops->stop_at(&sup->backend, task, NULL);
		outcome_diverge(r, task, DIVERGENCE_POINT, "a point behind it");
		return;
	}
	if (r->log.now.event.kind == BT_RECORD_LOG_EXIT) {
		sup->backend.ops->stop_at(&sup->backend, task, NULL);
		replay_note_end(r, sup, task);
		return;
	}
	effects_begin_signal(r, task);
	if (outcome_compare(r, task, "its point") && serve_destinations(r, sup, task, true))
		replay_deliver_signal(r, sup, task);
	if (r->done)
		sup->backend.ops->stop_at(&sup->backend, task, NULL);
}

/* The task has executed an instruction that raised a signal in the recording: the system there
 * forbade it to the program (PR_SET_TSC and ARCH_SET_CPUID, whose calls are not made in a replay),
 * or the processor lacked it. It wrote registers alone, and which is not known: they are the
 * recorded ones again. */
static void raise_instead(struct replaying *r, struct supervisor *sup, struct task *task)
{
	task->regs = r->log.now.event.u.log_signal.regs;
	task->regs.orig_rax = UINT64_MAX;
	if (effects_set_regs(r, task) && serve_destinations(r, sup, task, true) &&
	    outcome_compare(r, task, "its point"))
		replay_deliver_signal(r, sup, task);
}

static void on_instruction(struct session *session, struct supervisor *sup, struct task *task)
{
	static const char came[] = "an instruction with a result of its own";
	struct replaying *r = replaying_of(session);
	const struct bt_record_log_instruction *i = &r->log.now.event.u.log_instruction;
	struct bt_point now = task_point(task);

	/* A call of the vsyscall page may end in the signal of a filter. */
	if (r->done || !r->begun || (task->has_saved_parts && !r->tells_saved_parts) ||
	    (task->left_vsyscall && r->stops &&
	     stop_point_side_of(&r->next, task) == STOP_POINT_HERE))
		return;
	if (r->log.now.event.kind == BT_RECORD_LOG_SIGNAL && r->log.now.event.u.log_signal.sync &&
	    log_point_is_next(&r->log.now.event.u.log_signal.point, &now)) {
		raise_instead(r, sup, task);
		return;
	}
	if (r->log.now.event.kind != BT_RECORD_LOG_INSTRUCTION) {
		outcome_diverge(r, task, DIVERGENCE_EVENT, came);
		return;
	}
	if (r->log.of_calls &&
	    !host_instruction_ends(task->host_tid, task->regs.rip, log_reader_form(&r->log))) {
		outcome_diverge(r, task, DIVERGENCE_EVENT, came);
		return;
	}
	if (r->log.of_calls)
		log_reader_complete(&r->log, task);
	/* rcx may be a result. */
	task->regs.rcx = i->regs.rcx;
	if (!outcome_compare(r, task, came) || !effects_apply(r, task))
		return;
	task->regs = i->regs;
	task->regs.orig_rax = UINT64_MAX;
	if (effects_set_regs(r, task))
		replay_advance(r, sup, task);
}

static bool ends_task(const struct task *task)
{
	return syscall_is(&task->syscall, SYS_exit) || syscall_is(&task->syscall, SYS_exit_group);
}

static void on_syscall_enter(struct session *session, struct supervisor *sup, struct task *task)
{
	struct replaying *r = replaying_of(session);
	char came[80], name[SYSCALL_NAME_MAX];

	if (r->done || (r->begun && !serve_destinations(r, sup, task, false)))
		return;
	snprintf(came, sizeof came, task->syscall.compat ? "the %s" : "the system call %s",
		 (task->syscall.compat ? syscall_name_32 : syscall_name)(task->syscall.nr, name));
	if (r->log.now.event.kind == BT_RECORD_LOG_EXIT && ends_task(task)) {
		if (outcome_compare(r, task, came)) /* the last look at its memory */
			serve_end(r, sup, task);
		return;
	}
	/* A signal that was never delivered ended it in the call. */
	if (r->log.now.event.kind == BT_RECORD_LOG_EXIT && r->stops) {
		if (outcome_compare(r, task, came))
			replay_note_end(r, sup, task);
		return;
	}
	if (r->log.now.event.kind != BT_RECORD_LOG_CALL)
		outcome_diverge(r, task, DIVERGENCE_EVENT, came);
	else
		(void)outcome_compare(r, task, came);
}

static bool answers_call(struct session *session, struct supervisor *sup, struct task *task)
{
	const struct replaying *r = replaying_of(session);

	(void)sup;
	if (!r->begun || (r->log.now.event.kind == BT_RECORD_LOG_EXIT && ends_task(task)))
		return false;
	/* The task leaves the call at the same address as in the recording: the history has a
	 * signal's return. */
	for (size_t i = 0; i < r->log.now.count; i++)
		if (r->log.now.effects[i].kind == BT_RECORD_LOG_STATE)
			task->regs.rip = r->log.now.effects[i].u.state.regs.rip;
	return true;
}

static void on_syscall_exit(struct session *session, struct supervisor *sup, struct task *task,
			    const struct bt_point *at, uint64_t result)
{
	struct replaying *r = replaying_of(session);
	struct bt_record_log_call call;

	(void)at;
	(void)result;
	if (!r->begun || r->done)
		return;
	call = r->log.now.event.u.log_call;
	task->regs = call.regs;
	task->regs.rax = call.result;
	task->regs.orig_rax = UINT64_MAX;
	if (!effects_apply(r, task))
		return;
	replay_advance(r, sup, task);
	/* The kernel makes an interrupted call again, unless a handler is entered first. */
	if (r->done || !call.again || (r->stops && r->next.at.rip == task->regs.rip))
		return;
	task->regs.rip -= 2;
	task->regs.rax = tracee_restarted_call(&call.regs, call.result);
	(void)effects_set_regs(r, task);
}

/* How many calls that are queued the backend may answer: none that a signal broke off, none whose
 * output is not all there, none from the next destination's tick on. The last one comes at a stop
 * if it is not known what comes behind it: the task may have to be stopped for that, or the replay
 * ends there. */
static size_t count_answerable(const struct replaying *r, const struct task *task,
			       const struct bt_logged_call *calls, size_t n)
{
	const struct destination *p = next_point(r, task, true);
	size_t i = 0;

	n -= !event_behind(r);
	while (i < n && !calls[i].again &&
	       effects_are_the_programs(task, &calls[i], log_reader_shape(&r->log, i)) &&
	       (!calls[i].told || calls[i].output.bytes.len == calls[i].result) &&
	       !(p && calls[i].tick >= p->at.at.tick))
		i++;
	return i;
}

static size_t calls_ahead(struct session *session, struct supervisor *sup, struct task *task,
			  const struct bt_logged_call **calls, uint64_t *passed)
{
	const struct replaying *r = replaying_of(session);
	size_t n;

	(void)sup;
	*passed = r->log.passed;
	if (!r->begun || r->done || !r->log.of_calls || r->log.has_effects || r->options.on_event)
		return 0;
	n = log_reader_calls(&r->log, calls);
	return count_answerable(r, task, *calls, n);
}

static void on_calls_answered(struct session *session, struct supervisor *sup, struct task *task,
			      size_t n, const uint64_t *ticks)
{
	struct replaying *r = replaying_of(session);
	const struct bt_logged_call *calls;
	size_t same = 0;

	log_reader_calls(&r->log, &calls);
	for (; same < n && (!ticks || ticks[same] == calls[same].tick); same++) {
		if (calls[same].output.stream && r->options.output)
			output_repeat(calls[same].output.stream, calls[same].output.bytes,
				      &r->unwritten);
		if (log_reader_shape(&r->log, same))
			effect_shape_made(task, log_reader_shape(&r->log, same));
	}
	if (same) {
		r->events += same - 1;
		log_reader_pass(&r->log, same);
		replay_advance(r, sup, task);
	}
	if (same < n)
		outcome_diverge_in_tick(r, task, ticks[same]);
}

/* Where the present event has the instruction behind it at which the task is. 0: it is no such
 * event. */
static uint64_t end_of_instruction(const struct replaying *r, const struct task *task)
{
	const struct bt_record *event = &r->log.now.event;
	struct bt_point now = task_point(task);

	if (event->kind != BT_RECORD_LOG_INSTRUCTION)
		return 0;
	if (r->log.of_calls)
		return host_instruction_end(task->host_tid, now.rip, log_reader_form(&r->log));
	return log_point_is_next(&now, log_event_point(event)) ? log_event_point(event)->rip : 0;
}

static bool answers_signal(struct session *session, struct supervisor *sup, struct task *task,
			   const struct arrived_signal *signal)
{
	struct replaying *r = replaying_of(session);
	struct bt_point now;
	uint64_t behind;
	char came[80];

	/* Somebody has sent it, now: the terminal, say, to all of its process group. What was sent
	 * in the recording comes at its point, by replay_deliver_signal(). */
	if (!signal->sync)
		return true;
	if (r->done || !r->begun)
		return false;
	if (!serve_destinations(r, sup, task, true))
		return true;
	now = task_point(task);
	if (r->log.now.event.kind == BT_RECORD_LOG_INSTRUCTION &&
	    is_same_place(&now, log_event_point(&r->log.now.event))) {
		/* The program steps itself (EFLAGS.TF): the result comes before the trap. */
		on_instruction(session, sup, task);
		if (r->done)
			return true;
	}
	behind = end_of_instruction(r, task);
	if (behind) {
		/* The reverse: it has a result in the log. */
		task->regs.rip = behind;
		on_instruction(session, sup, task);
		return true;
	}
	r->signo = signal->info->si_signo;
	snprintf(came, sizeof came, "signal %d", r->signo);
	if (r->log.now.event.kind != BT_RECORD_LOG_SIGNAL || !r->log.now.event.u.log_signal.sync ||
	    (int)r->log.now.event.u.log_signal.signo != signal->info->si_signo)
		outcome_diverge(r, task, DIVERGENCE_EVENT, came);
	else if (outcome_compare(r, task, came)) {
		r->signo = 0;
		replay_deliver_signal(r, sup, task);
	}
	return true;
}

static void on_exit_of_task(struct session *session, struct supervisor *sup, struct task *task,
			    const struct task_end *end)
{
	struct replaying *r = replaying_of(session);
	const struct bt_record_log_exit *e = &r->log.now.event.u.log_exit;
	char came[80];

	if (r->done)
		return;
	/* Of the host's own doing there is none: a recorded one ends it at its point. */
	if (end->kind == BT_EXIT_SIGNAL && end->status == SIGKILL) {
		outcome_fail(
			r, task, BT_E_GONE,
			"the replaying process was killed (SIGKILL): by somebody, or by the kernel "
			"for want of memory");
		return;
	}
	if (!r->begun || r->log.now.over || r->log.now.event.kind != BT_RECORD_LOG_EXIT ||
	    (int)e->status != end->status || e->kind != end->kind) {
		if (end->kind == BT_EXIT_SIGNAL && end->status == SIGSYS)
			snprintf(came, sizeof came,
				 "a system call past the replay: its filter ended the process");
		else
			snprintf(came, sizeof came, "its end by %s %d",
				 end->kind == BT_EXIT_SIGNAL ? "signal" : "status", end->status);
		outcome_diverge(r, task, DIVERGENCE_END, came);
	} else if (outcome_compare(r, task, "its end")) {
		replay_note_end(r, sup, task);
	}
}

static void on_detach(struct session *session, struct supervisor *sup, struct task *task,
		      const char *reason, bool in_memory)
{
	(void)sup;
	(void)in_memory;
	outcome_fail(replaying_of(session), task, BT_E_IO, reason);
}

/* ---- Begin and end ---- */

int replaying_init(struct replaying *r, const struct trace *t,
		   const struct replaying_options *options, struct bt_error *err)
{
	static const struct session_ops ops = {
		.on_new_process = kept_parts_new_process,
		.on_forget_process = kept_parts_forget_process,
		.on_new = kept_parts_new,
		.on_start = unheard_task,
		.on_exec = unheard_task,
		.on_program = on_program,
		.on_stop = on_stop,
		.on_slice = unheard_task,
		.on_stop_point = on_stop_point,
		.on_instruction = on_instruction,
		.on_syscall_enter = on_syscall_enter,
		.answers_call = answers_call,
		.calls_ahead = calls_ahead,
		.on_calls_answered = on_calls_answered,
		.on_syscall_exit = on_syscall_exit,
		.on_request = unheard_request,
		.on_signal = unheard_signal,
		.answers_signal = answers_signal,
		.on_handler = unheard_task,
		.on_switch = unheard_switch,
		.on_exit = on_exit_of_task,
		.on_detach = on_detach,
		.on_forget = kept_parts_forget,
		.on_tick = unheard_tick,
	};
	int rc;

	*r = (struct replaying){
		.session = {.ops = &ops},
		.observer = options->observer ? *options->observer
					      : (struct observer){.ops = &silent_observer_ops},
		.options = *options,
		.end = {.kind = BT_EXIT_UNKNOWN}};
	rc = log_reader_open(&r->log, t, options->memory, err);
	if (!rc && r->log.has_processor)
		processor_offer_read(&r->here);
	return rc;
}

void replaying_release(struct replaying *r) { log_reader_close(&r->log); }
