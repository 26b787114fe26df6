/* SPDX-License-Identifier: MIT */
/* The pace of a task's timers (timer_pace.h): the kernel blocks their signals for a while behind a
 * handler's entry and end. So all that it does with a signal that has to wait is as Linux has it:
 * one of each standard signal stays pending, those of real time are queued, a timer's overruns are
 * counted (sigqueue(7), timer_getoverrun(2)), the lowest number comes first.
 *
 * The program's mask is back wherever the program or the kernel looks at it (hidden_signals.h): in
 * a system call at a stop, at a delivery. So a call that waits is ended by the signal, and what the
 * program sends itself comes as it would natively. Behind other calls the pace goes on.
 *
 * The stepper looks at the time behind each instruction. A backend that lets the task run has
 * itself told (backend_ops.due). */
#include "collector/backend/step/stepper_private.h"

#include <errno.h>
#include <sys/syscall.h>

#include "collector/tracee/tracee.h"

enum {
	AGAIN_NS = 50000, /* a task that has not run long enough is looked at not sooner */
};

static void set_due(struct task *task, uint64_t after)
{
	struct backend *b = task->step->backend;

	task->due = bt_clock_now(b->clock) + after;
	if (b->ops->due && (!b->due || task->due < b->due))
		b->due = task->due;
}

/* Whether a signal has ended the call: it comes now, under the mask that the call may have set for
 * itself (QUIRK(setsigmask-restore)). */
static bool is_interrupted(const struct bt_regs *regs)
{
	return (int64_t)regs->rax == -EINTR || tracee_wants_restart(regs);
}

/* Whether the call ends a timer, or changes what its signal does: where it does, the program
 * expects that one which was sent before has come. */
static bool is_of_timers(uint64_t nr)
{
	return nr == SYS_rt_sigaction || nr == SYS_setitimer || nr == SYS_alarm ||
	       nr == SYS_timer_settime || nr == SYS_timer_delete;
}

/* Behind a system call. Signals that wait go on waiting, unless the program has just unblocked them
 * (sigprocmask(2) delivers one before it returns). */
static void note_call(struct task *task)
{
	struct step_task *st = task->step;
	struct timer_pace *pace = &st->pace;
	bool masks = !task->syscall.compat && task->syscall.nr == SYS_rt_sigprocmask;

	st->pace_goes_on = st->pace_called && !masks && !task->syscall.compat &&
			   !is_of_timers(task->syscall.nr) && !is_interrupted(&task->regs);
	st->pace_called = false;
	if (syscall_is(&task->syscall, SYS_rt_sigreturn)) {
		/* The supervisor is not told yet. */
		timer_pace_left(pace, task->depth ? task->depth - 1 : 0);
	} else if (pace->handlers && masks) {
		task_prune_frames(task);
		timer_pace_unblocked(pace, task->depth);
	}
}

void stepper_note_stop(struct task *task, enum backend_stop stop, const siginfo_t *info)
{
	struct timer_pace *pace = &task->step->pace;
	const struct backend *b = task->step->backend;

	if (b->ops->native) /* it is not stopped at sigreturns */
		return;
	if (stop == BACKEND_SIGNAL) {
		task_prune_frames(task);
		timer_pace_came(pace, info, task->depth, bt_clock_now(b->clock),
				clock_used_by_thread());
		task->step->pace_called = task->step->pace_goes_on = false;
	} else if (stop == BACKEND_HANDLER) {
		timer_pace_entered(pace);
	} else if (stop == BACKEND_SYSCALL_EXIT) {
		note_call(task);
	}
}

/* Whether such signals are kept from the task from now on. Not where one of them that is pending
 * was sent by somebody, or where so many are that nobody looks: it comes as it would natively. */
static bool may_begin(const struct task *task, bool *waits)
{
	enum {
		MANY = 16,
	};
	siginfo_t queued[MANY];
	size_t n = tracee_queued_signals(task->host_tid, queued, MANY);

	*waits = false;
	for (size_t i = 0; i < n; i++) {
		if (!(task->step->pace.served >> (queued[i].si_signo - 1) & 1))
			continue;
		if (!timer_pace_is_timers(&queued[i]))
			return false;
		*waits = true;
	}
	return n < MANY;
}

int step_pace_before_call(struct task *task)
{
	struct step_task *st = task->step;

	/* Else the program would not get on: the next one may be there already. */
	return st->hidden.paced && st->pace_from != task->regs.rip && is_of_timers(task->regs.rax)
		       ? hidden_signals_end_pace(task, &st->hidden)
		       : 0;
}

void step_pace_called(struct step_task *st) { st->pace_called = st->hidden.paced; }

/* How much of a processor the task is still to use. */
static uint64_t left_to_use(const struct task *task)
{
	const struct step_task *st = task->step;
	uint64_t used = clock_used_by_process(task->process->host_pid) - st->pace_used;

	return used < st->pace_wanted ? st->pace_wanted - used : 0;
}

/* Behind a call: for the rest of the time. */
static int go_on(struct task *task)
{
	struct step_task *st = task->step;
	uint64_t left = left_to_use(task);
	bool waits;

	st->pace_goes_on = false;
	if (!left || !may_begin(task, &waits))
		return 0;
	set_due(task, left);
	return hidden_signals_pace(task, &st->hidden, st->pace.served);
}

int step_pace_begin(struct task *task)
{
	struct step_task *st = task->step;
	uint64_t wanted;
	bool may, waits;

	if (!timer_pace_is_due(&st->pace))
		return st->pace_goes_on ? go_on(task) : 0;
	st->pace_goes_on = false;
	may = may_begin(task, &waits);
	wanted = timer_pace_begin(&st->pace, waits, bt_clock_now(st->backend->clock),
				  clock_used_by_thread());
	if (!may || !wanted)
		return 0;
	if (hidden_signals_pace(task, &st->hidden, st->pace.served))
		return -BT_E_GONE;
	st->pace_used = clock_used_by_process(task->process->host_pid);
	st->pace_wanted = wanted;
	st->pace_from = task->regs.rip;
	set_due(task, wanted);
	return 0;
}

/* Whether the task is still to run, and when it is to be asked again. A task that has had no
 * processor has not run. Calls that may wait are made at stops meanwhile
 * (stepper_hides_signals()), where the signals come again. */
static bool is_to_run_on(struct task *task)
{
	uint64_t left = left_to_use(task);

	if (left)
		set_due(task, left < AGAIN_NS ? AGAIN_NS : left);
	return left;
}

bool stepper_pace_is_over(struct task *task)
{
	struct step_task *st = task->step;

	bool sleeps = tracee_state(task->host_tid) == 'S';

	if (!sleeps && is_to_run_on(task))
		return false;
	if (st->hidden.blocked)
		return true;
	/* The program blocks them itself, in a handler: nothing is to be done in the task. */
	timer_pace_ended(&st->pace);
	st->hidden.paced = task->due = 0;
	return false;
}

int stepper_end_pace(struct task *task, bool at_once)
{
	struct step_task *st = task->step;
	const struct backend *b = st->backend;

	if (!st->hidden.paced)
		return 0;
	/* Under a backend that steps alone each look comes behind an instruction. */
	if (!at_once && (bt_clock_now(b->clock) < task->due || (b->ops->due && is_to_run_on(task))))
		return 0;
	timer_pace_ended(&st->pace);
	return hidden_signals_end_pace(task, &st->hidden);
}
