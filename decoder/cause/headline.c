/* SPDX-License-Identifier: MIT */
#include "decoder/cause/headline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "decoder/cause/focus.h"
#include "decoder/cause/own_code.h"
#include "decoder/model/signals.h"

static const struct model_task *first_task(const struct model *m)
{
	for (size_t i = 0; i < m->task_count; i++)
		if (m->tasks[i].how == BT_TASK_INITIAL)
			return &m->tasks[i];
	return NULL;
}

/* A moment that tells why its process ended later. */
static bool is_before_end(const struct model_snapshot *snap)
{
	return snap->rec->kind == BT_SNAPSHOT_FUNCTION || snap->rec->kind == BT_SNAPSHOT_MESSAGE;
}

/* Its name and process. Returns false for a moment that is no failure. */
static bool take_moment(struct headline *h, const struct model *m,
			const struct model_snapshot *snap)
{
	const struct model_task *task = model_task(m, snap->rec->task), *first = first_task(m);
	bool is_sign = is_before_end(snap);
	const struct bt_record_exit *end = is_sign ? model_process_end(m, snap->rec->task)
					   : task  ? task->exit
						   : NULL;
	char name[SIGNAL_NAME_MAX];

	if (snap->rec->kind == BT_SNAPSHOT_FATAL && snap->signal)
		snprintf(h->name, sizeof h->name, "%s", signal_name(snap->signal->signo, name));
	else if ((snap->rec->kind == BT_SNAPSHOT_EXIT || snap->rec->kind == BT_SNAPSHOT_FAILURE ||
		  is_sign) &&
		 end && end->kind == BT_EXIT_STATUS && end->status)
		snprintf(h->name, sizeof h->name, "exited with %u", end->status);
	else
		return false;
	h->is_exit = !(snap->rec->kind == BT_SNAPSHOT_FATAL && snap->signal);
	if (task && first && task->pid != first->pid) {
		h->command = task->command;
		h->pid = task->pid;
	}
	return true;
}

static void take_place(struct headline *h, struct symbols *s, uint32_t space, uint32_t epoch,
		       struct own_place place)
{
	struct inlined_frame part;
	struct location loc;

	symbols_lookup(s, space, epoch, place.addr, place.is_return, &loc);
	part = own_code_part(&loc);
	if (!strcmp(part.function, "_start"))
		return; /* of a program without symbols: it tells nothing */
	text_brief_name(h->function, sizeof h->function, part.function);
	h->file = part.file;
	h->line = part.line;
	h->module = loc.in_file && *h->what ? loc.module : ""; /* of an exit it tells nothing */
	h->vaddr = loc.vaddr;
}

/* Where the child that is told of has failed. */
static void take_child(struct headline *h, struct symbols *s, struct own_code *own,
		       const struct model_snapshot *child)
{
	const struct bt_record_thread *thread = focus_thread(child, child->rec->task);
	struct own_place place;

	if (thread && own_code_frame(own, child, thread, &place))
		take_place(h, s, child->rec->space, thread->epoch, place);
}

/* Of the history the calls do, which take a tenth of its time. */
static int explain(struct fault *f, const struct model *m, struct symbols *s,
		   const struct model_snapshot *snap, const struct bt_record_thread *thread,
		   struct bt_error *err)
{
	struct history calls;
	int rc = history_load_calls(&calls, m, snap->rec->task, err);

	if (rc)
		return rc;
	fault_explain(f, m, s, snap, thread, &calls, history_index(&calls, snap->rec->position));
	history_release(&calls);
	return 0;
}

int headline_make(struct headline *h, const struct model *m, struct symbols *s,
		  struct bt_error *err)
{
	const struct model_snapshot *snap = focus_explaining(m);
	const struct bt_record_thread *thread = snap ? focus_thread(snap, snap->rec->task) : NULL;
	struct own_code *own;
	const struct model_snapshot *at = snap;
	struct own_place place;
	struct fault f, told;
	int rc;

	*h = (struct headline){.file = "", .module = ""};
	if (!snap || !take_moment(h, m, snap))
		return 1;
	rc = explain(&told, m, s, snap, thread, err);
	f = told;
	/* A handler ended the program: the place is that of the fault it was entered for. */
	if (!rc && told.before) {
		at = told.before;
		thread = focus_thread(at, at->rec->task);
		rc = explain(&f, m, s, at, thread, err);
	}
	if (!rc)
		rc = own_code_open(&own, m, s, at, thread, err);
	if (rc)
		return rc;
	/* The kind is what its standard error says, then. */
	snprintf(h->what, sizeof h->what, "%.*s", (int)sizeof h->what - 1,
		 *told.brief ? told.brief : told.kind);
	if (snap->signal || is_before_end(snap))
		snprintf(h->text, sizeof h->text, "%s", told.text);
	place = (struct own_place){f.where, f.where_is_return};
	if (f.child_told) {
		if (f.child)
			take_child(h, s, own, f.child);
	} else if ((f.stuck && own_code_frame(own, at, f.stuck, &place)) ||
		   own_code_has(own, f.space, f.epoch, f.where - f.where_is_return) ||
		   (thread && own_code_frame(own, at, thread, &place))) {
		take_place(h, s, f.space, f.epoch, place);
	} else if (at->signal && at->signal->sync) {
		take_place(h, s, f.space, f.epoch, (struct own_place){f.where, f.where_is_return});
	}
	own_code_close(own);
	return 0;
}

static void put_place(const struct headline *h, struct text *t)
{
	if (*h->function) {
		text_printf(t, " in ");
		text_outside(t, h->function);
		text_line(t, h->file, h->line, false);
	} else if (*h->module) {
		text_printf(t, " in ");
		text_outside(t, text_basename(h->module));
		text_printf(t, "+0x%" PRIx64, h->vaddr);
	}
}

void headline_put_event(const struct headline *h, struct text *t)
{
	if (h->command && h->is_exit) {
		text_outside(t, h->command);
		text_printf(t, " (process %u) ", h->pid);
	}
	text_printf(t, "%s", h->name);
	if (h->command && !h->is_exit) {
		text_printf(t, " in ");
		text_outside(t, h->command);
		text_printf(t, " (process %u)", h->pid);
	}
	if (*h->what) {
		text_printf(t, ": ");
		text_outside(t, h->what);
	}
}

void headline_put(const struct headline *h, struct text *t)
{
	headline_put_event(h, t);
	put_place(h, t);
}
