/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Takes the processor's branch record inside the kernel: at the raising of a synchronous signal in
 * the faulting thread, and at every switch away from a watched task. Afterwards is too late.
 * QUIRK(lbr-reset): the record is reset when a task is switched to (intel_pmu_lbr_sched_task,
 * Linux 6.1), and a ptrace stop switches. QUIRK(signal-deliver-late): so is signal_deliver, for a
 * traced task. The event that the recorder holds open records user code only, so nothing that runs
 * here costs an entry. The helper is for GPL-compatible programs only, hence the licence of this
 * file. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>

#include "collector/backend/pmu/lbr_window.h"

enum {
	SIG_ILL = 4,
	SIG_TRAP = 5,
	SIG_BUS = 7,
	SIG_FPE = 8,
	SIG_SEGV = 11,
	SIG_SYS = 31,
	CPUS = 1024,
	SI_CODE = 8, /* offset of si_code in a siginfo_t (x86-64) */
};

/* The fields that are read of struct cpu_hw_events (arch/x86/events/perf_event.h). The kernel's BTF
 * says where they lie. */
struct perf_branch_stack {
	__u64 nr;
} __attribute__((preserve_access_index));

struct cpu_hw_events {
	int lbr_users;
	struct perf_branch_stack lbr_stack;
} __attribute__((preserve_access_index));

extern const struct cpu_hw_events cpu_hw_events __ksym __weak;

/* The recorder's PID namespace, of which its thread ids are. */
const volatile __u64 pidns_dev, pidns_ino;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LBR_TASKS);
	__type(key, __u32);
	__type(value, __u32);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, LBR_TASKS);
	__type(key, __u32);
	__type(value, struct lbr_task);
} tasks SEC(".maps");

struct {
	long long tried; /* first: the loader reads it there */
	struct lbr_entry scratch[CPUS][LBR_DEPTH_MAX];
} own;

static __always_inline struct lbr_task *current_task(void)
{
	struct bpf_pidns_info id = {};
	__u32 tid, *slot;

	if (bpf_get_ns_current_pid_tgid(pidns_dev, pidns_ino, &id, sizeof id))
		return NULL;
	tid = id.pid;
	slot = bpf_map_lookup_elem(&slots, &tid);
	return slot ? bpf_map_lookup_elem(&tasks, slot) : NULL;
}

/* Facts that only the kernel's own state tells: QUIRK(lbr-stale-tail), QUIRK(lbr-unused). */
static __always_inline void look_behind(struct lbr_window *w, int counted)
{
	w->valid = w->users = -1;
	if (counted && &cpu_hw_events) {
		const struct cpu_hw_events *c = bpf_this_cpu_ptr(&cpu_hw_events);

		w->valid = (int)c->lbr_stack.nr;
		w->users = c->lbr_users;
	}
}

/* signal_generate(sig, info, task, group, result). The record is taken first, before anything could
 * go into it. */
static __always_inline int on_generate(const struct bpf_raw_tracepoint_args *ctx, int counted)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct lbr_window *w;
	struct lbr_task *t;
	long bytes;
	int code = 0;

	if (cpu >= CPUS)
		return 0;
	bytes = bpf_get_branch_snapshot(own.scratch[cpu], sizeof own.scratch[cpu], 0);
	switch ((int)ctx->args[0]) {
	case SIG_ILL:
	case SIG_TRAP:
	case SIG_BUS:
	case SIG_FPE:
	case SIG_SEGV:
	case SIG_SYS:
		break;
	default:
		return 0;
	}
	/* Sent, not raised: info is a small number for the kernel's own kinds, and si_code is
	 * positive for what an instruction raised. */
	if (ctx->args[2] != bpf_get_current_task() || ctx->args[1] <= 2 ||
	    bpf_probe_read_kernel(&code, sizeof code, (void *)(ctx->args[1] + SI_CODE)) ||
	    code <= 0)
		return 0;
	t = current_task();
	if (!t)
		return 0;
	w = &t->fault;
	w->bytes = bytes;
	look_behind(w, counted);
	bpf_probe_read_kernel(w->entries, sizeof w->entries, own.scratch[cpu]);
	w->number = t->switches + 1;
	return 0;
}

/* sched_switch: the current task is the one that is switched away from. The first question is
 * whether it is one of ours: this runs for every switch of the machine, and reading the record
 * takes microseconds. */
static __always_inline int on_switch(int counted)
{
	struct lbr_task *t = current_task();
	struct lbr_window *w;

	if (!t)
		return 0;
	w = &t->windows[t->kept & (LBR_WINDOWS - 1)];
	w->bytes = bpf_get_branch_snapshot(w->entries, sizeof w->entries, 0);
	look_behind(w, counted);
	lbr_task_switched(t, w);
	return 0;
}

SEC("raw_tp/signal_generate")
int generate_counted(struct bpf_raw_tracepoint_args *ctx) { return on_generate(ctx, 1); }

SEC("raw_tp/sched_switch")
int switch_counted(struct bpf_raw_tracepoint_args *ctx)
{
	(void)ctx;
	return on_switch(1);
}

/* The same for kernels that do not tell where cpu_hw_events is (without BTF of variables, or
 * without CONFIG_KALLSYMS_ALL). */
SEC("raw_tp/signal_generate")
int generate_plain(struct bpf_raw_tracepoint_args *ctx) { return on_generate(ctx, 0); }

SEC("raw_tp/sched_switch")
int switch_plain(struct bpf_raw_tracepoint_args *ctx)
{
	(void)ctx;
	return on_switch(0);
}

/* Run once for a try: it keeps the helper's result. */
SEC("raw_tp/sched_switch")
int try_helper(struct bpf_raw_tracepoint_args *ctx)
{
	(void)ctx;
	own.tried = bpf_get_branch_snapshot(own.scratch[0], sizeof own.scratch[0], 0);
	return 0;
}

char terms[] SEC("license") = "Dual MIT/GPL";
