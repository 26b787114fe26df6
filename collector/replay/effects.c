/* SPDX-License-Identifier: MIT */
#include "collector/replay/effects.h"

#include <inttypes.h>
#include <stdio.h>

#include "collector/replay/extended_state.h"
#include "collector/replay/outcome.h"
#include "collector/replay/told_output.h"
#include "collector/tracee/tracee.h"
#include "format/log_values.h"

/* Tells the space which file's bytes these pages have, so that fragments kept of its code can be
 * used. */
static void tell_origin(struct address_space *space, const struct bt_record_log_shape *s)
{
	const struct origin origin = {s->dev, s->ino, s->offset};

	if (s->what == BT_SHAPE_MOVE)
		origins_move(&space->origins, s->from, s->start, s->end - s->start);
	else if (s->what != BT_SHAPE_PROTECT || s->ino)
		origins_set(&space->origins, s->start, s->end, &origin);
}

void effect_shape_made(struct task *task, const struct bt_record_log_shape *s)
{
	struct map_change change = {.count = 1, .ranges = {{s->start, s->end}}};

	tell_origin(task->process->space, s);
	if (s->what == BT_SHAPE_MOVE)
		change.ranges[change.count++] =
			(struct map_range){s->from, s->from + (s->end - s->start)};
	/* Mappings that look the same may have other pages. */
	for (unsigned i = 0; i < change.count && s->what != BT_SHAPE_PROTECT; i++)
		address_space_written(task->process->space, task->host_tid, change.ranges[i].start,
				      change.ranges[i].end);
	address_space_change_later(task->process->space, &change);
}

/* The kernel looks at the limit when the stack grows: nothing that is there goes. */
static void limit_stack(struct replaying *r, const struct task *task, uint64_t size)
{
	r->stack_wanted = host_limit_growth(task->host_tid, size) ? 0 : size;
}

static enum host_result apply_shape(struct replaying *r, struct task *task,
				    const struct bt_record_log_shape *s)
{
	enum host_result result = host_shape(task->host_tid, s);

	if (s->what == BT_SHAPE_MAP && s->grows && s->from)
		limit_stack(r, task, s->from);
	if (result == HOST_DONE)
		effect_shape_made(task, s);
	return result;
}

static bool apply_data(const struct replaying *r, const struct task *task,
		       const struct log_effect *e)
{
	struct slice bytes = log_effect_bytes(&r->log, e);
	uint64_t start = e->u.data.addr;

	if (!host_write(task->host_tid, start, bytes))
		return false;
	address_space_written(task->process->space, task->host_tid, start, start + bytes.len);
	return true;
}

static bool apply_extended(const struct replaying *r, const struct task *task, struct slice bytes)
{
	uint8_t here[TRACEE_EXTENDED];
	size_t n = r->log.has_processor ? tracee_get_extended(task->host_tid, here) : 0;

	if (!n)
		return !tracee_set_extended(task->host_tid, bytes.at, bytes.len);
	return extended_state_convert(&r->log.processor, &r->here, bytes, here, n) &&
	       !tracee_set_extended(task->host_tid, here, n);
}

static bool apply_state(const struct replaying *r, struct task *task, const struct log_effect *e)
{
	struct slice extended = log_effect_bytes(&r->log, e);

	task->regs = e->u.state.regs;
	task->regs.orig_rax = UINT64_MAX;
	return !extended.len || apply_extended(r, task, extended);
}

/* Registers are set in task->regs alone. HOST_REFUSES: the effect makes no sense here; HOST_FULL:
 * there is no room for its pages. */
static enum host_result do_effect(struct replaying *r, struct task *task,
				  const struct log_effect *e)
{
	bool ok;

	if (e->kind == BT_RECORD_LOG_SHAPE && e->u.shape.shared && !r->shared_at)
		r->shared_at = e->u.shape.start;
	if (e->kind == BT_RECORD_LOG_UNSEEN) {
		r->unseen += e->u.unseen.count;
		return HOST_DONE;
	}
	if (e->kind == BT_RECORD_LOG_SHAPE)
		return apply_shape(r, task, &e->u.shape);
	if (e->kind == BT_RECORD_LOG_STACK_LIMIT) {
		limit_stack(r, task, e->u.stack_limit.size);
		return HOST_DONE;
	}
	ok = e->kind == BT_RECORD_LOG_DATA ? apply_data(r, task, e) : apply_state(r, task, e);
	return ok ? HOST_DONE : HOST_REFUSES;
}

