/* SPDX-License-Identifier: MIT */
/* A task's branch record as the BPF programs keep it, shared by kernel and recorder. A window holds
 * the record of one stretch between two switches of the task: the record is empty at its start.
 * Included by the BPF programs (snapshot.bpf.c), too, and needs no other header. Used by the LBR
 * source through perf_ops.h. The kernel writes windows while tasks run; a stopped task's do not
 * change. */
#ifndef BT_LBR_WINDOW_H
#define BT_LBR_WINDOW_H

enum {
	LBR_DEPTH_MAX = 64, /* entries; no processor has more */
	LBR_WINDOWS = 8, /* of a task; a power of two. The one that is written next holds nothing */
	LBR_TASKS = 1024, /* watched at once: some 14 MB of kernel memory */
};

/* struct perf_branch_entry (include/uapi/linux/perf_event.h) without its bit fields. */
struct lbr_entry {
	unsigned long long from, to, flags;
};

struct lbr_window {
	unsigned long long number; /* of the switch that ends it, of this task */
	long long bytes; /* result of bpf_get_branch_snapshot(): bytes of entries, or a negative
			    errno */
	int valid;       /* entries that the kernel itself counts as valid; -1: unknown */
	int users; /* events on that CPU that need the record; 0: the entries are of another time;
		      -1: unknown */
	struct lbr_entry entries[LBR_DEPTH_MAX]; /* newest first */
};

struct lbr_task {
	unsigned long long switches; /* so far */
	unsigned long long
		kept; /* windows so far; the newest is windows[(kept - 1) % LBR_WINDOWS] */
	struct lbr_window fault; /* as it was when the last synchronous signal was raised; number is
				    that of the switch to come */
	struct lbr_window windows[LBR_WINDOWS];
};

/* The task is switched away from, and its record is in the window that is written next: keeps it if
 * there is anything in it. There is nothing when it has only been in the kernel. */
static inline __attribute__((always_inline)) void lbr_task_switched(struct lbr_task *t,
								    struct lbr_window *w)
{
	w->number = ++t->switches;
	if (w->bytes < 0 || !w->users || (w->bytes && w->valid && w->entries[0].from))
		t->kept++;
}

#endif
