/* SPDX-License-Identifier: MIT */
/* The branch trace store as arch/x86/events/intel/{core,ds}.c (Linux 6.1) drive it: a store of its
 * own that is drained into the event's ring when it is full and when the task leaves its CPU; and
 * the dummy event that writes a task's switches (kernel/events/core.c). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/simulated/simulated.h"

enum {
	SIM_CPU = 1,
	STORE_MAX = 1 << 16,
};

struct sample {
	struct perf_event_header header;
	uint64_t from, to;
};

struct store {
	size_t count;
	uint64_t entries[STORE_MAX][2];
};

/* intel_pmu_has_bts_period, intel_pmu_bts_config. */
static int claims(struct sim *s, const struct perf_event_attr *a, pid_t tid)
{
	(void)tid;
	if (a->type != PERF_TYPE_HARDWARE ||
	    (uint32_t)a->config != PERF_COUNT_HW_BRANCH_INSTRUCTIONS || a->freq ||
	    a->sample_period != 1)
		return 0;
	if (!s->o.pmu || (!s->o.hybrid && a->config >> 32))
		return -ENOENT;
	if (!s->o.bts || s->o.amd || !a->exclude_kernel || a->precise_ip)
		return -EOPNOTSUPP;
	if (sim_lbr_is_excluded(s))
		return -EBUSY;
	return 1;
}

static struct store *store_of(struct sim_task *t)
{
	unsigned d = sim_device_number(&sim_bts);

	if (!t->device[d])
		t->device[d] = calloc(1, sizeof(struct store));
	if (!t->device[d])
		abort();
	return t->device[d];
}

/* intel_pmu_drain_bts_buffer: of the first 24 bytes on, and nothing of the kernel. */
static void drain(struct sim_event *e, struct store *st)
{
	for (size_t i = 0; i < st->count; i++) {
		const struct sample record = {.header = {.type = PERF_RECORD_SAMPLE,
							 .misc = PERF_RECORD_MISC_USER,
							 .size = sizeof record},
					      .from = st->entries[i][0],
					      .to = st->entries[i][1]};

		sim_ring_write(e, &record, sizeof record);
	}
	st->count = 0;
}

static void branch(struct sim *s, struct sim_task *t, const struct bt_branch *b)
{
	struct sim_event *e = sim_event_of(s, &sim_bts, t->tid);
	struct store *st = store_of(t);

	/* What leads into the kernel, and out of it, is left out there. */
	if (!e || !e->enabled || !t->on_cpu || t->idle || !bt_branch_taken(b) ||
	    b->kind == BT_BRANCH_SYSCALL || b->kind == BT_BRANCH_ASYNC)
		return;
	st->entries[st->count][0] = b->from;
	st->entries[st->count++][1] = b->to;
	if (st->count == s->o.store || st->count == STORE_MAX)
		drain(e, st);
}

static void switch_out(struct sim *s, struct sim_task *t)
{
	struct sim_event *e = sim_event_of(s, &sim_bts, t->tid);

	if (e)
		drain(e, store_of(t));
}

const struct sim_device sim_bts = {
	.name = "bts", .claims = claims, .branch = branch, .switch_out = switch_out};

/* --- the switches --- */

static int claims_dummy(struct sim *s, const struct perf_event_attr *a, pid_t tid)
{
	(void)tid;
	if (a->type != PERF_TYPE_SOFTWARE || a->config != PERF_COUNT_SW_DUMMY)
		return 0;
	return a->context_switch && s->o.kernel < 403 ? -EINVAL : 1;
}

/* A PERF_RECORD_SWITCH with its trailer, as sample_type and sample_id_all want it. */
static void write_switch(struct sim *s, struct sim_task *t, uint16_t misc)
{
	struct sim_event *e = sim_event_of(s, &sim_switches, t->tid);
	struct perf_event_header header = {
		.type = PERF_RECORD_SWITCH, .misc = misc, .size = sizeof header};
	uint8_t record[64];
	struct timespec now;
	uint64_t word;

	if (!e || !e->attr.context_switch)
		return;
	clock_gettime(e->attr.use_clockid ? e->attr.clockid : CLOCK_REALTIME, &now);
	if (e->attr.sample_id_all && e->attr.sample_type & PERF_SAMPLE_TIME) {
		word = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
		memcpy(record + header.size, &word, sizeof word);
		header.size = (uint16_t)(header.size + sizeof word);
	}
	if (e->attr.sample_id_all && e->attr.sample_type & PERF_SAMPLE_CPU) {
		word = SIM_CPU;
		memcpy(record + header.size, &word, sizeof word);
		header.size = (uint16_t)(header.size + sizeof word);
	}
	memcpy(record, &header, sizeof header);
	sim_ring_write(e, record, header.size);
}

static void switches_in(struct sim *s, struct sim_task *t)
{
	write_switch(s, t, PERF_RECORD_MISC_USER);
}

static void switches_out(struct sim *s, struct sim_task *t)
{
	write_switch(s, t, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_SWITCH_OUT);
}

const struct sim_device sim_switches = {.name = "switches",
					.claims = claims_dummy,
					.switch_in = switches_in,
					.switch_out = switches_out};
