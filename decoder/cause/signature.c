/* SPDX-License-Identifier: MIT */
/* The stack is unwound, and where the branch history contradicts it, as after an overwritten return
 * address, the calls that the history left open are taken instead. Each frame gives its inlined
 * functions, then its own, then those that jumped into it (tail_jumps.h): so the names are those
 * that the stack of a program has in which nothing is inlined.
 *
 * Names of libraries are left out, unless a signal has met no others: a program exits in libc. A
 * name counts once, where it is innermost: recursion has any depth. Of a stack overflow only what
 * recurs counts, in the order of the alphabet: which of the functions touches the end of the stack
 * is chance. Where Go's runtime has found a deadlock, the names are those that it wrote of main's
 * goroutine. */
#include "decoder/cause/signature.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/cause/callstack.h"
#include "decoder/cause/fault.h"
#include "decoder/cause/focus.h"
#include "decoder/cause/goroutine.h"
#include "decoder/cause/own_code.h"
#include "decoder/model/signals.h"
#include "decoder/symbols/tail_jumps.h"
#include "decoder/symbols/text.h"
#include "lib/content_hash.h"

enum {
	FRAMES_MAX = 512,
	JUMPS_MAX = 16, /* of one frame */
	NAMES_MAX = 64, /* different ones that are looked at */
	RECURSION_MIN = 4,
};

struct name_count {
	char name[FUNCTION_NAME_MAX];
	size_t times;
};

struct maker {
	struct signature *sig;
	const struct model *m;
	struct symbols *s;
	const struct model_snapshot *snap;
	const struct bt_record_thread *thread; /* NULL: its registers are not known */
	struct history h;
	size_t end;
	struct fault fault;
	struct own_code *own;
	struct callstack calls;
	struct stack_frame frames[FRAMES_MAX];
	size_t frame_count;
	struct name_count names[NAMES_MAX];
	size_t name_count;
	bool with_libraries;
};

static void add_name(struct maker *k, const char *function, const char *file, const char *module)
{
	char name[FUNCTION_NAME_MAX];

	function_name_plain(name, function);
	if (!*name || !strcmp(name, "_start"))
		return;
	for (size_t i = 0; i < k->name_count; i++)
		if (!strcmp(k->names[i].name, name)) {
			k->names[i].times++;
			return;
		}
	if (k->name_count == NAMES_MAX)
		return;
	if (!k->name_count)
		snprintf(k->sig->file, sizeof k->sig->file, "%s",
			 text_basename(*file ? file : module));
	memcpy(k->names[k->name_count].name, name, sizeof name);
	k->names[k->name_count++].times = 1;
}

/* The functions at a place, innermost first. Without a name there is only the file. */
static void add_place(struct maker *k, uint64_t addr, bool is_return)
{
	uint32_t space = k->snap->rec->space, epoch = k->fault.epoch;
	struct location loc;

	symbols_lookup(k->s, space, epoch, addr, is_return, &loc);
	if (!*loc.module ||
	    (!k->with_libraries && !own_code_has(k->own, space, epoch, addr - is_return)))
		return;
	for (size_t i = 0; i <= loc.inlined_count; i++) {
		const char *file = i ? loc.inlined[i - 1].file : loc.file,
			   *function =
				   i < loc.inlined_count ? loc.inlined[i].function : loc.function;

		if (k->with_libraries || !own_code_is_library_source(file))
			add_name(k, *function ? function : text_basename(loc.module), file,
				 loc.module);
	}
}

/* Those that jumped on within the frame that call number i made, up to entry `end`. */
static void add_tail_jumps(struct maker *k, size_t call, size_t end)
{
	size_t jumps[JUMPS_MAX],
		n = tail_jumps_find(&k->h, k->s, k->calls.calls[call].entry, end, jumps, JUMPS_MAX);

	for (size_t i = 0; i < n; i++)
		add_place(k, k->h.entries[jumps[i]].from, false);
}

/* The newest open call below `top` that made a frame; top: it is not in the history. */
static size_t call_of_frame(const struct maker *k, size_t top, uint64_t ret)
{
	for (size_t i = top; i-- > 0;)
		if (k->calls.calls[i].ret == ret)
			return i;
	return top;
}

