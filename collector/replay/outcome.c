/* SPDX-License-Identifier: MIT */
#include "collector/replay/outcome.h"

#include <signal.h>

void outcome_finish(struct replaying *r, const struct task *task)
{
	r->done = true;
	kill(task->process->host_pid, SIGKILL);
}

void outcome_fail(struct replaying *r, const struct task *task, enum bt_error_code code,
		  const char *what)
{
	bt_fail(&r->failure, code, 0, "%s", what);
	outcome_finish(r, task);
}

void outcome_diverge(struct replaying *r, struct task *task, enum divergence_kind kind,
		     const char *came)
{
	struct divergence *d = &r->divergence;
	const struct bt_regs *regs = log_event_regs(&r->log.now.event);

	if (d->kind || r->failure.code)
		return;
	if (r->log.of_calls)
		log_reader_complete(&r->log, task);
	*d = (struct divergence){.kind = kind,
				 .seq = r->log.of_calls ? r->met : log_event_seq(&r->log.now.event),
				 .is_behind = r->log.of_calls,
				 .task = task->number,
				 .has_points = true,
				 .expected_at = *log_event_point(&r->log.now.event),
				 .came_at = task_point(task),
				 .has_regs = regs != NULL,
				 .came_regs = task->regs};
	if (regs)
		d->expected_regs = *regs;
	log_event_name(&r->log.now.event, log_reader_is_compat(&r->log), d->expected);
	divergence_came(d, came);
	outcome_finish(r, task);
}

void outcome_diverge_in_tick(struct replaying *r, struct task *task, uint64_t tick)
{
	if (r->divergence.kind)
		return;
	outcome_diverge(r, task, DIVERGENCE_POINT,
			r->log.now.event.kind == BT_RECORD_LOG_CALL ? "the call at another tick"
								    : "it at another tick");
	r->divergence.ticks_only = true;
	r->divergence.came_at.tick = tick;
	r->divergence.has_regs = false;
}

bool outcome_compare(struct replaying *r, struct task *task, const char *came)
{
	const struct bt_regs *regs = log_event_regs(&r->log.now.event);
	struct bt_point now = task_point(task);

	if (r->log.of_calls)
		log_reader_complete(&r->log, task);
	if (!bt_point_is(&now, log_event_point(&r->log.now.event)))
		outcome_diverge(r, task, DIVERGENCE_POINT, came);
	else if (regs && divergence_regs_differ(regs, &task->regs))
		outcome_diverge(r, task, DIVERGENCE_REGISTERS, came);
	else
		return true;
	return false;
}
