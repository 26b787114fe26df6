/* SPDX-License-Identifier: MIT */
/* The last branch record as arch/x86/events/intel/lbr.c (Linux 6.1) and arch/x86/events/amd/lbr.c
 * drive it: the stack, the filter that closes up, the helper that gives more than is valid, and the
 * BPF programs' map. */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simulated/simulated.h"

enum {
	CAP_PERFMON_BIT = 38,
	CAP_BPF_BIT = 39,
	KERNEL_TOP = 0x81000000, /* of addresses in the kernel: ffffffff81000000 */
	SPEC_SHIFT = 24,
	SPEC_WRONG_PATH = 1,
	SPEC_CORRECT = 3,
	FLAG_ABORT = 8,
};

/* What the processor has of the task that is on it: a stack, newest first. */
struct record {
	struct lbr_entry stack[LBR_DEPTH_MAX];
	uint64_t branches; /* executed so far */
	uint64_t reads;    /* of the record */
	bool in_use;       /* the event is on a counter */
	bool in_user;      /* it has been in user code since it was switched to */
	uint64_t enter;    /* where the kernel will return to it */
	bool watched;
	struct lbr_task kept; /* as the BPF map holds it */
	uint64_t read;
	uint64_t until_sample;
};

/* One CPU's struct cpu_hw_events. */
struct cpu {
	struct lbr_entry entries[LBR_DEPTH_MAX]; /* what was read last: never cleared */
	int nr;
};

static struct record *record_of(struct sim_task *t)
{
	unsigned d = sim_device_number(&sim_lbr);

	if (!t->device[d])
		t->device[d] = calloc(1, sizeof(struct record));
	if (!t->device[d])
		abort();
	return t->device[d];
}

static struct cpu *cpu_of(struct sim *s)
{
	unsigned d = sim_device_number(&sim_lbr);

	if (!s->own[d])
		s->own[d] = calloc(1, sizeof(struct cpu));
	if (!s->own[d])
		abort();
	return s->own[d];
}

/* ---- perf_event_open ---- */

static int claims(struct sim *s, const struct perf_event_attr *a, pid_t tid)
{
	(void)tid;
	if (!(a->sample_type & PERF_SAMPLE_BRANCH_STACK) || a->type != PERF_TYPE_HARDWARE)
		return 0;
	if (!s->o.pmu)
		return -ENOENT;
	if (s->o.hybrid && a->config >> 32 != 4 && a->config >> 32 != 5)
		return -ENOENT;
	if (!s->o.depth)
		return -EOPNOTSUPP;
	if (s->o.brs) /* amd_brs_hw_config: of one event only, which is none of the generic ones */
		return s->o.kernel < 519 ? -EOPNOTSUPP : -EINVAL;
	if (s->o.amd && s->o.kernel < 601) /* LbrExtV2 */
		return -EOPNOTSUPP;
	if (s->o.amd && s->o.kernel < 610 && !a->sample_period) /* amd_pmu_lbr_hw_config */
		return -EINVAL;
	if (sim_lbr_is_excluded(s))
		return -EBUSY;
	return 1;
}

static const char *file(struct sim *s, const char *path)
{
	const char *of = s->o.hybrid ? "/sys/bus/event_source/devices/cpu_core/caps/branches"
				     : "/sys/bus/event_source/devices/cpu/caps/branches";

	if (strcmp(path, of) != 0 || !s->o.pmu || !s->o.depth || s->o.kernel < 512)
		return NULL;
	snprintf(s->text, sizeof s->text, "%u\n", (unsigned)s->o.depth);
	return s->text;
}

/* ---- The processor ---- */

static void push(const struct sim *s, struct record *r, uint64_t from, uint64_t to, uint64_t flags)
{
	memmove(r->stack + 1, r->stack, (s->o.depth - 1) * sizeof *r->stack);
	r->stack[0] = (struct lbr_entry){from, to, flags};
}

static uint64_t kernel_address(const struct record *r)
{
	return 0xffffffff00000000u + KERNEL_TOP + (r->branches & 0xfff);
}