static void add_frames(struct maker *k)
{
	size_t top = k->calls.count, end = k->end;

	for (size_t i = 0; i < k->frame_count; i++) {
		const struct stack_frame *f = &k->frames[i];
		size_t at = f->is_return ? call_of_frame(k, top, f->pc) : top;

		if (at < top) {
			add_tail_jumps(k, at, end);
			top = at;
			end = k->calls.calls[at].entry;
		}
		add_place(k, f->pc, f->is_return);
	}
}

static void add_open_calls(struct maker *k)
{
	size_t end = k->end;

	for (size_t i = k->calls.count; i-- > 0; end = k->calls.calls[i].entry) {
		add_tail_jumps(k, i, end);
		add_place(k, k->calls.calls[i].from, false);
	}
}

/* By stack or history, from the instruction that is to blame outwards. */
static void add_stack(struct maker *k)
{
	bool complete = true;
	struct stack_check check;

	k->frame_count = k->thread ? symbols_unwind(k->s, k->snap, k->thread, k->frames, FRAMES_MAX,
						    &complete)
				   : 0;
	check = callstack_check(&k->calls, k->frames, k->frame_count);
	if (k->fault.pc_is_wild)
		add_place(k, k->fault.where, false);
	if (k->frame_count && check.verdict != STACK_DISAGREES) {
		if (!complete)
			k->frame_count = callstack_extend(&k->calls, &check, k->frames,
							  k->frame_count, FRAMES_MAX);
		add_frames(k);
		return;
	}
	if (!k->fault.pc_is_wild)
		add_place(k, k->fault.pc, false);
	add_open_calls(k);
}

/* Where all goroutines wait no thread has the stack of one. */
static void add_goroutine(struct maker *k)
{
	const struct bt_record_last_words *words = k->snap->last_words;
	struct goroutine_frame f;
	struct goroutine g;

	if (!words || strncmp(k->fault.kind, "Go runtime error", strlen("Go runtime error")) != 0 ||
	    (!goroutine_find(&g, words->text) && !goroutine_find(&g, words->first)))
		return;
	while (goroutine_next_own(&g, &f))
		add_name(k, f.function, f.file, "");
}

