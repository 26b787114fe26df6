/* SPDX-License-Identifier: MIT */
/* Intel PT as arch/x86/events/intel/pt.c (Linux 6.1) drives it: an AUX area that is written round
 * and round, a synchronization point at the beginning and after every so many bytes
 * (RTIT_STATUS.PacketByteCnt, which pt_config() clears once), and aux_head as an offset in it, told
 * when the task leaves. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array_size.h"
#include "tests/simulated/pt_writer.h"
#include "tests/simulated/simulated.h"

enum {
	PMU_TYPE = 9,
	TSC_BIT = 10,
};

#define FOLDER "/sys/bus/event_source/devices/intel_pt/"

/* A task's. */
struct trace {
	struct pt_writer writer;
	uint64_t head;  /* bytes ever written */
	uint64_t since; /* the last synchronization point */
	uint64_t enter; /* where user code goes on when it does */
};

static const char *file(struct sim *s, const char *path)
{
	static const char *const files[][2] = {{FOLDER "type", "9\n"},
					       {FOLDER "format/tsc", "config:10\n"},
					       {FOLDER "format/psb_period", "config:24-27\n"},
					       {FOLDER "format/noretcomp", "config:11\n"}};

	for (size_t i = 0; s->o.pt && i < ARRAY_SIZE(files); i++)
		if (!strcmp(path, files[i][0]))
			return files[i][1];
	return NULL;
}

static int claims(struct sim *s, const struct perf_event_attr *a, pid_t tid)
{
	(void)tid;
	if (a->type != PMU_TYPE || !s->o.pt)
		return 0;
	if (a->config & ~(1ull << TSC_BIT))
		return -EINVAL; /* pt_event_valid: what it knows not */
	return s->o.pt_used || (!s->o.coexist && (s->o.lbr_used || s->o.bts_used)) ? -EBUSY : 1;
}

static struct trace *trace_of(struct sim_task *t)
{
	unsigned d = sim_device_number(&sim_pt);
	struct trace *tr;

	if (!t->device[d]) {
		t->device[d] = tr = calloc(1, sizeof *tr);
		if (!tr)
			abort();
		pt_writer_init(&tr->writer);
	}
	return t->device[d];
}

/* The processor's buffer goes to the area. */
static void pour(struct sim_event *e, struct trace *tr)
{
	struct buf *b = &tr->writer.out;

	for (size_t i = 0; i < b->len; i++)
		e->aux[(tr->head + i) % e->aux_size] = b->data[i];
	tr->head += b->len;
	tr->since += b->len;
	buf_reset(b);
}

/* intel_pt_handle_vmx. */
static bool is_off(const struct sim *s, const struct sim_task *t)
{
	return sim_every(s->o.pt_off, t->switches);
}

/* perf_aux_output_end: what pt_event_stop() tells of an area that is overwritten is its size, so
 * that there always is a record. */
static void write_aux(struct sim_event *e, uint64_t flags)
{
	const struct {
		struct perf_event_header header;
		uint64_t offset, size, flags;
	} record = {.header = {.type = PERF_RECORD_AUX, .size = sizeof record},
		    .size = e->aux_size,
		    .flags = flags | PERF_AUX_FLAG_OVERWRITE};

	sim_ring_write(e, &record, sizeof record);
}

static struct sim_event *event_of(struct sim *s, struct sim_task *t)
{
	struct sim_event *e = sim_event_of(s, &sim_pt, t->tid);

	return e && e->aux && e->enabled && !t->idle && !is_off(s, t) ? e : NULL;
}

static void synchronize(struct sim_event *e, struct trace *tr, uint64_t ip)
{
	pt_writer_sync(&tr->writer, ip);
	pour(e, tr);
	tr->since = 0;
}

static void switch_in(struct sim *s, struct sim_task *t)
{
	struct sim_event *e = event_of(s, t);
	struct trace *tr = trace_of(t);

	tr->enter = t->rip;
	if (!e)
		return;
	tr->writer.clock += 100;
	if (!tr->head || tr->since > s->o.pt_psb)
		synchronize(e, tr, 0);
}

static void switch_out(struct sim *s, struct sim_task *t)
{
	struct sim_event *e = event_of(s, t);
	struct trace *tr = trace_of(t);
	struct perf_event_mmap_page *page;

	if (!e && is_off(s, t) && sim_event_of(s, &sim_pt, t->tid))
		write_aux(sim_event_of(s, &sim_pt, t->tid), PERF_AUX_FLAG_PARTIAL);
	if (!e)
		return;
	if (!tr->writer.on && (t->calls || tr->enter != t->rip))
		pt_writer_on(&tr->writer, tr->enter);
	if (tr->writer.on) {
		if (!t->calls)
			pt_writer_fup(&tr->writer, t->rip);
		pt_writer_off(&tr->writer);
	}
	pour(e, tr);
	write_aux(e, 0);
	page = (struct perf_event_mmap_page *)e->ring;
	page->aux_head = tr->head % e->aux_size;
}

static void branch(struct sim *s, struct sim_task *t, const struct bt_branch *b)
{
	struct sim_event *e = event_of(s, t);
	struct trace *tr = trace_of(t);
	struct pt_writer *w = &tr->writer;

	/* The kernel goes on elsewhere. */
	if (b->kind == BT_BRANCH_SYSCALL || b->kind == BT_BRANCH_ASYNC) {
		tr->enter = b->to;
		return;
	}
	if (!e || !t->on_cpu)
		return;
	w->clock += 10;
	if (!w->on)
		pt_writer_on(w, tr->enter);
	if (b->kind == BT_BRANCH_JCC)
		pt_writer_bit(w, bt_branch_taken(b));
	else if (b->kind != BT_BRANCH_JMP && b->kind != BT_BRANCH_CALL)
		pt_writer_tip(w, b->to);
	if (s->o.pt_overflow && w->clock / 10 % s->o.pt_overflow == 0) {
		pt_writer_overflow(w);
		pt_writer_fup(w, b->to);
	}
	pour(e, tr);
	if (tr->since > s->o.pt_psb)
		synchronize(e, tr, b->to);
}

static void task_gone(struct sim_task *t) { pt_writer_release(&trace_of(t)->writer); }

const struct sim_device sim_pt = {.name = "pt",
				  .claims = claims,
				  .task_gone = task_gone,
				  .branch = branch,
				  .switch_in = switch_in,
				  .switch_out = switch_out,
				  .file = file};