/* A way of the kernel's back to user code ends in ring 3: it is recorded. */
static void kernel_return(const struct sim *s, struct record *r, uint64_t to)
{
	push(s, r, kernel_address(r), to, 0);
}

/* It is in user code, and has come there from the kernel. */
static void enter_user(const struct sim *s, struct record *r)
{
	if (r->in_use && !r->in_user)
		kernel_return(s, r, r->enter);
	r->in_user = true;
}

static uint64_t flags_of(const struct sim *s, const struct record *r)
{
	uint64_t flags = (r->branches % 7 ? 2 : 1) | (r->branches % 100)
							     << 4; /* predicted or not, cycles */

	return s->o.speculative ? flags | (uint64_t)SPEC_CORRECT << SPEC_SHIFT : flags;
}

static bool filtered_by_others(const struct sim *s, const struct bt_branch *b)
{
	return s->o.other_filter && (b->kind == BT_BRANCH_CALL || b->kind == BT_BRANCH_ICALL ||
				     b->kind == BT_BRANCH_RET);
}

static void write_sample(struct sim *s, struct sim_task *t, struct sim_event *e, struct record *r);

static void branch(struct sim *s, struct sim_task *t, const struct bt_branch *b)
{
	struct record *r = record_of(t);
	struct sim_event *e = sim_event_of(s, &sim_lbr, t->tid);

	if (b->kind == BT_BRANCH_SYSCALL || b->kind == BT_BRANCH_ASYNC)
		r->enter = b->to; /* they end in the kernel */
	if (b->kind == BT_BRANCH_SYSCALL || b->kind == BT_BRANCH_ASYNC || !s->o.depth)
		return;
	enter_user(s, r);
	r->branches++;
	if (e && e->attr.sample_period && --r->until_sample == 0)
		write_sample(s, t, e, r);
	if (!bt_branch_taken(b))
		return;
	if (r->in_use && !filtered_by_others(s, b))
		push(s, r, b->from - sim_every(s->o.lies, r->branches), b->to, flags_of(s, r));
	if (r->in_use && sim_every(s->o.speculative, r->branches))
		push(s, r, b->to + 1, b->from, 2 | (uint64_t)SPEC_WRONG_PATH << SPEC_SHIFT);
	if (r->in_use && sim_every(s->o.returns, r->branches))
		kernel_return(s, r, b->to);
	if (sim_every(s->o.preempt, r->branches)) {
		sim_switch_out(s, t);
		sim_switch_in(s, t);
	}
}

/* ---- Reading it ---- */

static bool in_kernel(uint64_t addr) { return addr >> 63; }

/* The filter of X86_BR_USER | X86_BR_ANY: empty ones are cleared and closed up from behind
 * (intel_pmu_lbr_filter). A return from the kernel stays, being of the level of its target
 * (branch_type in arch/x86/events/utils.c), where its instruction can be read. */
static void filter(const struct sim *s, struct cpu *c)
{
	bool compress = false;

	for (int i = 0; i < c->nr; i++)
		if (!c->entries[i].from || !c->entries[i].to ||
		    (s->o.returns_dropped && in_kernel(c->entries[i].from))) {
			c->entries[i].from = 0;
			compress = true;
		}
	for (int i = 0; compress && i < c->nr;) {
		if (!c->entries[i].from) {
			for (int j = i + 1; j < c->nr; j++)
				c->entries[j - 1] = c->entries[j];
			c->nr--;
			if (!c->entries[i].from)
				continue;
		}
		i++;
	}
}

/* What the slots hold, newest first, with what processors make of it. */
static void read_slots(const struct sim *s, const struct record *r, struct lbr_entry *slots)
{
	size_t depth = s->o.depth;

	memcpy(slots, r->stack, depth * sizeof *slots);
	if (sim_every(s->o.dup0, r->reads) && slots[0].from)
		memmove(slots + 1, slots, (depth - 1) * sizeof *slots);
	if (sim_every(s->o.zero, r->reads))
		slots[depth / 2] = (struct lbr_entry){0};
	/* An abort stands there twice, the newer entry without its flag. */
	if (sim_every(s->o.aborts, r->reads) && depth > 4 && slots[3].from) {
		memmove(slots + 4, slots + 3, (depth - 4) * sizeof *slots);
		slots[4].flags |= FLAG_ABORT;
	}
}

