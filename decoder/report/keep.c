/* SPDX-License-Identifier: MIT */
#include "decoder/report/keep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "decoder/cause/headline.h"
#include "decoder/cause/own_code.h"
#include "decoder/cause/signature.h"
#include "decoder/model/disasm.h"
#include "decoder/report/report.h"
#include "decoder/symbols/text.h"
#include "decoder/values/frame_values.h"

enum {
	LINES = 40,                /* of the report */
	ENTRIES = 1 << 16,         /* of branches, as in the JSON */
	FRAMES = 4096,             /* of one stack, as in the JSON */
	FUNCTIONS = 16,            /* whose instructions are shown */
	FUNCTION_BEFORE = 1 << 12, /* bytes, and instructions of one */
	FUNCTION_BEHIND = 200,
	FUNCTION_LENGTH = 2000,
	NOTICED_MS = 50,
	CHECK_EACH = 64, /* the time is asked for once in so many */
};

/* How long it may go on. */
struct deadline {
	struct timespec began;
	int milliseconds;
};

static bool is_over(const struct deadline *d)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - d->began.tv_sec) * 1000 + (now.tv_nsec - d->began.tv_nsec) / 1000000 >=
	       d->milliseconds;
}

/* The first screen, and what is behind it. */
static int ask_report(const struct model *m, struct symbols *s, struct bt_error *err)
{
	struct report_options options = {.count = LINES};
	FILE *nowhere = fopen("/dev/null", "w");
	struct signature sig;
	struct headline h;
	int rc = headline_make(&h, m, s, err);

	if (rc >= 0)
		rc = signature_make(&sig, m, s, err);
	if (rc >= 0 && nowhere)
		rc = report_print(nowhere, m, s, &options, err);
	if (nowhere)
		fclose(nowhere);
	return rc;
}

/* Asks for the values of variables that the JSON tells. */
static void ask_values(struct symbols *s, const struct model_snapshot *snap,
		       const struct bt_record_thread *thread, size_t frames,
		       const struct deadline *d)
{
	struct thread_values *values;
	struct frame_values v;

	if (is_over(d) || thread_values_open(&values, s, snap, thread, NULL))
		return;
	for (size_t i = 0; i < frames && i < VALUED_FRAMES_MAX && !is_over(d); i++) {
		frame_values_get(values, i, &v);
		frame_values_release(&v);
	}
	thread_values_close(values);
}

/* The stacks of all moments. */
static void ask_stacks(const struct model *m, struct symbols *s, const struct deadline *d)
{
	struct stack_frame *frames = calloc(FRAMES, sizeof *frames);

	for (size_t i = 0; frames && i < m->snapshot_count && !is_over(d); i++) {
		const struct model_snapshot *snap = &m->snapshots[i];

		for (size_t j = 0; j < snap->thread_count && !is_over(d); j++) {
			const struct bt_record_thread *t = snap->threads[j];
			struct location loc;
			bool complete;
			size_t n = symbols_unwind(s, snap, t, frames, FRAMES, &complete);

			for (size_t k = 0; k < n; k++)
				symbols_lookup(s, snap->rec->space, t->epoch, frames[k].pc,
					       frames[k].is_return, &loc);
			ask_values(s, snap, t, n, d);
		}
	}
	free(frames);
}

/* Asks for what the text of an instruction names. Returns its length; 0: no code is known there. */
static uint8_t ask_instruction(struct text_names *names, uint64_t addr)
{
	const struct disasm_style style = {
		.syntax = DISASM_INTEL, .name = text_address_name, .arg = names};
	char text[DISASM_TEXT_MAX];
	uint8_t bytes[BT_INSN_MAX];
	size_t n = symbols_code(names->s, names->space, names->epoch, addr, bytes, sizeof bytes);
	struct location loc;
	struct disasm d;

	symbols_lookup(names->s, names->space, names->epoch, addr, false, &loc);
	if (!n || disasm_decode(&d, bytes, n, addr))
		return n > 0;
	disasm_text(&d, &style, text, sizeof text);
	return d.len;
}

