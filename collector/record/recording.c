/* SPDX-License-Identifier: MIT */
/* The session's table, and the life of a recording and of what it keeps of processes and tasks. */
#include "collector/record/recording.h"

#include <stdlib.h>

#include "collector/record/first_message.h"
#include "collector/record/first_signs.h"
#include "collector/record/record_observer.h"
#include "collector/record/recording_private.h"

#define FLUSH_INTERVAL_NS 1000000000u

enum {
	SYSCALLS_PER_RECORD =
		1 << 14, /* about; fewer when something else is to be told of the task */
};

static bool on_new_process(struct session *session, struct supervisor *sup, struct process *process,
			   const struct process *before)
{
	(void)session;
	(void)sup;
	process->record = calloc(1, sizeof *process->record);
	/* A fork's child has its parent's disarmed functions, and budgets of its own. */
	if (process->record)
		process->record->rearm_at = 1;
	if (process->record && before)
		process->record->request_mark = before->record->request_mark;
	return process->record;
}

static void on_forget_process(struct session *session, struct supervisor *sup,
			      struct process *process)
{
	(void)session;
	(void)sup;
	if (process->record) {
		first_message_free(process->record->message);
		free(process->record->signs);
	}
	free(process->record);
	process->record = NULL;
}

static bool on_new(struct session *session, struct supervisor *sup, struct task *task)
{
	struct recording *r = recording_of(session);
	struct ring_state start = {.space = task->process->space->number,
				   .epoch = task->process->space->epoch};

	task->record = calloc(1, sizeof *task->record);
	if (!task->record)
		return false;
	task->record->log = r->options.replayable ? &r->log : NULL;
	if (!sup->backend.ops->tick_classes)
		start.tick = BT_TICKS_UNKNOWN;
	if (task->number != r->log.task)
		replay_log_end(&r->log, "the program makes another process or thread");
	task->history = r->options.history;
	branch_ring_init(&task->ring, task->history, &start);
	recording_set_stop_points(r, sup, task);
	return true;
}

static void on_stop(struct session *session, struct supervisor *sup, struct task *task,
		    bool goes_on)
{
	struct recording *r = recording_of(session);

	history_limit_count(r, sup, task);
	if (!goes_on || task->record->count >= SYSCALLS_PER_RECORD)
		record_write_syscalls(r->writer, task);
	if (!goes_on)
		function_moments_rearm(r, task);
}

static void on_instruction(struct session *session, struct supervisor *sup, struct task *task)
{
	(void)sup;
	replay_log_instruction(&recording_of(session)->log, task);
}

static void on_forget(struct session *session, struct supervisor *sup, struct task *task)
{
	(void)sup;
	if (!task->record)
		return;
	history_limit_discount(recording_of(session), task);
	buf_release(&task->record->bytes);
	buf_release(&task->record->details);
	free(task->record);
	task->record = NULL;
}

/* Hands what is buffered to the kernel when a second has passed since the last time. */
static void flush_due(struct recording *r)
{
	uint64_t now = bt_clock_now(r->clock);

	if (now - r->last_flush < FLUSH_INTERVAL_NS)
		return;
	r->last_flush = now;
	trace_writer_flush(r->writer);
}

static void on_tick(struct session *session, struct supervisor *sup)
{
	struct recording *r = recording_of(session);

	history_limit_count_all(r, sup);
	function_moments_look(r, sup);
	flush_due(r);
}

void recording_init(struct recording *r, struct trace_writer *w,
		    const struct recording_options *options)
{
	static const struct session_ops ops = {
		.on_new_process = on_new_process,
		.on_forget_process = on_forget_process,
		.on_new = on_new,
		.on_start = recording_on_start,
		.on_exec = recording_on_exec,
		.on_program = recording_on_program,
		.on_stop = on_stop,
		.on_slice = recording_on_slice,
		.on_stop_point = recording_on_stop_point,
		.on_function = recording_on_function,
		.on_instruction = on_instruction,
		.on_syscall_enter = recording_on_syscall_enter,
		.on_syscall_exit = recording_on_syscall_exit,
		.on_request = recording_on_request,
		.on_signal = recording_on_signal,
		.on_handler = recording_on_handler,
		.on_switch = recording_on_switch,
		.on_exit = recording_on_exit,
		.on_detach = recording_on_detach,
		.on_forget = on_forget,
		.on_tick = on_tick,
		.on_native_stop = recording_on_native_stop,
		.on_late_start = recording_on_late_start,
		.on_orphan = recording_on_orphan,
	};

	*r = (struct recording){
		.session = {.ops = &ops},
		.writer = w,
		.clock = trace_writer_clock(w),
		.observer = record_observer(w),
		.options = *options,
		.signs = first_signs_new(options->functions, options->function_count)};
	if (options->replayable)
		replay_log_init(&r->log, w, options->log_size, options->cache);
	if (r->signs)
		r->session.finder = first_signs_finder(r->signs);
}

bool recording_found_function(const struct recording *r, size_t i)
{
	return r->signs && first_signs_found(r->signs, i);
}

void recording_close(struct recording *r, const struct supervisor_outcome *outcome)
{
	struct bt_record_end rec = {.kind = (uint8_t)outcome->kind,
				    .status = (uint32_t)outcome->status};

	if (!outcome->ended)
		rec.kind = BT_EXIT_UNKNOWN;
	rec.code_left_out = trace_writer_leave_code_out(r->writer);
	RECORDING_EVENT(r, 0, END, &rec);
	trace_writer_close(r->writer);
	first_signs_free(r->signs);
	r->signs = NULL;
	replay_log_release(&r->log);
}

void recording_discard(struct recording *r, const char *dir)
{
	trace_writer_discard(r->writer, dir);
	first_signs_free(r->signs);
	r->signs = NULL;
	replay_log_release(&r->log);
}
