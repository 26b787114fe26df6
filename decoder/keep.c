/* SPDX-License-Identifier: MIT */
#include "decoder/keep.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "decoder/headline.h"
#include "decoder/report.h"
#include "decoder/signature.h"

enum {
	LINES = 40,        /* of the report */
	ENTRIES = 1 << 16, /* of branches, as in the JSON */
	FRAMES = 256,
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
		}
	}
	free(frames);
}

/* The newest branches of the task that a report is about, the newest first. */
static void ask_branches(const struct model *m, struct symbols *s, const struct deadline *d)
{
	const struct report_options options = {.count = ENTRIES};
	struct bt_error err;
	struct focus f;

	if (focus_open(&f, m, &options, &err))
		return;
	for (size_t i = f.end, n = 0; i-- > 0 && n < ENTRIES; n++) {
		const struct history_entry *e = &f.history.entries[i];
		struct location loc;
		uint32_t space, epoch;

		if (n % CHECK_EACH == 0 && is_over(d))
			break;
		if (e->kind == BT_BRANCH_GAP)
			continue;
		symbols_lookup(s, e->space, e->epoch, e->from, false, &loc);
		history_target(&f.history, e, &space, &epoch);
		symbols_lookup(s, space, epoch, e->to, false, &loc);
	}
	focus_close(&f);
}

int keep_symbols(const struct model *m, struct symbols *s, int milliseconds, struct bt_error *err)
{
	struct deadline d = {.milliseconds = milliseconds};
	int rc;

	clock_gettime(CLOCK_MONOTONIC, &d.began);
	rc = ask_report(m, s, err);
	if (rc < 0)
		return rc;
	ask_stacks(m, s, &d);
	ask_branches(m, s, &d);
	return symbols_keep(s, err);
}
