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

static unsigned *budget_of(const struct recording *r, struct process_record *process, uint16_t sign)
{
	size_t count = first_signs_count(r->signs);

	if (!process->visits) {
		process->visits = malloc(count * sizeof *process->visits);
		for (size_t i = 0; process->visits && i < count; i++)
			process->visits[i] =
				budgets[first_signs_extent(r->signs, (uint16_t)i)].first;
	}
	return process->visits ? &process->visits[sign] : NULL;
}

/* The stop was the last of the budget. */
static void disarm(struct recording *r, struct supervisor *sup, struct task *task, uint16_t sign)
{
	struct process_record *process = task->process->record;
	enum sign_extent extent = first_signs_extent(r->signs, sign);

	address_space_disarm(task->process->space, task->regs.rip);
	/* Side by side, code that others run cannot be taken out of the cache for this. */
	if (!sup->options.parallel)
		process->rearm_at = bt_clock_now(r->clock) + REARM_NS;
	supervisor_note(sup, task, "%s was entered %u times: %s", first_signs_name(r->signs, sign),
			budgets[extent].first,
			sup->options.parallel ? "later times are not kept"
					      : "of later times some are kept every ten seconds");
}

void function_moments_rearm(struct recording *r, const struct supervisor *sup, struct task *task)
{
	struct process_record *process = task->process ? task->process->record : NULL;
	struct address_space *space;

	(void)sup;
	if (!process || !process->rearm_at || bt_clock_now(r->clock) < process->rearm_at)
		return;
	process->rearm_at = 0;
	space = task->process->space;
	for (size_t i = 0; i < space->stops.count; i++) {
		const struct function_stop *stop = &space->stops.list[i];
		unsigned *budget = budget_of(r, process, stop->function);

		if (stop->armed || !budget || *budget)
			continue;
		*budget = budgets[first_signs_extent(r->signs, stop->function)].again;
		address_space_arm(space, stop->addr);
	}
}

/* Whether the last function at whose entry the moment was kept has called this one: what this one
 * reports has been kept. */
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

void recording_on_function(struct session *session, struct supervisor *sup, struct task *task,
			   uint16_t function)
{
	struct recording *r = recording_of(session);
	enum sign_extent extent = first_signs_extent(r->signs, function);
	unsigned *budget = budget_of(r, task->process->record, function);
	bool brief = extent == SIGN_BRIEF;

	if (!budget || !*budget || !--*budget)
		disarm(r, sup, task, function);
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
