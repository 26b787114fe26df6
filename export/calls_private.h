/* SPDX-License-Identifier: MIT */
/* Shared by the exports that show calls: the tasks and their histories one after the other, and
 * what functions are called there. Nobody else includes this. */
#ifndef BT_EXPORT_CALLS_PRIVATE_H
#define BT_EXPORT_CALLS_PRIVATE_H

#include "decoder/cause/callstack.h"
#include "decoder/cause/focus.h"
#include "decoder/symbols/function_name.h"

/* A history up to entry `end`, with the calls open behind the entry that was taken last. */
struct task_calls {
	const struct model_task *task;
	struct symbols *s;
	struct history h;
	size_t end, at; /* at: the entry to be taken next */
	struct callstack_walk walk;
};

/* Shows a task. Returns 0 or an error. */
typedef int calls_show(void *arg, struct task_calls *c, struct bt_error *err);

/* Calls show for each task that o chooses, those with an empty history, too: all of them with all
 * of their histories; of a thread that was asked for its own; with a snapshot those that stand in
 * it, up to there. Errors: show's; BT_E_NO_MEMORY; BT_E_UNSUPPORTED: there is no such moment or
 * thread. */
int calls_of_tasks(const struct model *m, struct symbols *s, const struct report_options *o,
		   calls_show *show, void *arg, struct bt_error *err) BT_MUST_USE;

/* Takes the next entry. */
void calls_take(struct task_calls *c);

/* Replaces what would end a line or a name. Returns name. */
const char *calls_tame(char *name);

/* The function at an address, without parameters; "[libc.so.6]" where only the file is known, else
 * "[unknown]". Tamed. */
const char *calls_name(struct symbols *s, uint32_t space, uint32_t epoch, uint64_t addr,
		       char name[FUNCTION_NAME_MAX]);

#endif