static int compare_names(const void *a, const void *b)
{
	const struct name_count *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Keeps what recurs, in the order of the alphabet. False: nothing does. */
static bool keep_recursion(struct maker *k)
{
	size_t n = 0;

	for (size_t i = 0; i < k->name_count; i++)
		if (k->names[i].times >= RECURSION_MIN)
			k->names[n++] = k->names[i];
	if (!n)
		return false;
	k->name_count = n;
	qsort(k->names, n, sizeof *k->names, compare_names);
	return true;
}

static void take_names(struct maker *k)
{
	struct signature *sig = k->sig;

	if (!strcmp(k->fault.kind, "stack overflow") && keep_recursion(k))
		*sig->file = '\0';
	for (size_t i = 0; i < k->name_count && sig->count < SIGNATURE_FUNCTIONS_MAX; i++)
		memcpy(sig->functions[sig->count++], k->names[i].name, FUNCTION_NAME_MAX);
}

static void make_text(struct signature *sig)
{
	size_t n = (size_t)snprintf(sig->text, sizeof sig->text, "%s", sig->kind);

	for (size_t i = 0; i < sig->count; i++) {
		n += (size_t)snprintf(sig->text + n, sizeof sig->text - n, "%s%s", i ? " < " : ": ",
				      sig->functions[i]);
		if (!i && *sig->file)
			n += (size_t)snprintf(sig->text + n, sizeof sig->text - n, " (%s)",
					      sig->file);
	}
	sig->hash = content_hash(sig->text, strlen(sig->text)).first;
}

/* How the process of a task ended: its last task, else this one. NULL: the trace does not say. */
static const struct bt_record_exit *end_of_process(const struct model *m,
						   const struct model_task *task)
{
	for (size_t i = 0; i < m->task_count; i++)
		if (m->tasks[i].pid == task->pid && m->tasks[i].exit && m->tasks[i].exit->last)
			return m->tasks[i].exit;
	return task->exit;
}

/* Of a moment: its signal, else how its process ended. False: that is no failure. */
static bool take_kind(struct signature *sig, const struct model *m,
		      const struct model_snapshot *snap, const char *why)
{
	const struct model_task *task = snap ? model_task(m, snap->rec->task) : NULL;
	const struct bt_record_exit *end = task ? end_of_process(m, task) : NULL;
	enum bt_exit_kind kind = end ? end->kind : BT_EXIT_UNKNOWN;
	uint32_t status = end ? end->status : 0;
	char name[SIGNAL_NAME_MAX];
	bool core;

	if (!snap || !task)
		focus_exit(m, &kind, &status, &core);
	if (snap && snap->signal) {
		kind = BT_EXIT_SIGNAL;
		status = snap->signal->signo;
	}
	if (kind == BT_EXIT_SIGNAL)
		snprintf(sig->kind, sizeof sig->kind, "%s%s%s", signal_name(status, name),
			 *why ? " " : "", why);
	else if (kind == BT_EXIT_STATUS && status)
		snprintf(sig->kind, sizeof sig->kind, "exit %u%s%s", status, *why ? " " : "", why);
	return *sig->kind;
}

/* A handler of the program may have got the fault, and ended the program then: the fault counts. */
static void explain_snapshot(struct maker *k, const struct model_snapshot *snap)
{
	k->snap = snap;
	k->thread = focus_thread(snap, snap->rec->task);
	k->end = history_index(&k->h, snap->rec->position);
	fault_explain(&k->fault, k->m, k->s, snap, k->thread, &k->h, k->end);
	if (!k->fault.stuck)
		return;
	k->thread = k->fault.stuck;
	k->end = 0; /* the history is another thread's */
}

static int add_functions(struct maker *k, struct bt_error *err)
{
	int rc = own_code_open(&k->own, k->m, k->s, k->snap, k->thread, err);

	if (rc)
		return rc;
	callstack_build(&k->calls, &k->h, k->s, k->end);
	add_stack(k);
	if (!k->name_count)
		add_goroutine(k);
	if (!k->name_count && k->snap->signal) {
		k->with_libraries = true;
		add_stack(k);
	}
	take_names(k);
	callstack_release(&k->calls);
	own_code_close(k->own);
	return 0;
}

static int make_of_snapshot(struct maker *k, const struct model_snapshot *snap,
			    struct bt_error *err)
{
	int rc = history_load(&k->h, k->m, snap->rec->task, err);

	if (rc)
		return rc;
	explain_snapshot(k, snap);
	if (k->fault.before)
		explain_snapshot(k, k->fault.before);
	rc = take_kind(k->sig, k->m, k->snap, k->fault.kind) ? add_functions(k, err) : 1;
	history_release(&k->h);
	return rc;
}

/* A moment in which the program went on is none of a failure. */
static bool is_end(const struct model_snapshot *snap)
{
	return snap &&
	       (snap->rec->kind == BT_SNAPSHOT_FATAL || snap->rec->kind == BT_SNAPSHOT_EXIT ||
		snap->rec->kind == BT_SNAPSHOT_IMPORT || snap->rec->kind == BT_SNAPSHOT_FUNCTION ||
		snap->rec->kind == BT_SNAPSHOT_FAILURE || snap->rec->kind == BT_SNAPSHOT_MESSAGE);
}

int signature_make(struct signature *sig, const struct model *m, struct symbols *s,
		   struct bt_error *err)
{
	const struct model_snapshot *snap = focus_explaining(m);
	struct maker *k = calloc(1, sizeof *k);
	int rc;

	*sig = (struct signature){0};
	if (!k)
		return bt_no_memory(err, "the signature");
	k->sig = sig;
	k->m = m;
	k->s = s;
	if (is_end(snap))
		rc = make_of_snapshot(k, snap, err);
	else
		rc = take_kind(sig, m, NULL, "") ? 0 : 1;
	free(k);
	if (!rc)
		make_text(sig);
	return rc;
}