/* intel_pmu_lbr_read_64; amd_pmu_lbr_read leaves out empty slots, intel_pmu_store_lbr (of the
 * architectural record) ends at the first: what was behind stays there. */
static void read_record(struct sim *s, struct record *r)
{
	struct cpu *c = cpu_of(s);
	struct lbr_entry slots[LBR_DEPTH_MAX];
	int out = 0;

	if (!r->in_use)
		return;
	r->reads++;
	read_slots(s, r, slots);
	for (size_t i = 0; i < s->o.depth; i++) {
		if (slots[i].flags & FLAG_ABORT && out > 0) /* lbr_double_abort */
			out--;
		if (s->o.amd && !slots[i].from && !slots[i].to)
			continue;
		if (s->o.arch && !slots[i].from)
			break;
		c->entries[out++] = slots[i];
	}
	c->nr = out;
	filter(s, c);
}

/* intel_pmu_snapshot_branch_stack: as many as there is room for, whatever was valid; and nobody
 * asks whether the record is in use. */
static long helper(struct sim *s, struct record *r, struct lbr_entry *entries, size_t size)
{
	size_t n = size / sizeof *entries;

	if (!s->o.depth || (s->o.amd && s->o.kernel < 610))
		return -ENOENT;
	read_record(s, r);
	if (n > s->o.depth)
		n = s->o.depth;
	memcpy(entries, cpu_of(s)->entries, n * sizeof *entries);
	return (long)(n * sizeof *entries);
}

static void snapshot(struct sim *s, struct record *r, struct lbr_window *w)
{
	w->bytes = helper(s, r, w->entries, sizeof w->entries);
	w->valid = s->o.counted ? cpu_of(s)->nr : -1;
	w->users = s->o.counted ? r->in_use + (s->o.other_filter != 0) : -1;
}

/* ---- Switches and signals ---- */

static void switch_in(struct sim *s, struct sim_task *t)
{
	const struct sim_event *e = sim_event_of(s, &sim_lbr, t->tid);
	struct record *r = record_of(t);

	r->in_use = e && e->enabled && !t->idle;
	r->in_user = false;
	r->enter = t->rip;
	memset(r->stack, 0, sizeof r->stack);
}

/* Where it is switched away from, it may have come to user code without a branch. */
static void look_where(const struct sim *s, const struct sim_task *t, struct record *r)
{
	if (t->calls || r->enter != t->rip)
		enter_user(s, r);
}

static void switch_out(struct sim *s, struct sim_task *t)
{
	struct record *r = record_of(t);

	look_where(s, t, r);
	if (r->watched) { /* raw_tp/sched_switch */
		struct lbr_window *w = &r->kept.windows[r->kept.kept & (LBR_WINDOWS - 1)];

		snapshot(s, r, w);
		lbr_task_switched(&r->kept, w);
	}
	r->in_use = false;
}

/* raw_tp/signal_generate */
static void on_signal(struct sim *s, struct sim_task *t, const siginfo_t *info)
{
	struct record *r = record_of(t);

	(void)info;
	look_where(s, t, r);
	if (!r->watched)
		return;
	snapshot(s, r, &r->kept.fault);
	r->kept.fault.number = r->kept.switches + 1;
}

/* ---- Samples ---- */

static void opened(struct sim *s, struct sim_event *e)
{
	if (e->attr.sample_period && e->tid)
		record_of(sim_task(s, e->tid))->until_sample =
			s->o.period ? s->o.period : e->attr.sample_period;
}

