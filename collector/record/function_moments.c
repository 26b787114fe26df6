/* SPDX-License-Identifier: MIT */
/* Moments at the entries of functions (first_signs.h). A process has a budget of stops for each
 * function. When it is used up the function is disarmed in the process's space, and costs nothing:
 * a program may throw a hundred thousand exceptions a second. Some seconds later it is armed again,
 * with a smaller budget. */
#include <stdlib.h>

#include "collector/record/first_signs.h"
#include "collector/record/recording_private.h"
#include "collector/record/snapshot.h"
#include "collector/tracee/tracee.h"

#define REARM_NS 10000000000u

/* Stops of a process at one function, by what is kept: at first, and when it is armed again. */
static const struct {
	unsigned first, again;
} budgets[SIGN_EXTENTS] = {
	[SIGN_WHOLE] = {8, 1},
	[SIGN_BRIEF] = {64, 8},
	[SIGN_ASKED] = {1000, 100},
};

/* Of a process, for one function. */
struct sign_budget {
	unsigned left;
	bool noted; /* the end of the budget is in the trace */
};

static struct sign_budget *budget_of(const struct recording *r, struct process_record *process,
				     uint16_t sign)
{
	size_t count = first_signs_count(r->signs);

	if (!process->signs) {
		process->signs = calloc(count, sizeof *process->signs);
		for (size_t i = 0; process->signs && i < count; i++)
			process->signs[i].left =
				budgets[first_signs_extent(r->signs, (uint16_t)i)].first;
	}
	return process->signs ? &process->signs[sign] : NULL;
}

/* The stop was the last of the budget. */
static void disarm_function(struct recording *r, struct supervisor *sup, struct task *task,
			    uint16_t sign, struct sign_budget *budget)
{
	struct process_record *process = task->process->record;
	bool again = !sup->options.parallel; /* side by side, code that others run cannot be taken
						out of the cache for this */

	address_space_disarm(task->process->space, task->regs.rip);
	if (again && !process->rearm_at)
		process->rearm_at = bt_clock_now(r->clock) + REARM_NS;
	if (!budget || budget->noted)
		return;
	budget->noted = true;
	supervisor_note(sup, task, "%s was entered %u times: %s", first_signs_name(r->signs, sign),
			budgets[first_signs_extent(r->signs, sign)].first,
			again ? "of later times some are kept every ten seconds"
			      : "later times are not kept");
}

void function_moments_rearm(struct recording *r, struct task *task)
{
	struct process_record *process = task->process ? task->process->record : NULL;
	struct address_space *space;

	if (!process || !r->signs || !process->rearm_at ||
	    bt_clock_now(r->clock) < process->rearm_at)
		return;
	process->rearm_at = 0;
	space = task->process->space;
	for (size_t i = 0; i < space->stops.count; i++) {
		const struct function_stop *stop = &space->stops.list[i];
		struct sign_budget *budget =
			stop->armed || first_signs_extent(r->signs, stop->function) == SIGN_POINT
				? NULL
				: budget_of(r, process, stop->function);

		if (!budget)
			continue;
		if (!budget->left)
			budget->left = budgets[first_signs_extent(r->signs, stop->function)].again;
		address_space_arm(space, stop->addr);
	}
}

void function_moments_look(const struct recording *r, struct supervisor *sup)
{
	uint64_t now = bt_clock_now(r->clock);

	for (struct task *task = sup->tasks.first; task; task = task->next)
		if (task_runs_code(task) && task->process->record->rearm_at &&
		    task->process->record->rearm_at <= now && sup->backend.ops->stop_soon)
			sup->backend.ops->stop_soon(&sup->backend, task);
}

/* Whether the last function at whose entry the moment was kept has called this one: the moment of
 * the failure that this one reports has been kept then. */
static bool is_inside(const struct task *task, bool brief)
{
	const struct task_record *record = task->record;
	uint64_t from;

	return record->sign.sp > task->regs.rsp && record->sign.brief <= brief &&
	       tracee_read(task->host_tid, record->sign.sp, &from, sizeof from) == sizeof from &&
	       from == record->sign.from;
}

static void note_sign(struct task *task, bool brief)
{
	struct task_record *record = task->record;

	record->sign.sp = task->regs.rsp;
	record->sign.brief = brief;
	if (tracee_read(task->host_tid, task->regs.rsp, &record->sign.from,
			sizeof record->sign.from) != sizeof record->sign.from)
		record->sign.sp = 0;
}

/* Once in each program; a library may have a function of that name. */
static void tell_main(struct recording *r, struct task *task)
{
	struct process_record *record = task->process->record;
	struct bt_record_main rec = {.task = task->number, .point = task_point(task)};

	if (record->main_told || rec.point.tick == BT_TICKS_UNKNOWN)
		return;
	record->main_told = true;
	RECORDING_EVENT(r, task->unit->number, MAIN, &rec);
}

void recording_on_function(struct session *session, struct supervisor *sup, struct task *task,
			   uint16_t function)
{
	struct recording *r = recording_of(session);
	enum sign_extent extent = first_signs_extent(r->signs, function);
	struct sign_budget *budget;
	bool brief = extent == SIGN_BRIEF;

	if (first_signs_is_main(r->signs, function))
		tell_main(r, task);
	if (extent == SIGN_POINT) {
		address_space_disarm(task->process->space, task->regs.rip);
		return;
	}

	budget = budget_of(r, task->process->record, function);
	if (!budget || !budget->left || !--budget->left)
		disarm_function(r, sup, task, function, budget);
	if (extent == SIGN_ASKED) {
		snapshot_take(r, sup, task, BT_SNAPSHOT_REQUEST, 0,
			      first_signs_name(r->signs, function));
		return;
	}
	if (is_inside(task, brief))
		return;
	if (snapshot_take_at_function(r, sup, task, first_signs_name(r->signs, function), brief))
		note_sign(task, brief);
}
