/* SPDX-License-Identifier: MIT */
/* The BPF programs that take the processor's branch record inside the kernel, because it is empty
 * when a stopped task is looked at: at the raising of a synchronous signal, and at every switch
 * away from a watched task. The functions are those of struct perf_ops. Used by perf_kernel.c
 * alone. */
#ifndef BT_LBR_BPF_H
#define BT_LBR_BPF_H

#include "collector/backend/pmu/perf_ops.h"

int lbr_bpf_open(void *arg, void **snap, struct snap_info *info, struct bt_error *err);
int lbr_bpf_watch(void *arg, void *snap, pid_t tid);
void lbr_bpf_forget(void *arg, void *snap, pid_t tid);
int lbr_bpf_read(void *arg, void *snap, pid_t tid, struct snap_read *out);
void lbr_bpf_close(void *arg, void *snap);

/* Gives the windows of *t since the first *read ones, and counts them as read. */
void lbr_task_read(const struct lbr_task *t, uint64_t *read, struct snap_read *out);

#endif