/* The instructions of the function of a frame, as the viewer lists them. */
static void ask_function(struct text_names *names, uint64_t pc, const struct deadline *d)
{
	struct location here, loc;
	uint64_t addr = pc;

	symbols_lookup(names->s, names->space, names->epoch, pc, false, &here);
	if (!*here.function)
		return;
	if (here.offset <= FUNCTION_BEFORE)
		addr -= here.offset;
	for (size_t i = 0, behind = 0; i < FUNCTION_LENGTH && behind < FUNCTION_BEHIND; i++) {
		uint8_t len = is_over(d) ? 0 : ask_instruction(names, addr);

		symbols_lookup(names->s, names->space, names->epoch, addr, false, &loc);
		if (!len || (addr > pc && strcmp(here.function, loc.function) != 0))
			break;
		if (addr < pc && len > pc - addr)
			len = (uint8_t)(pc - addr);
		behind += addr >= pc;
		addr += len;
	}
}

/* The innermost function at the moment that a report is about, and the user's own that are
 * active. */
static void ask_functions(const struct model *m, struct symbols *s, const struct deadline *d)
{
	struct own_code *own;
	struct bt_error err;
	const struct report_options options = {.count = LINES};
	struct stack_frame frames[FUNCTIONS];
	bool complete;
	struct focus f;
	size_t n;

	if (focus_choose(&f, m, &options) || !f.snap || !f.thread ||
	    own_code_open(&own, m, s, f.snap, f.thread, &err))
		return;
	n = symbols_unwind(s, f.snap, f.thread, frames, FUNCTIONS, &complete);
	for (size_t i = 0; i < n && !is_over(d); i++) {
		struct text_names names = {s, f.snap->rec->space, f.thread->epoch};

		if (i && !own_code_has(own, names.space, names.epoch,
				       frames[i].pc - frames[i].is_return))
			continue;
		ask_function(&names, frames[i].pc - frames[i].is_return, d);
		if (frames[i].is_return)
			ask_function(&names, frames[i].pc, d);
	}
	own_code_close(own);
}

/* own: not NULL: only an address of the user's own code is asked for. */
static void ask_place(struct symbols *s, struct own_code *own, uint32_t space, uint32_t epoch,
		      uint64_t addr)
{
	struct location loc;

	if (!own || own_code_has(own, space, epoch, addr))
		symbols_lookup(s, space, epoch, addr, false, &loc);
}

/* The newest branches first. */
static void ask_branches(struct symbols *s, struct own_code *own, const struct focus *f,
			 const struct deadline *d)
{
	for (size_t i = f->end, n = 0; i-- > 0 && n < ENTRIES; n++) {
		const struct history_entry *e = &f->history.entries[i];
		uint32_t space, epoch;

		if (n % CHECK_EACH == 0 && is_over(d))
			break;
		if (e->kind == BT_BRANCH_GAP)
			continue;
		ask_place(s, own, e->space, e->epoch, e->from);
		history_target(&f->history, e, &space, &epoch);
		ask_place(s, own, space, epoch, e->to);
	}
}

/* Of the task that a report is about. The user's own files change from one day to the next, those
 * of the system hardly: they are asked for while it takes no longer than users notice. */
static void ask_history(const struct model *m, struct symbols *s, const struct deadline *d,
			const struct deadline *soon)
{
	const struct report_options options = {.count = ENTRIES};
	struct own_code *own;
	struct bt_error err;
	struct focus f;

	if (focus_open(&f, m, &options, &err))
		return;
	if (!own_code_open(&own, m, s, f.snap, f.thread, &err)) {
		ask_branches(s, own, &f, d);
		own_code_close(own);
	}
	ask_branches(s, NULL, &f, soon);
	focus_close(&f);
}

int keep_symbols(const struct model *m, struct symbols *s, int milliseconds, struct bt_error *err)
{
	struct deadline d = {.milliseconds = milliseconds}, soon = {.milliseconds = NOTICED_MS};
	int rc;

	clock_gettime(CLOCK_MONOTONIC, &soon.began);
	rc = ask_report(m, s, err);
	if (rc < 0)
		return rc;
	clock_gettime(CLOCK_MONOTONIC, &d.began);
	ask_functions(m, s, &d);
	ask_stacks(m, s, &d);
	ask_history(m, s, &d, &soon);
	return symbols_keep(s, err);
}