static void write_sample(struct sim *s, struct sim_task *t, struct sim_event *e, struct record *r)
{
	struct {
		struct perf_event_header h;
		uint64_t ip, nr;
		struct lbr_entry entries[LBR_DEPTH_MAX];
	} sample = {.h = {.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER}, .ip = t->rip};
	const struct cpu *c;

	r->until_sample = s->o.period ? s->o.period : e->attr.sample_period;
	if (!r->in_use)
		return;
	read_record(s, r);
	c = cpu_of(s);
	sample.nr = (uint64_t)c->nr;
	memcpy(sample.entries, c->entries, (size_t)c->nr * sizeof *c->entries);
	sample.h.size = (uint16_t)(sizeof sample - sizeof sample.entries +
				   (size_t)c->nr * sizeof *c->entries);
	sim_ring_write(e, &sample, sample.h.size);
}

const struct sim_device sim_lbr = {
	.name = "lbr",
	.claims = claims,
	.opened = opened,
	.branch = branch,
	.switch_out = switch_out,
	.switch_in = switch_in,
	.signal = on_signal,
	.file = file,
};

/* ---- bpf(2) ---- */

int sim_snap_open(void *arg, void **snap, struct snap_info *info, struct bt_error *err)
{
	struct sim *s = arg;
	uint64_t need = 1ull << CAP_PERFMON_BIT | 1ull << CAP_BPF_BIT;

	*snap = NULL;
	*info = (struct snap_info){.helper = -ENOENT};
	if (!s->o.built)
		return bt_fail(err, BT_E_UNSUPPORTED, 0,
			       "this btrec was built without BPF: simulated");
	if (((s->o.capabilities & need) != need || s->o.kernel < 508) &&
	    !(s->o.capabilities >> CAP_SYS_ADMIN & 1))
		return bt_fail(err, BT_E_PERMISSION, 0,
			       "BPF programs need the capabilities BPF and PERFMON (Linux 5.8), or "
			       "SYS_ADMIN");
	if (s->o.kernel < 516)
		return bt_fail(err, BT_E_UNSUPPORTED, 0,
			       "this kernel does not load the BPF programs: "
			       "bpf_get_branch_snapshot() came with Linux 5.16");
	info->counted = s->o.counted;
	info->helper = !s->o.depth || (s->o.amd && s->o.kernel < 610)
			       ? -ENOENT
			       : (long)(s->o.depth * sizeof(struct lbr_entry));
	*snap = s;
	return 0;
}

int sim_snap_watch(void *arg, void *snap, pid_t tid)
{
	struct record *r = record_of(sim_task(arg, tid));

	(void)snap;
	r->watched = true;
	r->read = r->kept.kept;
	return 0;
}

void sim_snap_forget(void *arg, void *snap, pid_t tid)
{
	(void)snap;
	record_of(sim_task(arg, tid))->watched = false;
}

/* One window of the lines of a file, newest first: from, to. */
static void read_file(const struct sim *s, struct record *r)
{
	struct lbr_window *w = &r->kept.windows[r->kept.kept & (LBR_WINDOWS - 1)];
	const char *path = getenv("BTREC_SIMULATED_RECORD");
	FILE *f = path ? fopen(path, "re") : NULL;
	unsigned long long from, to;
	size_t n = 0;

	memset(w, 0, sizeof *w);
	while (f && n < s->o.depth && fscanf(f, "%llx %llx", &from, &to) == 2)
		w->entries[n++] = (struct lbr_entry){from, to, 0};
	if (f)
		fclose(f);
	w->bytes = (long long)(s->o.depth * sizeof *w->entries);
	w->valid = (int)n;
	w->users = 1;
	lbr_task_switched(&r->kept, w);
}

int sim_snap_read(void *arg, void *snap, pid_t tid, struct snap_read *out)
{
	struct record *r = record_of(sim_task(arg, tid));

	(void)snap;
	if (!r->watched)
		return -ESRCH;
	if (((struct sim *)arg)->o.native)
		read_file(arg, r);
	lbr_task_read(&r->kept, &r->read, out);
	return 0;
}

void sim_snap_close(void *arg, void *snap)
{
	(void)arg;
	(void)snap;
}
