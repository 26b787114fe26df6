/* SPDX-License-Identifier: MIT */
/* What the BPF programs keep of a task's branch record, as kernel and recorder share it. A window is what the record held of one stretch between two
 * switches of the task: the record is empty at its start. Included by the BPF program (snapshot.bpf.c) too. */
#ifndef BT_LBR_WINDOW_H
#define BT_LBR_WINDOW_H

enum {
	LBR_DEPTH_MAX = 64, /* entries; no processor has more */
	LBR_WINDOWS = 16,   /* kept of a task until they are read */
	LBR_TASKS = 4096,   /* watched at once */
};

/* struct perf_branch_entry (include/uapi/linux/perf_event.h) without its bit fields. */
struct lbr_entry {
	unsigned long long from, to, flags;
};

struct lbr_window {
	unsigned long long number; /* of the switch that ends it, of this task */
	long long bytes;	   /* what bpf_get_branch_snapshot() gave: bytes of entries, or a negative errno */
	long long valid;	   /* entries that the kernel counts as its own in them; -1: unknown */
	unsigned int users;	   /* of the processor's branch record at that time; ~0: unknown */
	int signo;		   /* of a fault: its signal; else 0 */
	struct lbr_entry entries[LBR_DEPTH_MAX]; /* newest first */
};

struct lbr_task {
	unsigned long long switches; /* so far */
	unsigned long long kept;     /* windows that were kept so far; the newest is windows[(kept - 1) % LBR_WINDOWS] */
	struct lbr_window fault;     /* as it was when a synchronous signal was raised; number is that of the switch to come */
	struct lbr_window windows[LBR_WINDOWS];
};

#endif
