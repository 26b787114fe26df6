/* SPDX-License-Identifier: MIT */
/* A whole trace in memory through the decoder: dump, model, and the history of every task with the
 * straight-line code between its branches. */
#include "tests/fuzz/fuzz.h"

#include "decoder/model/dump.h"
#include "decoder/model/history.h"
#include "tests/fuzz/trace_bytes.h"

enum {
	STRAIGHTS = 200 /* stretches of code looked at in a history: an input may be all branches */
};

static void look_at_code(const struct model *m, const struct history *h)
{
	for (size_t i = 0; i <= h->count && i < STRAIGHTS; i++) {
		struct history_insn *insns = NULL;
		long n = history_straight(h, m, i, i < h->count ? 0 : 0x401040, &insns);

		MUST(n >= 0 || !insns);
		for (long k = 0; k < n; k++)
			MUST(insns[k].len >= 1 && insns[k].len <= BT_INSN_MAX);
		free(insns);
	}
}

static void look_at_task(const struct model *m, const struct model_task *task)
{
	struct history h;
	struct bt_error err;

	MUST(model_task(m, task->task));
	if (history_load(&h, m, task->task, &err))
		return;
	for (size_t i = 0; i < h.count; i++)
		MUST(h.entries[i].kind < BT_BRANCH_KINDS && h.entries[i].kind != BT_BRANCH_EPOCH);
	MUST(history_index(&h, UINT64_MAX) <= h.count);
	look_at_code(m, &h);
	history_release(&h);
}

static void look_at_snapshots(const struct model *m)
{
	const struct model_snapshot *final = model_final_snapshot(m);
	uint8_t bytes[64];

	MUST(!final || (final >= m->snapshots && final < m->snapshots + m->snapshot_count));
	for (size_t i = 0; i < m->snapshot_count; i++) {
		const struct model_snapshot *s = &m->snapshots[i];

		MUST(model_memory(m, s, s->rec->point.rip, bytes, sizeof bytes) <= sizeof bytes);
		MUST(trace_index_code(m->index, s->rec->space, s->rec->epoch, s->rec->point.rip,
				      bytes, sizeof bytes) <= sizeof bytes);
	}
}

static void look_at_maps(const struct model *m)
{
	const struct space_map **maps;

	for (uint32_t space = 0; space < 4; space++) {
		size_t n = trace_index_maps(m->index, space, 1, &maps);

		for (size_t i = 0; i < n; i++)
			MUST(trace_index_map_at(m->index, space, 1, maps[i]->start));
		free(maps);
	}
}

static void look_at_trace(const struct trace_file *files, size_t n)
{
	struct bt_error err;
	struct model *m;
	struct trace *t;
	FILE *nowhere;

	if (trace_open_memory(&t, files, n, &err))
		return;
	nowhere = fopen("/dev/null", "w");
	MUST(nowhere);
	trace_dump(nowhere, t, true);
	fclose(nowhere);
	MUST(!model_load(&m, t, &err));
	for (size_t i = 0; i < m->task_count && i < 8; i++)
		look_at_task(m, &m->tasks[i]);
	look_at_snapshots(m);
	look_at_maps(m);
	model_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	trace_bytes_show(data, size, look_at_trace);
	return 0;
}
