/* SPDX-License-Identifier: MIT */
/* The kernel as branch sources see it: every call and every file that has to do with performance
 * counters goes through this table. perf_kernel.c is the real one; tests/simulated/ has one that
 * behaves as a kernel with a PMU does, its faults included. Calls give what the system call gives,
 * and -errno instead of -1. Used by the sources, the rings and the doctor. A source makes no such
 * call but through this table. */
#ifndef BT_PERF_OPS_H
#define BT_PERF_OPS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/backend/pmu/lbr_window.h"
#include "lib/error.h"

enum {
	PERF_FILE_MAX = 4096,
};

/* The windows that the BPF programs have kept of a task since the last read. Valid until the task
 * runs. */
struct snap_read {
	uint64_t lost; /* windows that were overwritten before they were read, before the first of
			  these */
	size_t count;
	const struct lbr_window *windows[LBR_WINDOWS]; /* oldest first */
	const struct lbr_window *fault; /* the record as it was when the last synchronous signal was
					   raised; NULL: never yet */
};

struct snap_info {
	long helper;  /* result of a call of bpf_get_branch_snapshot() for a try: bytes, or a
			 negative errno (-ENOENT: the processor has no record) */
	bool counted; /* windows tell how many entries are valid, and whether the record was in use
		       */
};

struct perf_ops {
	/* perf_event_open(2). The file descriptor, close-on-exec. */
	int (*open)(void *arg, const struct perf_event_attr *attr, pid_t tid, int cpu, int group,
		    unsigned long flags);
	int (*ioctl)(void *arg, int fd, unsigned long request, unsigned long value);
	/* mmap(2) of the event's ring or AUX area, shared; NULL and *error (an errno) on failure.
	 */
	void *(*map)(void *arg, int fd, size_t length, int prot, uint64_t offset, int *error);
	void (*unmap)(void *arg, void *at, size_t length);
	ssize_t (*read)(void *arg, int fd, void *out, size_t n);
	void (*close)(void *arg, int fd);

	/* The beginning of a file of sysfs or proc, with a NUL behind it: its length, at most size
	 * - 1. */
	ssize_t (*file)(void *arg, const char *path, char *out, size_t size);
	/* The effective capabilities of this process, bit CAP_*. */
	uint64_t (*capabilities)(void *arg);
	/* Soft RLIMIT_MEMLOCK in bytes. */
	uint64_t (*memlock)(void *arg);

	/* The BPF programs that keep branch records (lbr_bpf.h). open loads and attaches them: 0,
	 * or an error with what is lacking. */
	int (*snap_open)(void *arg, void **snap, struct snap_info *info, struct bt_error *err);
	/* From now on, or no longer, windows of this task are kept. 0 or -errno. */
	int (*snap_watch)(void *arg, void *snap, pid_t tid);
	void (*snap_forget)(void *arg, void *snap, pid_t tid);
	/* Takes the task's windows. The task is stopped. 0 or -errno. */
	int (*snap_read)(void *arg, void *snap, pid_t tid, struct snap_read *out);
	void (*snap_close)(void *arg, void *snap);
};

/* A table and what it works on. */
struct perf_kernel {
	const struct perf_ops *ops;
	void *arg;
};

/* The kernel that we run on. */
extern const struct perf_kernel perf_kernel;

/* read_format of events that are asked whether they were idle. */
enum {
	PERF_IDLE_FORMAT = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
};

/* Whether a task ran while none of its events fds[0..count), which are alternatives, was on its
 * counter; since the last time, which *idle keeps (0 at first). Then what it did meanwhile is not
 * recorded: others have the counter, or share it by turns. */
bool perf_was_idle(const struct perf_kernel *k, const int *fds, unsigned count, uint64_t *idle);

/* The number that a file holds, or -1. */
long perf_file_number(const struct perf_kernel *k, const char *path);

/* /sys/bus/event_source/devices/PMU/type, or -1: there is no such PMU. */
long perf_pmu_type(const struct perf_kernel *k, const char *pmu);

#endif