/* The host has no room for the pages of the effect. */
static void fail_without_room(struct replaying *r, const struct task *task,
			      const struct bt_record_log_shape *s)
{
	const char *by;
	const uint64_t room = host_room(task->host_tid, r->options.memory, &by);
	char text[200];

	snprintf(text, sizeof text,
		 "no room for %" PRIu64
		 " MB that the recorded program had: a replay may have %" PRIu64
		 " MB of addresses here%s",
		 (s->end - s->start) >> 20, room >> 20, by);
	bt_fail(&r->failure, BT_E_NO_MEMORY, 0, "%s", text);
	outcome_finish(r, task);
}

/* The bytes that the program writes for its user. False: it has diverged. */
static bool tell_output(struct replaying *r, struct task *task, const struct log_effect *e)
{
	struct memory_difference differs;

	if (!output_is_there(&r->log, e, task->host_tid, &differs)) {
		outcome_diverge(r, task, DIVERGENCE_OUTPUT, "other bytes that it writes");
		r->divergence.memory = differs;
		return false;
	}
	if (r->options.output)
		output_repeat(e->u.output.stream, log_effect_bytes(&r->log, e), &r->unwritten);
	return true;
}

/* The log has all the output of the present event. False: it has diverged. Damage that leaves
 * records whole, one of them doubled or left out, would go unseen in what is repeated. */
static bool has_all_output(struct replaying *r, struct task *task)
{
	const struct bt_record *event = &r->log.now.event;
	uint64_t bytes = output_length(&r->log.now);
	char came[80];

	if (event->kind != BT_RECORD_LOG_CALL || !event->u.log_call.told ||
	    bytes == event->u.log_call.result)
		return true;
	snprintf(came, sizeof came, "%" PRIu64 " bytes of output, where it wrote %" PRIu64, bytes,
		 event->u.log_call.result);
	outcome_diverge(r, task, DIVERGENCE_OUTPUT, came);
	return false;
}

/* An effect that is no output. False: it has failed, or diverged. */
static bool apply_effect(struct replaying *r, struct task *task, const struct log_effect *e)
{
	enum host_result result = do_effect(r, task, e);

	if (result == HOST_FULL)
		fail_without_room(r, task, &e->u.shape);
	else if (result != HOST_DONE)
		outcome_diverge(r, task, DIVERGENCE_EFFECT, "an effect that cannot be applied");
	return result == HOST_DONE;
}

bool effects_set_regs(struct replaying *r, struct task *task)
{
	int rc = tracee_set_regs(task->host_tid, &task->regs);

	if (rc == -BT_E_UNSUPPORTED)
		outcome_diverge(r, task, DIVERGENCE_EFFECT, "registers that cannot be set");
	return !rc;
}

bool effects_apply(struct replaying *r, struct task *task)
{
	if (!has_all_output(r, task))
		return false;
	for (size_t i = 0; i < r->log.now.count; i++) {
		const struct log_effect *e = &r->log.now.effects[i];

		if (!(e->kind == BT_RECORD_LOG_OUTPUT ? tell_output : apply_effect)(r, task, e))
			return false;
	}
	return effects_set_regs(r, task);
}

void effects_begin_signal(const struct replaying *r, struct task *task)
{
	const struct bt_regs *then = &r->log.now.event.u.log_signal.regs;

	if (log_event_dispatched_from(&r->log.now.event)) { /* Intel SDM volume 2, SYSCALL */
		task->regs.rip = then->rip;
		task->regs.rcx = then->rcx;
		task->regs.r11 = then->r11;
	} else if (tracee_is_in_vsyscall(&task->regs)) {
		task->regs.rax = then->rax; /* emulate_vsyscall, Linux 6.18 */
	}
}

bool effects_are_the_programs(const struct task *task, const struct bt_logged_call *call,
			      const struct bt_record_log_shape *shape)
{
	if (call->form != BT_LOGGED_CALL) /* such an event has no effects but in a made log */
		return !shape && !call->output.stream;
	for (unsigned i = 0; i < call->data_count; i++)
		if (!host_may_write(call->data[i].addr, call->data[i].bytes.len))
			return false;
	return !shape || (call->change.nr &&
			  !address_space_has_code(task->process->space, shape->start, shape->end));
}
