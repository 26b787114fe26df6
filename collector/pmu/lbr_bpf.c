/* SPDX-License-Identifier: MIT */
#include "collector/pmu/lbr_bpf.h"

#include <errno.h>

int lbr_bpf_open(void *arg, void **snap, long *helper, struct bt_error *err)
{
	(void)arg;
	*snap = NULL;
	*helper = -ENOENT;
	return bt_fail(err, BT_E_UNSUPPORTED, 0, "this btrec was built without BPF (configure found no libbpf, or no clang for -target bpf)");
}

int lbr_bpf_watch(void *arg, void *snap, pid_t tid)
{
	(void)arg;
	(void)snap;
	(void)tid;
	return -ENOSYS;
}

void lbr_bpf_forget(void *arg, void *snap, pid_t tid)
{
	(void)arg;
	(void)snap;
	(void)tid;
}

int lbr_bpf_read(void *arg, void *snap, pid_t tid, struct snap_read *out)
{
	(void)arg;
	(void)snap;
	(void)tid;
	(void)out;
	return -ENOSYS;
}

void lbr_bpf_close(void *arg, void *snap)
{
	(void)arg;
	(void)snap;
}
